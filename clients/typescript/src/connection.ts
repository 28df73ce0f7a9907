import type { Client } from "@connectrpc/connect";
import type { Backoff } from "./backoff.js";
import type { AccountService } from "./generated/buraco/v1/account_service_pb.js";
import type { RulesService } from "./generated/buraco/v1/rules_service_pb.js";
import type { TableService } from "./generated/buraco/v1/table_service_pb.js";
import type { Caller } from "./unary.js";

/** What the parts of a client share. */
export interface Connection {
  readonly accounts: Client<typeof AccountService>;
  readonly rules: Client<typeof RulesService>;
  readonly tables: Client<typeof TableService>;
  readonly caller: Caller;
  /** Sent with every call and stream. */
  readonly headers: Readonly<Record<string, string>>;
  readonly streams: StreamSettings;
}

/** How streams deal with silence and outages. */
export interface StreamSettings {
  /** Milliseconds of silence after which a stream counts as broken. */
  readonly heartbeatTimeoutMs: number;
  /** Milliseconds for which a broken stream is opened again before its error is thrown. */
  readonly reconnectTimeoutMs: number;
  readonly backoff: Backoff;
}
