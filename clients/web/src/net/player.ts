/** Who plays: a player of the host, by a token in the address, or a guest, by a name. */

import { BuracoError } from "@buraco/client";
import { Code } from "@connectrpc/connect";
import { client } from "./client";
import { forgetPlayer, type KeptPlayer, keepPlayer, keptPlayer } from "./keep";

const HOST_TOKEN = /[#&]token=([^&]+)/;

/** Take the host's player token out of the address, so that it is neither kept in the history nor shared. */
export function takeHostToken(): void {
  const found = HOST_TOKEN.exec(location.hash)?.[1];
  if (!found) return;
  const token = decodeURIComponent(found);
  usePlayer({ token, name: claimOf(token, "name"), id: claimOf(token, "sub") });
  const rest = location.hash.replace(HOST_TOKEN, "").replace(/^#?&/, "#");
  history.replaceState(null, "", location.pathname + (rest.length > 1 ? rest : ""));
}

/** Sign in as a guest. Where the service has no guests the name alone is kept. */
export async function signIn(name: string): Promise<void> {
  try {
    const guest = await client.signInAsGuest(name);
    usePlayer({ token: guest.playerToken, name, id: guest.playerId });
  } catch (error) {
    const isOff =
      error instanceof BuracoError && (error.reason === "SIGN_IN_DISABLED" || error.code === Code.Unimplemented);
    if (!isOff) throw error;
    usePlayer({ token: "", name, id: "" });
  }
}

/** Forget a player whose token has ended; the name is asked for again. */
export function dropEndedPlayer(): void {
  const token = keptPlayer()?.token;
  if (!token || Number(claimOf(token, "exp") || Number.POSITIVE_INFINITY) * 1000 > Date.now()) return;
  forgetPlayer();
  client.playerToken = undefined;
}

/** Return the credits that can be staked; undefined where the service keeps no accounts. */
export async function credits(): Promise<bigint | undefined> {
  if (!client.playerToken) return undefined;
  try {
    return (await client.getAccount()).available;
  } catch {
    return undefined;
  }
}

function usePlayer(player: KeptPlayer): void {
  keepPlayer(player);
  client.playerToken = player.token || undefined;
}

/** Read a claim of a token, for show: only the service can know whether it is true. */
function claimOf(token: string, claim: string): string {
  try {
    const body = (token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))[claim];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  } catch {
    return "";
  }
}
