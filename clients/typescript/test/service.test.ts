import { Code } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type BuracoClient,
  BuracoError,
  createBuracoClient,
  discard,
  drawStock,
  type SeatSession,
  type TableSettings,
  verifyDeal,
} from "../src/index.ts";
import {
  Card,
  type ChatMessage,
  EntryKind,
  type Move,
  SpectatorPolicy,
  TableAccess,
  TableState,
  Violation,
} from "../src/messages.ts";
import { Server } from "./support/server.ts";

let server: Server;
beforeAll(async () => {
  server = await Server.start();
});
afterAll(() => server.close());

const PATIENT = { timeoutMs: 60_000 };
const TRANSPORTS: Record<string, () => BuracoClient> = {
  "gRPC from Node": () => server.client(),
  "Connect from a page": () => createBuracoClient(createConnectTransport({ baseUrl: server.webUrl }), PATIENT),
  "gRPC-Web from a page": () => createBuracoClient(createGrpcWebTransport({ baseUrl: server.webUrl }), PATIENT),
};

/** Return what a call throws. */
async function failure(call: Promise<unknown>): Promise<BuracoError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(BuracoError);
  return thrown as BuracoError;
}

/** Meld if possible, else draw or discard. */
function choose(moves: readonly Move[]): Move {
  for (const kind of ["layMeld", "layOff", "drawStock", "takePile", "discard"]) {
    const move = moves.find((one) => one.move.case === kind);
    if (move) return move;
  }
  throw new Error("there is nothing to play");
}

/** Play a table of two players to its end, and return the revisions of events that each of them saw. */
async function play(
  client: BuracoClient,
  options: TableSettings["options"] = {},
  onTurn: (turns: number) => Promise<void> = async () => {},
) {
  const { table } = await client.createTable({ rules: "burraco", seats: 2, targetScore: 0, options });
  const entropy = new TextEncoder().encode("dice");
  const sessions = [
    await client.joinTable(table.id, { playerName: "Ada", entropy }),
    await client.joinTable(table.id, { playerName: "Blaise" }),
  ];
  let turns = 0;
  const watched = await Promise.all(
    sessions.map(async (session) => {
      const revisions: bigint[] = [];
      let hand: readonly Card[] = [];
      for await (const update of session.watch({ views: true, legalMoves: true })) {
        if (update.kind === "state") {
          revisions.push(update.revision);
          hand = update.view?.hand ?? hand;
        }
        if (update.kind === "events") {
          revisions.push(update.revision);
          for (const { event } of update.events) if (event.case === "dealt") hand = event.value.hand;
        }
        if (update.kind === "turn") {
          await onTurn(turns++);
          await session.submit([choose(update.moves)], { revision: update.revision });
        }
      }
      return { revisions, hand };
    }),
  );
  return { tableId: table.id, sessions, watched, entropy };
}

function expectNoGap(revisions: readonly bigint[]): void {
  const first = revisions[0] ?? 0n;
  expect(revisions).toEqual(revisions.map((_, index) => first + BigInt(index)));
}

test.each(Object.keys(TRANSPORTS))("players play a whole match by %s, and verify its cards", async (name) => {
  const client = (TRANSPORTS[name] as () => BuracoClient)();
  const { tableId, watched, entropy } = await play(client);
  const table = await client.getTable(tableId);
  expect(table.state).toBe(TableState.FINISHED);
  for (const { revisions } of watched) {
    expectNoGap(revisions);
    expect(revisions.at(-1)).toBe(table.revision);
  }
  const [record] = await Array.fromAsync(client.getRecord(tableId));
  if (!record) throw new Error("there is no record");
  const known = { seat: 0, commitment: table.commitment, entropy, hand: watched[0]?.hand };
  expect(verifyDeal(record, known)).toMatchObject({ isFair: true, problems: [] });
  expect(verifyDeal(record, { seat: 1, hand: watched[0]?.hand }).isFair).toBe(false);
  expect(await client.getCutOffDeal(tableId)).toBeUndefined();
});

