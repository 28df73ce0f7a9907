/** What the page uses of the contract: messages, enums and services. */

export * from "../gen/buraco/v1/account_service_pb";
export * from "../gen/buraco/v1/deal_pb";
export * from "../gen/buraco/v1/event_pb";
export * from "../gen/buraco/v1/move_pb";
export * from "../gen/buraco/v1/rule_set_pb";
export * from "../gen/buraco/v1/rules_service_pb";
export * from "../gen/buraco/v1/score_pb";
export * from "../gen/buraco/v1/table_pb";
export * from "../gen/buraco/v1/table_service_pb";
export * from "../gen/buraco/v1/view_pb";
