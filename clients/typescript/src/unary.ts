import { Code } from "@connectrpc/connect";
import { type Backoff, backoffDelay, sleep } from "./backoff.js";
import { type BuracoError, toBuracoError } from "./errors.js";

/** What every call takes. */
export interface CallOptions {
  /** Milliseconds for the call, all its attempts together; default: the client's. */
  readonly timeoutMs?: number;
  /** Ends the call at once; its reason is thrown. A change may have been made all the same. */
  readonly signal?: AbortSignal;
}

/** What every call takes that changes something. */
export interface ChangeOptions extends CallOptions {
  /**
   * A UUID; default: a new one. The same call with the same id takes effect at most once and always gets the first
   * answer; every error carries the id, so that the call can be repeated later.
   */
  readonly requestId?: string;
}

/** What one attempt of a call sends besides its message. */
export interface Attempt {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Return a random id for one call that changes something and all repeats of it.
 *
 * `crypto.randomUUID` would need a page from a secure origin.
 */
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The headers of a caller: a token as its bearer, and nothing without one. */
export function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** The longest time that timers know; they take more of it for none at all. */
const LONGEST_MS = 2 ** 31 - 1;

/** Makes calls within a deadline and repeats those for which `retryDelay` has a wait. */
export class Caller {
  readonly #timeoutMs: number;
  readonly #backoff: Backoff;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(timeoutMs: number, backoff: Backoff, headers: Readonly<Record<string, string>>) {
    this.#timeoutMs = timeoutMs;
    this.#backoff = backoff;
    this.#headers = headers;
  }

  /**
   * Return what `attempt` returns. `revision` is the one that the request insists on. Throw a BuracoError with the
   * request id.
   */
  async call<Response>(
    attempt: (attempt: Attempt) => Promise<Response>,
    options: ChangeOptions & { readonly headers?: Readonly<Record<string, string>>; readonly revision?: bigint } = {},
  ): Promise<Response> {
    const { signal, requestId } = options;
    const headers = { ...this.#headers, ...options.headers };
    const deadline = performance.now() + (options.timeoutMs ?? this.#timeoutMs);
    for (let failures = 1; ; failures++) {
      signal?.throwIfAborted();
      // The protocol knows whole milliseconds only, and the clock may have moved since the deadline was computed.
      const timeoutMs = Math.min(LONGEST_MS, Math.max(1, Math.ceil(deadline - performance.now())));
      try {
        return await attempt({ timeoutMs, signal, headers });
      } catch (thrown) {
        signal?.throwIfAborted();
        const error = toBuracoError(thrown, requestId);
        const delay = retryDelay(error, this.#backoff, failures, options.revision);
        if (delay === undefined || performance.now() + delay >= deadline) throw error;
        await sleep(delay, signal);
      }
    }
  }
}

/**
 * Return the milliseconds to wait before repeating a call, or undefined if a repeat cannot help.
 *
 * `failures` counts the attempts that failed so far; `revision` is the one that the call insists on. All calls of the
 * contract may be repeated: reads change nothing, and the others carry a request id.
 */
export function retryDelay(
  error: BuracoError,
  backoff: Backoff,
  failures: number,
  revision?: bigint,
): number | undefined {
  const isTemporary =
    error.code === Code.Unavailable ||
    // Another change preceded the call, of which nothing was written.
    (error.code === Code.Aborted && revision === undefined) ||
    (error.code === Code.ResourceExhausted && error.retryDelay !== undefined);
  return isTemporary ? backoffDelay(backoff, failures) + (error.retryDelay ?? 0) : undefined;
}
