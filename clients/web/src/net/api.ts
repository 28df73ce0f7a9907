/** The service as the page calls it: unary calls are repeated safely under one request id while the service is away. */

import { type CallOptions, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { AccountService, RulesService, TableService } from "./wire";

/** Milliseconds after which a unary call is given up, and repeated. */
const CALL_TIMEOUT = 8000;
const REPEATS = 4;

const repeat: Interceptor = (next) => async (request) => {
  if (request.stream) return next(request);
  for (let attempt = 0; ; attempt++) {
    try {
      return await next(request);
    } catch (thrown) {
      const code = ConnectError.from(thrown).code;
      const passing = code === Code.Unavailable || code === Code.DeadlineExceeded;
      if (!passing || attempt >= REPEATS || request.signal.aborted) throw thrown;
      await pause(Math.min(4000, 250 * 2 ** attempt) * (0.75 + Math.random() / 2));
    }
  }
};

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [repeat],
  // Nothing is sent along that the page did not set, and no answer is kept.
  fetch: (input, init) =>
    fetch(input, { ...init, credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" }),
});

export const tables = createClient(TableService, transport);
export const rules = createClient(RulesService, transport);
export const accounts = createClient(AccountService, transport);

/** Options of a call with a token of a seat or player; without one, those of an anonymous call. */
export function withToken(token: string | undefined, more: CallOptions = {}): CallOptions {
  const headers = new Headers(more.headers);
  if (token) headers.set("authorization", `Bearer ${token}`);
  return { timeoutMs: CALL_TIMEOUT * (REPEATS + 1), ...more, headers };
}

/** Return a fresh id for a request; a repeat of the request has the same one. */
export function newRequestId(): string {
  // randomUUID is missing where the page came over plain HTTP from another machine.
  if ("randomUUID" in crypto) return crypto.randomUUID();
  const bytes = randomBytes(16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Return random bytes: what the player adds to every shuffle. */
export function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(count));
}

/** Wait so many milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
