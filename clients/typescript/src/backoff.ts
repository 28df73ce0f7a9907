/** Capped exponential backoff with full jitter, so that clients that failed together do not return together. */
export interface Backoff {
  /** The longest wait after the first failure, in milliseconds; it doubles with every further failure. */
  readonly firstMs: number;
  /** The longest wait of all, in milliseconds. */
  readonly capMs: number;
}

/** The waits of a client that is given no others. */
export const DEFAULT_BACKOFF: Backoff = { firstMs: 50, capMs: 2000 };

/** Return a random wait in milliseconds after that many failures in a row (1 or more). */
export function backoffDelay(backoff: Backoff, failures: number): number {
  return Math.random() * Math.min(backoff.capMs, backoff.firstMs * 2 ** Math.min(failures - 1, 60));
}

/** Wait, or throw the reason of `signal` as soon as it is aborted. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
