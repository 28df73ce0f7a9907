import { Code } from "@connectrpc/connect";
import { backoffDelay, sleep } from "./backoff.js";
import type { Connection } from "./connection.js";
import { BuracoError, toBuracoError } from "./errors.js";
import { TableState } from "./generated/buraco/v1/table_pb.js";
import type { WatchTableResponse } from "./generated/buraco/v1/table_service_pb.js";
import type { SeatToken } from "./seat-token.js";
import type { ConnectionState, Update } from "./update.js";
import { WatchCursor } from "./watch-cursor.js";

/** What a watch is to yield. */
export interface WatchOptions {
  /** Yield only changes after this revision, without the state first. */
  readonly afterRevision?: bigint;
  /** Yield the view after every change. */
  readonly views?: boolean;
  /** Yield the view and the seat's legal moves whenever it is to move. */
  readonly legalMoves?: boolean;
  /** Yield chat messages: those kept after number `afterMessage`, then each as it is sent. */
  readonly chat?: boolean;
  readonly afterMessage?: bigint;
  /** Yield at which seats players are there. */
  readonly presence?: boolean;
  /** Ends the watch without an error, as `close` does. */
  readonly signal?: AbortSignal;
}

/**
 * What happens at a table, in order: first the state, then changes.
 *
 * No revision comes twice and none goes back. The stream is opened again behind the scenes, after the last revision
 * seen, if it breaks, falls silent, or the replica asks for that.
 *
 * The iteration ends after the update with which the match ends, or its view. Before that only `close`, the end of the
 * loop or an error ends it: a BuracoError that another stream cannot help, or that lasted longer than the client's
 * `reconnectTimeoutMs`. A watch can be iterated once.
 *
 * @example
 * for await (const update of session.watch({ views: true, legalMoves: true })) {
 *   if (update.kind === "view") render(update.view);
 *   if (update.kind === "turn") offer(update.moves);
 * }
 */
export class Watch implements AsyncIterable<Update> {
  readonly #connection: Connection;
  readonly #tableId: string;
  readonly #token: SeatToken | undefined;
  readonly #options: WatchOptions;
  readonly #cursor: WatchCursor;
  readonly #closing = new AbortController();
  #isStarted = false;
  #state: ConnectionState = "connecting";

