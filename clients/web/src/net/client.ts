/** The one client of the page, which calls the service that the page came from. */

import { createBuracoClient } from "@buraco/client";
import { createConnectTransport } from "@connectrpc/connect-web";
import { keptPlayer } from "./keep";

const CALL_MS = 15_000;

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  fetch: (input, init) => fetch(input, { ...init, credentials: "omit", cache: "no-store" }),
});

export const client = createBuracoClient(transport, {
  playerToken: keptPlayer()?.token || undefined,
  timeoutMs: CALL_MS,
});

/** Return random bytes: what the player adds to every shuffle. */
export function newEntropy(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}