test.each(Object.keys(TRANSPORTS))("errors have their reasons and details by %s", async (name) => {
  const client = (TRANSPORTS[name] as () => BuracoClient)();
  expect(await failure(client.getTable("0".repeat(32)))).toMatchObject({ reason: "TABLE_UNKNOWN" });
  const invalid = await failure(client.createTable({ rules: "burraco", seats: 3 }));
  expect(invalid.reason).toBe("REQUEST_INVALID");
  expect(invalid.fieldViolations.map((problem) => problem.field)).toEqual(["seats"]);
  const { table } = await client.createTable({ rules: "burraco", seats: 2 });
  const session = await client.joinTable(table.id, { playerName: "Ada" });
  expect(await failure(client.joinTable(table.id, { playerName: "Eve", seat: 0 }))).toMatchObject({
    reason: "SEAT_TAKEN",
    metadata: { seat: "0" },
  });
  const other = await client.joinTable(table.id, { playerName: "Blaise" });
  const toMove = (await session.view()).view?.seatToMove;
  const [first, second] = toMove === 0 ? [session, other] : [other, session];
  const early = await failure(second.submit([drawStock()]));
  expect(early.violations).toEqual([Violation.NOT_YOUR_TURN]);
  const { view, revision } = await first.submit([drawStock()]);
  expect(await failure(first.submit([drawStock()], { revision: 1n }))).toMatchObject({ reason: "REVISION_STALE" });
  expect((await first.legalMoves()).revision).toBe(revision);
  const hand = view?.hand ?? [];
  const arranged = await first.arrangeMeld(hand.slice(0, 3));
  expect(arranged.arrangements.length > 0).toBe(arranged.violations.length === 0);
  expect(await failure(first.arrangeMeld(Array<Card>(3).fill(Card.JOKER), { meld: 7 }))).toBeInstanceOf(BuracoError);
  await first.submit([discard(hand.find((card) => card !== Card.JOKER) ?? Card.JOKER)]);
});

test("the same request id is carried out once", async () => {
  const client = server.client();
  const requestId = crypto.randomUUID();
  const settings = { rules: "burraco", seats: 2 };
  const first = await client.createTable(settings, { requestId });
  expect((await client.createTable(settings, { requestId })).table.id).toBe(first.table.id);
  const reused = await failure(client.createTable({ ...settings, seats: 4 }, { requestId }));
  expect(reused).toMatchObject({ reason: "REQUEST_ID_REUSED", requestId });
});

test("a guest comes back to the seat, and a seat to its session from a saved text", async () => {
  const client = server.client();
  const guest = await client.signInAsGuest("Ada");
  expect(guest.expiresAt?.getTime()).toBeGreaterThan(Date.now());
  client.playerToken = guest.playerToken;
  const { table } = await client.createTable({ rules: "burraco", seats: 2 });
  const session = await client.joinTable(table.id);
  expect((await client.joinTable(table.id)).seat).toBe(session.seat);
  const mine = await Array.fromAsync(client.listTables({ mine: true }));
  expect(mine.map((one) => one.id)).toEqual([table.id]);
  const restored = server.client().restoreSeat(session.save());
  await restored.renewToken();
  expect((await restored.leave()).seats[0]?.playerName).toBe("");
});

test("players offer, withdraw, resign and play again", async () => {
  const client = server.client();
  const { table } = await client.createTable({ rules: "burraco", seats: 2, targetScore: 0 });
  const session = await client.joinTable(table.id, { playerName: "Ada" });
  await client.joinTable(table.id, { playerName: "Blaise" });
  expect((await session.offerDraw()).offers).toHaveLength(1);
  expect((await session.offerDraw({ withdraw: true })).offers).toHaveLength(0);
  expect(await failure(session.undo())).toBeInstanceOf(BuracoError);
  expect(await failure(session.confirmScore(1))).toMatchObject({ reason: "SCORE_NOT_SHOWN" });
  expect((await session.resign()).result?.winner).toBe(1);
  expect((await client.getCutOffDeal(table.id))?.dealNumber).toBe(1);
  const again = await session.rematch();
  expect(again.tableId).not.toBe(table.id);
  expect(again.seat).toBe(0);
});

test("a table has the rules of a preset, by its id or as a changed copy", async () => {
  const client = server.client();
  const presets = await client.listRuleSets();
  const preset = presets.find((rules) => rules.id === "burraco");
  if (!preset) throw new Error("there is no such preset");
  expect(preset.displayName).toBe("Burraco");
  const { table } = await client.createTable({
    rules: { ...preset, id: "mine", makart: true },
    seats: 4,
    targetScore: 500,
  });
  expect(table).toMatchObject({ targetScore: 500, ruleSet: { makart: true, jokers: 4 } });
  expect((await client.createTable({ rules: "open", seats: 4 })).table.ruleSet?.id).toBe("open");
});

test.each(["gRPC from Node", "Connect from a page"])("a watch has chat and presence by %s", async (name) => {
  const client = (TRANSPORTS[name] as () => BuracoClient)();
  const { table } = await client.createTable({ rules: "burraco", seats: 2 });
  const ada = await client.joinTable(table.id, { playerName: "Ada" });
  const blaise = await client.joinTable(table.id, { playerName: "Blaise" });
  await ada.sendChat({ text: "before" });
  const texts: string[] = [];
  let present: readonly number[] = [];
  const watched = blaise.watch({ chat: true, presence: true });
  for await (const update of watched) {
    if (update.kind === "presence") present = update.seats;
    if (update.kind === "chat") {
      texts.push(String(update.message.content.value));
      if (texts.length === 1) await ada.sendChat({ phrase: "THANKS" });
    }
    if (texts.length === 2 && present.length > 0) break;
  }
  expect(texts).toEqual(["before", "THANKS"]);
  expect(present).toEqual([1]);
  const kept = await Array.fromAsync(blaise.listChat());
  expect(kept.map((message) => message.playerName)).toEqual(["Ada", "Ada"]);
  const again = blaise.watch({ chat: true, afterMessage: 1n });
  for await (const update of again) {
    if (update.kind !== "chat") continue;
    expect(update.message.number).toBe(2n);
    break;
  }
});

