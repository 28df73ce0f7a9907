/** What the page knows of its table: one value, changed by what the session receives, and by nothing else. */

import type { Update } from "@buraco/client";
import {
  type Card,
  type ChatMessage,
  type DealScore,
  type Event,
  type Move,
  Phase,
  type Table,
  type View,
} from "@buraco/client/messages";

/** What the player knows of a deal from before its end. */
export interface KnownDeal {
  commitment: Uint8Array;
  hand: readonly Card[];
}

/** Lines of the log and messages that are kept: more would only cost memory. */
const LINES_KEPT = 200;

export type Connection = "connecting" | "live" | "lost" | "ended" | "unknown";

export interface Line {
  key: number;
  event: Event;
}

export interface ShownScore {
  dealNumber: number;
  score: DealScore;
}

export interface TableState {
  connection: Connection;
  revision: bigint;
  table: Table | undefined;
  view: View | undefined;
  /** When the view came, by the browser's clock: what its durations count from. */
  viewAt: number;
  /** The revision of the view. */
  viewRevision: bigint;
  /**
   * The legal moves of the seat at `movesRevision`; none while another is to move. Those of a revision before are kept
   * until the next come, so that what is shown of them does not flicker; see `areMovesCurrent`.
   */
  moves: readonly Move[];
  movesRevision: bigint;
  log: readonly Line[];
  /** How many events have come. */
  events: number;
  chat: readonly ChatMessage[];
  /** Seats seen by their streams; undefined where the service does not report them. */
  present: ReadonlySet<number> | undefined;
  /** The score of the deal that ended, until the player has put it away. */
  score: ShownScore | undefined;
  /** What was known of each deal while it was played, by its number. */
  known: ReadonlyMap<number, KnownDeal>;
  /** What others did last, to be moved into place. */
  last: Event | undefined;
}

export const EMPTY: TableState = {
  connection: "connecting",
  revision: 0n,
  table: undefined,
  view: undefined,
  viewAt: 0,
  viewRevision: 0n,
  moves: [],
  movesRevision: 0n,
  log: [],
  events: 0,
  chat: [],
  present: undefined,
  score: undefined,
  known: new Map(),
  last: undefined,
};

export type Action =
  | { type: "received"; update: Update; at: number }
  | { type: "table"; table: Table }
  | { type: "played"; view: View; revision: bigint; events: readonly Event[]; at: number }
  | { type: "connection"; connection: Connection }
  | { type: "score-closed" }
  | { type: "chat"; message: ChatMessage }
  | { type: "reset" };

/** Return whether the legal moves are those of now, and so can be played. */
export function areMovesCurrent(state: TableState): boolean {
  return state.movesRevision === state.revision;
}

/** Return the state after what happened. */
export function reduce(state: TableState, action: Action): TableState {
  switch (action.type) {
    case "received":
      return received(state, action.update, action.at);
    case "table":
      return withTable(state, action.table);
    case "played": {
      if (action.revision <= state.revision) return state;
      const next = withEvents(state, action.events, action.revision);
      return withView(next, action.view, action.revision, action.at);
    }
    case "connection":
      return state.connection === action.connection ? state : { ...state, connection: action.connection };
    case "score-closed":
      return { ...state, score: undefined };
    case "chat":
      return withChat(state, action.message);
    case "reset":
      return EMPTY;
  }
}

function received(state: TableState, update: Update, at: number): TableState {
  switch (update.kind) {
    case "state": {
      const next = withTable({ ...state, revision: update.revision }, update.table);
      return { ...withView(next, update.view, update.revision, at), moves: [] };
    }
    case "events":
      // The answer to the player's own move may have come before.
      return update.revision <= state.revision ? state : withEvents(state, update.events, update.revision);
    case "view":
      if (update.revision < state.revision) return state;
      return withView(state, update.view, update.revision, at);
    case "turn": {
      if (update.revision < state.revision) return state;
      const next = update.view ? withView(state, update.view, update.revision, at) : state;
      return { ...next, moves: update.moves, movesRevision: update.revision };
    }
    case "chat":
      return withChat(state, update.message);
    case "presence":
      return { ...state, present: new Set(update.seats) };
    case "connection":
      return { ...state, connection: CONNECTIONS[update.state] };
    case "historyGone":
      return state;
  }
}

const CONNECTIONS = { connecting: "connecting", connected: "live", reconnecting: "lost" } as const;

/** A view that is not the seat's turn ends the list of its moves; else the turn that follows brings a new one. */
function withView(state: TableState, view: View | undefined, viewRevision: bigint, viewAt: number): TableState {
  const toMove = view?.seat === view?.seatToMove && view?.phase !== Phase.OVER;
  return { ...state, view, viewAt, viewRevision, moves: toMove ? state.moves : [] };
}

function withTable(state: TableState, table: Table): TableState {
  if (state.table && table.revision < state.table.revision) return state;
  const before = state.table?.awaitingConfirmation;
  const awaiting = table.awaitingConfirmation;
  let { score } = state;
  if (awaiting?.score) score = { dealNumber: awaiting.dealNumber, score: awaiting.score };
  else if (before?.dealNumber === score?.dealNumber && before?.confirmedSeats.includes(state.view?.seat ?? -1)) {
    // The player has confirmed the score, and now the next deal has come.
    score = undefined;
  }
  return { ...state, table, score };
}

function withEvents(state: TableState, events: readonly Event[], revision: bigint): TableState {
  let { score, view, known } = state;
  for (const { event } of events) {
    if (event.case === "dealEnded" && event.value.score) {
      score = { dealNumber: view?.match?.dealNumber ?? 0, score: event.value.score };
    }
    if (event.case === "dealt") {
      const { dealNumber, commitment, hand } = event.value;
      known = new Map(known).set(dealNumber, { commitment, hand });
    }
    if (event.case === "seatChanged" && view) view = renamed(view, event.value.seat, event.value.playerName);
  }
  const lines = events.map((event, index) => ({ key: state.events + index, event }));
  return {
    ...state,
    revision,
    view,
    score,
    known,
    log: [...state.log, ...lines].slice(-LINES_KEPT),
    events: state.events + events.length,
    last: events.at(-1) ?? state.last,
  };
}

function renamed(view: View, seat: number, playerName: string): View {
  return {
    ...view,
    seats: view.seats.map((there) => (there.seat === seat ? { ...there, playerName } : there)),
  };
}

function withChat(state: TableState, message: ChatMessage): TableState {
  if (state.chat.some((known) => known.number === message.number)) return state;
  const chat = [...state.chat, message].sort((a, b) => Number(a.number - b.number));
  return { ...state, chat: chat.slice(-LINES_KEPT) };
}
