import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import type { Connection } from "./connection.js";
import type { BuracoError } from "./errors.js";
import { bearer, type CallOptions } from "./unary.js";

/** Milliseconds between two renewals, whatever the clocks show. */
const MIN_RENEWAL_INTERVAL = 15_000;
/** Milliseconds that a call waits for a fresh token before it goes with the old one. */
const RENEWAL_TIMEOUT = 2_000;

/** What a seat sends with its calls. The first use after half of its remaining life renews it. */
export class SeatToken {
  text: string;
  /** Milliseconds since the epoch; undefined if not known, so that the token is not renewed by itself. */
  expiresAt: number | undefined;
  /** Called after a renewal. */
  onRenewed: (() => void) | undefined;
  readonly #connection: Connection;
  readonly #tableId: string;
  #renewAt: number | undefined;
  #renewal: Promise<void> | undefined;

  constructor(connection: Connection, tableId: string, text: string, expiresAt: number | undefined) {
    this.#connection = connection;
    this.#tableId = tableId;
    this.text = text;
    this.expiresAt = expiresAt;
    this.#scheduleRenewal(0);
  }

  /**
   * Return the headers that prove the seat, after renewing the token if that is due. A renewal that fails, or takes over
   * 2 seconds, is tried again later.
   */
  async getHeaders(): Promise<Record<string, string>> {
    if (this.#renewAt !== undefined && this.#renewal === undefined && Date.now() >= this.#renewAt) {
      await this.renew({ timeoutMs: RENEWAL_TIMEOUT }).catch(() => this.#scheduleRenewal(MIN_RENEWAL_INTERVAL));
    }
    return bearer(this.text);
  }

  /** Exchange the token for one with its whole life ahead. Throw a BuracoError, and keep the token then. */
  async renew(options: CallOptions = {}): Promise<void> {
    this.#renewal ??= this.#renew(options).finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
  }

  /** Return whether a stream ended because the token it was opened with is no longer the current one. */
  hasReplaced(used: string, error: BuracoError): boolean {
    return error.code === Code.Unauthenticated && used !== this.text;
  }

  async #renew(options: CallOptions): Promise<void> {
    const answer = await this.#connection.caller.call(
      (attempt) => this.#connection.tables.renewToken({ tableId: this.#tableId }, attempt),
      { ...options, headers: bearer(this.text) },
    );
    this.text = answer.token;
    this.expiresAt = answer.tokenExpiresAt && timestampMs(answer.tokenExpiresAt);
    this.#scheduleRenewal(MIN_RENEWAL_INTERVAL);
    this.onRenewed?.();
  }

  #scheduleRenewal(minDelay: number): void {
    if (this.expiresAt === undefined) return;
    const remaining = Math.max(0, this.expiresAt - Date.now());
    this.#renewAt = Date.now() + Math.max(remaining / 2, minDelay);
  }
}