test("players alone read record and chat of a table without spectators, and a spectator the chat of another", async () => {
  const client = server.client();
  const texts = async (messages: AsyncIterable<ChatMessage>) =>
    (await Array.fromAsync(messages)).map((message) => message.content.value);
  const [open, closed] = [await play(client), await play(client, { spectators: SpectatorPolicy.NONE })];
  for (const { sessions } of [open, closed]) {
    const [one, other] = sessions as [SeatSession, SeatSession];
    await one.sendChat({ text: "well played" });
    expect(await texts(other.listChat())).toEqual(["well played"]);
    expect((await Array.fromAsync(other.getRecord())).map((deal) => deal.dealNumber)).toEqual([1]);
  }
  expect(await texts(client.listChat(open.tableId))).toEqual(["well played"]);
  for (const pages of [client.listChat(closed.tableId), client.getRecord(closed.tableId)]) {
    expect(await failure(pages.next())).toMatchObject({ reason: "SPECTATORS_NOT_ALLOWED" });
  }
});

test("a player alone reads the deal that a resignation cut off, at a table without spectators", async () => {
  const client = server.client();
  const options = { spectators: SpectatorPolicy.NONE };
  const { table } = await client.createTable({ rules: "open", seats: 2, targetScore: 0, options });
  const ada = await client.joinTable(table.id, { playerName: "Ada" });
  expect(await ada.getCutOffDeal()).toBeUndefined();
  await client.joinTable(table.id, { playerName: "Blaise" });
  await ada.resign();
  expect((await ada.getCutOffDeal())?.dealNumber).toBe(1);
  expect(await failure(client.getCutOffDeal(table.id))).toMatchObject({ reason: "SPECTATORS_NOT_ALLOWED" });
});

test("players meet by quick join, invitation and list, and the creator removes one", async () => {
  const client = server.client();
  const settings = { rules: "open", seats: 2, targetScore: 1234 };
  const [one, other] = [
    await client.quickJoin(settings, { playerName: "Ada" }),
    await client.quickJoin(settings, { playerName: "Blaise" }),
  ];
  expect(other.tableId).toBe(one.tableId);
  const owner = server.client();
  owner.playerToken = (await owner.signInAsGuest("Cleo")).playerToken;
  const options = { access: TableAccess.INVITATION };
  const { table, invitationCode } = await owner.createTable({ rules: "open", seats: 4, options });
  expect(await failure(client.joinTable(table.id, { playerName: "Eve" }))).toMatchObject({
    code: Code.PermissionDenied,
  });
  const guest = await client.joinTable(table.id, { playerName: "Dora", invitationCode });
  const listed = await Array.fromAsync(
    client.listTables({ access: TableAccess.INVITATION, freeSeats: 3, ruleSetId: "open" }),
  );
  expect(listed.map((found) => found.id)).toContain(table.id);
  const later = { updatedAfter: new Date(Date.now() + 3_600_000) };
  expect(await Array.fromAsync(client.listTables(later))).toEqual([]);
  expect((await owner.removePlayer(table.id, guest.seat)).seats[guest.seat]?.playerName).toBe("");
  expect(await failure(guest.view())).toMatchObject({ reason: "SEAT_NOT_YOURS" });
});

test("a stake is held in the player's account", async () => {
  const client = server.client();
  client.playerToken = (await client.signInAsGuest("Ada")).playerToken;
  const { balance } = await client.getAccount();
  const { table } = await client.createTable({ rules: "burraco", seats: 2, stake: 5n });
  const session = await client.joinTable(table.id);
  expect(await client.getAccount()).toMatchObject({ balance, held: 5n });
  await session.leave();
  const entries = await Array.fromAsync(client.listEntries({ pageSize: 1 }));
  expect(entries.slice(0, 2).map((entry) => entry.kind)).toEqual([EntryKind.RELEASE, EntryKind.HOLD]);
});

test.each(["gRPC from Node", "Connect from a page"])(
  "a match goes on by %s while the server is killed, and stopped in order",
  async (name) => {
    const own = await Server.start();
    const client = name.startsWith("gRPC")
      ? own.client()
      : createBuracoClient(createConnectTransport({ baseUrl: own.webUrl }), PATIENT);
    try {
      const { watched, tableId } = await play(client, {}, async (turns) => {
        if (turns === 5) await own.kill();
        if (turns === 15) await own.stop();
        if (turns === 5 || turns === 15) await own.restart();
      });
      const { revision } = await client.getTable(tableId);
      for (const { revisions } of watched) {
        expectNoGap(revisions);
        expect(revisions.at(-1)).toBe(revision);
      }
    } finally {
      await own.close();
    }
  },
);
