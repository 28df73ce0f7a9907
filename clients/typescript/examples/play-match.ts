// Plays a whole match: two players who lay down what they can and discard what is left. Run it against a server:
//
//   node examples/play-match.ts http://localhost:50051

import { createBuracoClient, type SeatSession, Texts, verifyDeal } from "@buraco/client";
import type { MatchEnded, Move } from "@buraco/client/messages";
import { createGrpcTransport } from "@connectrpc/connect-node";

const baseUrl = process.argv[2] ?? "http://localhost:50051";
const client = createBuracoClient(createGrpcTransport({ baseUrl }));

const { table } = await client.createTable({ rules: "burraco", seats: 2, targetScore: 0 });
const players = [
  await client.joinTable(table.id, { playerName: "Ada" }),
  await client.joinTable(table.id, { playerName: "Blaise" }),
];
const [result] = await Promise.all(players.map(play));
console.log(`Ada ${result?.scores[0]} : ${result?.scores[1]} Blaise`);

for await (const deal of client.getRecord(table.id)) {
  const { isFair, problems } = verifyDeal(deal);
  console.log(`Deal ${deal.dealNumber}: ${isFair ? "the cards were dealt as promised" : problems.join(", ")}`);
}

/** Play until the match is over, and return how it ended. */
async function play(session: SeatSession): Promise<MatchEnded | undefined> {
  const texts = new Texts("en");
  const names = ["Ada", "Blaise"];
  let ended: MatchEnded | undefined;
  for await (const update of session.watch({ legalMoves: true })) {
    if (update.kind === "turn") await session.submit([choose(update.moves)], { revision: update.revision });
    if (update.kind !== "events") continue;
    for (const event of update.events) {
      if (session.seat === 0) console.log(texts.event(event, names));
      if (event.event.case === "matchEnded") ended = event.event.value;
    }
  }
  return ended;
}

/** Meld if possible, else lay off, draw or discard. */
function choose(moves: readonly Move[]): Move {
  for (const kind of ["layMeld", "layOff", "drawStock", "takePile", "discard"]) {
    const move = moves.find((one) => one.move.case === kind);
    if (move) return move;
  }
  throw new Error("there is nothing to play");
}
