import { create, EventSchema, TableSchema, ViewSchema } from "@buraco/client/messages";
import { expect, test } from "vitest";
import { areMovesCurrent, EMPTY, reduce, type TableState } from "../../src/game/state";

const view = (turnNumber: number, seatToMove = 0) => create(ViewSchema, { seat: 0, seatToMove, turnNumber });
const drew = create(EventSchema, { event: { case: "drew", value: { seat: 0 } } });

function opened(): TableState {
  const table = create(TableSchema, { id: "t", revision: 5n });
  return reduce(EMPTY, { type: "received", at: 0, update: { kind: "state", revision: 5n, table, view: view(1) } });
}

test("the answer to a move and its events on the stream count once, whichever comes first", () => {
  const answer = { type: "played", view: view(2), revision: 6n, events: [drew], at: 1 } as const;
  const told = { type: "received", at: 1, update: { kind: "events", revision: 6n, events: [drew] } } as const;
  for (const actions of [
    [answer, told],
    [told, answer],
  ]) {
    const state = actions.reduce<TableState>(reduce, opened());
    expect(state.log).toHaveLength(1);
    expect(state.revision).toBe(6n);
  }
});

const turn = (revision: bigint) =>
  ({
    kind: "turn",
    revision,
    view: view(1),
    moves: [{ $typeName: "buraco.v1.Move", move: { case: undefined } }],
  }) as const;

test("after a change the moves of the turn stay in sight, but are not current, until the next come", () => {
  let state = reduce(opened(), { type: "received", at: 0, update: turn(5n) });
  expect(areMovesCurrent(state)).toBe(true);
  const events = { kind: "events", revision: 6n, events: [drew] } as const;
  for (const update of [events, { kind: "view", revision: 6n, view: view(1) } as const]) {
    state = reduce(state, { type: "received", at: 1, update });
    expect(state.moves).toHaveLength(1);
    expect(areMovesCurrent(state)).toBe(false);
  }
  state = reduce(state, { type: "received", at: 1, update: turn(6n) });
  expect(areMovesCurrent(state)).toBe(true);
});

test("the moves of a turn are gone when another seat is to move", () => {
  const mine = reduce(opened(), { type: "received", at: 0, update: turn(5n) });
  const played = { type: "played", view: view(2, 1), revision: 6n, events: [drew], at: 1 } as const;
  expect(reduce(mine, played).moves).toHaveLength(0);
  const seen = { kind: "view", revision: 6n, view: view(2, 1) } as const;
  expect(reduce(mine, { type: "received", at: 1, update: seen }).moves).toHaveLength(0);
});

test("the revision of the view goes with the view, not with the events before it", () => {
  const events = { kind: "events", revision: 6n, events: [drew] } as const;
  const told = reduce(opened(), { type: "received", at: 1, update: events });
  expect(told.viewRevision).toBe(5n);
  const seen = reduce(told, { type: "received", at: 1, update: { kind: "view", revision: 6n, view: view(2) } });
  expect(seen.viewRevision).toBe(6n);
});

test("a table that was read before a newer one came is passed over", () => {
  const newer = reduce(opened(), { type: "table", table: create(TableSchema, { id: "t", revision: 9n }) });
  const older = reduce(newer, { type: "table", table: create(TableSchema, { id: "t", revision: 7n }) });
  expect(older.table?.revision).toBe(9n);
});

test("what was known of a deal before its end is kept by its number", () => {
  const dealt = create(EventSchema, {
    event: { case: "dealt", value: { dealNumber: 2, commitment: new Uint8Array([1]), hand: [5, 7] } },
  });
  const state = reduce(opened(), {
    type: "received",
    at: 0,
    update: { kind: "events", revision: 6n, events: [dealt] },
  });
  expect(state.known.get(2)).toEqual({ commitment: new Uint8Array([1]), hand: [5, 7] });
});

test("the log and the chat keep no more than their newest lines", () => {
  let state = opened();
  for (let number = 1n; number <= 300n; number++) {
    state = reduce(state, {
      type: "received",
      at: 0,
      update: { kind: "events", revision: 5n + number, events: [drew] },
    });
    const message = { $typeName: "buraco.v1.ChatMessage", number, seat: 0, playerName: "", audience: 1 } as never;
    state = reduce(state, { type: "chat", message });
  }
  expect(state.log).toHaveLength(200);
  expect(state.chat).toHaveLength(200);
  expect(state.chat.at(-1)?.number).toBe(300n);
});