  /** @internal */
  constructor(connection: Connection, tableId: string, token: SeatToken | undefined, options: WatchOptions) {
    this.#connection = connection;
    this.#tableId = tableId;
    this.#token = token;
    this.#options = options;
    this.#cursor = new WatchCursor(options.afterRevision, options.afterMessage ?? 0n, options.views ?? false);
    if (options.signal?.aborted) this.close();
    options.signal?.addEventListener("abort", () => this.close(), { once: true, signal: this.#closing.signal });
  }

  /** The newest revision seen, after which a later watch can resume; undefined before the first state. */
  get revision(): bigint | undefined {
    return this.#cursor.revision;
  }

  /** Whether a watch that is iterated has a stream; updates of the kind `connection` report its changes. */
  get connection(): ConnectionState {
    return this.#state;
  }

  /** End the watch and its stream; a running iteration ends. */
  close(): void {
    this.#closing.abort();
  }

  [Symbol.asyncIterator](): AsyncGenerator<Update, void, undefined> {
    if (this.#isStarted) throw new TypeError("a watch can be iterated once");
    this.#isStarted = true;
    return this.#iterate();
  }

  async *#iterate(): AsyncGenerator<Update, void, undefined> {
    let failures = 0;
    let brokenSince = 0;
    try {
      // After the last revision of a finished table nothing comes.
      if (this.#options.afterRevision !== undefined) await this.#findEnd();
      while (!this.#isOver) {
        const error = yield* this.#follow(() => {
          failures = 0;
        });
        if (this.#isOver) return;
        if (!isTemporary(error)) throw error;
        failures += 1;
        if (failures === 1) brokenSince = performance.now();
        if (error instanceof ReconnectRequested && failures === 1) continue;
        const { backoff, reconnectTimeoutMs } = this.#connection.streams;
        const delay = backoffDelay(backoff, failures) + (error.retryDelay ?? 0);
        if (performance.now() + delay - brokenSince > reconnectTimeoutMs) throw error;
        if (this.#state === "connected" || failures === 1) yield this.#change("reconnecting", error);
        await sleep(delay, this.#closing.signal);
      }
    } catch (error) {
      if (!this.#closing.signal.aborted) throw error;
    } finally {
      this.#closing.abort();
    }
  }

  /** Yield the new updates of one stream, and return why it ended. `onMessage` is called with every message. */
  async *#follow(onMessage: () => void): AsyncGenerator<Update, BuracoError, undefined> {
    const headers = this.#token ? await this.#token.getHeaders() : {};
    const tokenUsed = this.#token?.text ?? "";
    const ending = new AbortController();
    const end = () => ending.abort();
    this.#closing.signal.addEventListener("abort", end);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isSilent = false;
    const expectMessage = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        isSilent = true;
        ending.abort();
      }, this.#connection.streams.heartbeatTimeoutMs);
    };
    try {
      if (this.#closing.signal.aborted) return toBuracoError(this.#closing.signal.reason);
      expectMessage();
      const stream = this.#connection.tables.watchTable(this.#request(), {
        headers: { ...this.#connection.headers, ...headers },
        signal: ending.signal,
      });
      for await (const response of stream) {
        expectMessage();
        if (response.update.case === "reconnect") return new ReconnectRequested();
        onMessage();
        if (this.#state !== "connected") yield this.#change("connected");
        const update = toUpdate(response);
        if (update && this.#cursor.advance(update)) yield update;
        if (this.#isOver) break;
      }
      this.#cursor.endStream();
      return new BuracoError(Code.Unavailable, "the stream ended");
    } catch (thrown) {
      if (isSilent) {
        const silence = this.#connection.streams.heartbeatTimeoutMs;
        return new BuracoError(Code.Unavailable, `no message came for ${silence} ms`);
      }
      const error = toBuracoError(thrown);
      return this.#token?.hasReplaced(tokenUsed, error) ? new ReconnectRequested() : error;
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener("abort", end);
      ending.abort();
    }
  }

  #request() {
    const { views = false, legalMoves = false, chat = false, presence = false } = this.#options;
    const [afterRevision, afterMessage] = [this.#cursor.revision, this.#cursor.message];
    return { tableId: this.#tableId, views, legalMoves, chat, presence, afterMessage, afterRevision };
  }

  /** Find out whether anything can come: a finished table may have nothing more to send. */
  async #findEnd(): Promise<void> {
    const headers = this.#token ? await this.#token.getHeaders() : {};
    const { table } = await this.#connection.caller.call(
      (attempt) => this.#connection.tables.getTable({ tableId: this.#tableId }, attempt),
      { headers, signal: this.#closing.signal },
    );
    if (table?.state === TableState.FINISHED) this.#cursor.finalRevision = table.revision;
  }

  #change(state: ConnectionState, error?: BuracoError): Update {
    this.#state = state;
    return { kind: "connection", state, error };
  }

  get #isOver(): boolean {
    return this.#closing.signal.aborted || this.#cursor.isFinished;
  }
}

/** The server asks for another stream: the first attempt need not wait. */
class ReconnectRequested extends BuracoError {
  constructor() {
    super(Code.Unavailable, "the replica asks for another stream");
  }
}

function isTemporary(error: BuracoError): boolean {
  if (error.code === Code.ResourceExhausted) return error.retryDelay !== undefined;
  return error.code === Code.Unavailable || error.code === Code.DeadlineExceeded;
}

/** Return the update in a message; undefined if it has none, such as a heartbeat, or one that this client does not know. */
function toUpdate({ update }: WatchTableResponse): Update | undefined {
  switch (update.case) {
    case "state": {
      const { table, view } = update.value;
      return table && { kind: "state", revision: table.revision, table, view };
    }
    case "events":
      return { kind: "events", revision: update.value.revision, events: update.value.events };
    case "view":
      return update.value.view && { kind: "view", revision: update.value.revision, view: update.value.view };
    case "turn":
      return {
        kind: "turn",
        revision: update.value.revision,
        view: update.value.view,
        moves: update.value.moves,
      };
    case "chat":
      return { kind: "chat", message: update.value };
    case "presence":
      return { kind: "presence", seats: update.value.seats };
    case "historyGone":
      return { kind: "historyGone" };
    default:
      return undefined;
  }
}
