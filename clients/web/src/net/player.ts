/** Who plays: a player of the host, by a token in the address, or a guest, by a name. */

import { timestampMs } from "@bufbuild/protobuf/wkt";
import { accounts, tables, withToken } from "./api";
import { failureOf, isUnimplemented } from "./errors";
import { forgetPlayer, type KeptPlayer, keepPlayer, keptPlayer } from "./keep";

const HOST_TOKEN = /[#&]token=([^&]+)/;

/** Take the host's player token out of the address, so that it is neither kept in the history nor shared. */
export function takeHostToken(): void {
  const token = HOST_TOKEN.exec(location.hash)?.[1];
  if (!token) return;
  keepPlayer({ token: decodeURIComponent(token), name: claimOf(token, "name"), id: claimOf(token, "sub") });
  const rest = location.hash.replace(HOST_TOKEN, "").replace(/^#?&/, "#");
  history.replaceState(null, "", location.pathname + (rest.length > 1 ? rest : ""));
}

/** Sign in as a guest. Where the service has no guests the name alone is kept. */
export async function signIn(name: string): Promise<KeptPlayer> {
  let player: KeptPlayer = { token: "", name, id: "" };
  try {
    const answer = await tables.signInAsGuest({ name });
    player = { token: answer.playerToken, name, id: answer.playerId };
  } catch (thrown) {
    if (failureOf(thrown).reason !== "SIGN_IN_DISABLED" && !isUnimplemented(thrown)) throw thrown;
  }
  keepPlayer(player);
  return player;
}

/** Forget a player whose token has ended; the name is asked for again. */
export function dropEndedPlayer(now = Date.now()): void {
  const kept = keptPlayer();
  if (kept?.token && Number(claimOf(kept.token, "exp") || Infinity) * 1000 < now) forgetPlayer();
}

/** Return the credits that can be staked; undefined where the service keeps no accounts. */
export async function credits(): Promise<bigint | undefined> {
  const token = keptPlayer()?.token;
  if (!token) return undefined;
  try {
    return (await accounts.getAccount({}, withToken(token))).account?.available;
  } catch {
    return undefined;
  }
}

/** Return milliseconds since 1970; 0 without a time. */
export function millis(time: Parameters<typeof timestampMs>[0] | undefined): number {
  return time ? timestampMs(time) : 0;
}

/** Read a claim of a token, for show: only the service can know whether it is true. */
function claimOf(token: string, claim: string): string {
  try {
    const body = decodeURIComponent(token).split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))[claim];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  } catch {
    return "";
  }
}
