/**
 * The messages and enums of the contract `buraco.v1`, as generated from `protos/`; make one by `create(TableSchema)`.
 *
 * @module
 */
export { create, equals, fromJson, toJson } from "@bufbuild/protobuf";
export * from "./generated/buraco/v1/account_service_pb.js";
export * from "./generated/buraco/v1/card_pb.js";
export * from "./generated/buraco/v1/deal_pb.js";
export * from "./generated/buraco/v1/event_pb.js";
export * from "./generated/buraco/v1/move_pb.js";
export * from "./generated/buraco/v1/rule_set_pb.js";
export * from "./generated/buraco/v1/rules_service_pb.js";
export * from "./generated/buraco/v1/score_pb.js";
export * from "./generated/buraco/v1/table_pb.js";
export * from "./generated/buraco/v1/table_service_pb.js";
export * from "./generated/buraco/v1/view_pb.js";
