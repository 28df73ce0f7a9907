import { BuracoError, createBuracoClient, movesFor, type SeatSession, Texts } from "@buraco/client";
import type { Card, Move, View } from "@buraco/client/messages";
import { createConnectTransport } from "@connectrpc/connect-web";

const texts = new Texts(navigator.language);
const client = createBuracoClient(createConnectTransport({ baseUrl: location.origin }));

/** Take a seat as a guest, or come back to it after a reload. */
export async function takeSeat(tableId: string, name: string): Promise<SeatSession> {
  client.playerToken = localStorage.getItem("player") ?? (await client.signInAsGuest(name)).playerToken;
  localStorage.setItem("player", client.playerToken);
  const saved = localStorage.getItem(tableId);
  const session = saved ? client.restoreSeat(saved) : await client.joinTable(tableId);
  const save = () => localStorage.setItem(tableId, session.save());
  session.onTokenRenewed = save;
  save();
  return session;
}

/** Show the table as it changes, until the match is over. */
export async function follow(
  session: SeatSession,
  show: (view?: View, moves?: readonly Move[]) => void,
): Promise<void> {
  for await (const update of session.watch({ views: true, legalMoves: true })) {
    if (update.kind === "state" || update.kind === "view") show(update.view);
    if (update.kind === "turn") show(update.view, update.moves);
    if (update.kind === "connection") document.body.dataset.connection = update.state;
  }
}

/** Play the picked cards if they make exactly one move, and return why not as a text for the player. */
export async function play(session: SeatSession, picked: readonly Card[], legal: readonly Move[]): Promise<string> {
  const moves = movesFor(picked, legal);
  if (moves.length !== 1) return moves.map((move) => texts.move(move)).join(" / ");
  try {
    await session.submit(moves);
    return "";
  } catch (error) {
    if (error instanceof BuracoError) return texts.reason(error);
    throw error;
  }
}
