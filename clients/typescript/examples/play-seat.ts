// Takes a seat and plays the match to its end, whatever becomes of the connection. Run it for a table that exists:
//
//   node examples/play-seat.ts http://localhost:50051 <table> Ada

import { createBuracoClient } from "@buraco/client";
import type { Move } from "@buraco/client/messages";
import { createGrpcTransport } from "@connectrpc/connect-node";

const [, , baseUrl = "http://localhost:50051", tableId = "", playerName = "Ada"] = process.argv;
const client = createBuracoClient(createGrpcTransport({ baseUrl }));
const session = await client.joinTable(tableId, { playerName });
for await (const update of session.watch({ legalMoves: true })) {
  if (update.kind === "connection" && update.error) console.log(`${update.state}: ${update.error.message}`);
  if (update.kind === "turn") await session.submit([choose(update.moves)], { revision: update.revision });
}
const { result } = await client.getTable(tableId);
console.log(`${playerName} is at side ${session.seat % 2}, scores ${result?.scores.join(" ")}`);

/** Meld if possible, else lay off, draw or discard. */
function choose(moves: readonly Move[]): Move {
  for (const kind of ["layMeld", "layOff", "drawStock", "takePile", "discard"]) {
    const move = moves.find((one) => one.move.case === kind);
    if (move) return move;
  }
  throw new Error("there is nothing to play");
}
