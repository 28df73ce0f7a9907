import { Code, ConnectError, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import { AccountService } from "../../src/generated/buraco/v1/account_service_pb.js";
import { TableService } from "../../src/generated/buraco/v1/table_service_pb.js";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RetryInfoSchema,
} from "../../src/generated/google/rpc/error_details_pb.js";
import { type BuracoClient, type ClientOptions, createBuracoClient } from "../../src/index.ts";

/** Return a client of a service that answers as it is scripted, for what no real one can be made to do at will. */
export function fakeClient(
  tables: Partial<ServiceImpl<typeof TableService>>,
  options: ClientOptions = {},
  accounts: Partial<ServiceImpl<typeof AccountService>> = {},
): BuracoClient {
  const transport = createRouterTransport((router) => {
    router.service(TableService, tables);
    router.service(AccountService, accounts);
  });
  return createBuracoClient(transport, { backoff: { firstMs: 1, capMs: 1 }, ...options });
}

/** Return an error as the service sends it. */
export function refusal(
  code: Code,
  reason: string,
  more: { metadata?: Record<string, string>; violations?: string[]; fields?: string[]; retryMs?: number } = {},
): ConnectError {
  const details: ConstructorParameters<typeof ConnectError>[3] = [
    { desc: ErrorInfoSchema, value: { reason, domain: "buraco", metadata: more.metadata ?? {} } },
  ];
  if (more.violations) {
    const value = { violations: more.violations.map((type) => ({ type, subject: "", description: "" })) };
    details.push({ desc: PreconditionFailureSchema, value });
  }
  if (more.fields) {
    const value = { fieldViolations: more.fields.map((field) => ({ field, description: "is not a card" })) };
    details.push({ desc: BadRequestSchema, value });
  }
  if (more.retryMs !== undefined) {
    const value = { retryDelay: { seconds: 0n, nanos: more.retryMs * 1e6 } };
    details.push({ desc: RetryInfoSchema, value });
  }
  return new ConnectError("refused", code, undefined, details);
}

/** A broken connection, as the transport reports it. */
export const BROKEN = new ConnectError("broken", Code.Unavailable);
