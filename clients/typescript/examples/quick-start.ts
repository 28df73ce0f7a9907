import { createBuracoClient, Texts } from "@buraco/client";
import { TableState } from "@buraco/client/messages";
import { createGrpcTransport } from "@connectrpc/connect-node";

const [, , baseUrl = "http://localhost:50051", playerName = "Ada"] = process.argv;
const client = createBuracoClient(createGrpcTransport({ baseUrl }));

// The first table that waits for players, or else a new one.
let tableId: string | undefined;
for await (const table of client.listTables({ state: TableState.WAITING })) tableId ??= table.id;
tableId ??= (await client.createTable({ rules: "burraco", seats: 2, targetScore: 0 })).table.id;
const session = await client.joinTable(tableId, { playerName });

const texts = new Texts("en");
for await (const update of session.watch({ legalMoves: true })) {
  if (update.kind === "events") for (const event of update.events) console.log(texts.event(event));
  if (update.kind !== "turn") continue;
  const best = update.moves.find(({ move }) => move.case === "layMeld" || move.case === "drawStock");
  const move = best ?? update.moves.at(-1);
  if (move) await session.submit([move], { revision: update.revision });
}
