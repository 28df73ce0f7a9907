import type { BuracoError } from "./errors.js";
import type { Event } from "./generated/buraco/v1/event_pb.js";
import type { Move } from "./generated/buraco/v1/move_pb.js";
import type { Table } from "./generated/buraco/v1/table_pb.js";
import type { ChatMessage } from "./generated/buraco/v1/table_service_pb.js";
import type { View } from "./generated/buraco/v1/view_pb.js";

/** Whether a watch has a stream: it connects for the first time, is connected, or connects again after a failure. */
export type ConnectionState = "connecting" | "connected" | "reconnecting";

/** What a watch yields, by its `kind`. */
export type Update =
  /** The whole state: first, and after `historyGone`. There is no view until the match starts. */
  | { readonly kind: "state"; readonly revision: bigint; readonly table: Table; readonly view: View | undefined }
  /** What one change did, as the receiver may see it. */
  | { readonly kind: "events"; readonly revision: bigint; readonly events: readonly Event[] }
  /** The view after a change; only with `views`. */
  | { readonly kind: "view"; readonly revision: bigint; readonly view: View }
  /** The seat is to move; only with `legalMoves`. */
  | {
      readonly kind: "turn";
      readonly revision: bigint;
      readonly view: View | undefined;
      readonly moves: readonly Move[];
    }
  /** A message that this receiver may read; only with `chat`. */
  | { readonly kind: "chat"; readonly message: ChatMessage }
  /** The seats whose players are there; only with `presence`. */
  | { readonly kind: "presence"; readonly seats: readonly number[] }
  /** Changes were missed that are no longer stored: the state follows, and only there may the revision be lower. */
  | { readonly kind: "historyGone" }
  /** The connection of the watch has changed; `error` is why it connects again. */
  | { readonly kind: "connection"; readonly state: ConnectionState; readonly error: BuracoError | undefined };
