import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Connection } from "./connection.js";
import type { Card } from "./generated/buraco/v1/card_pb.js";
import type { Move } from "./generated/buraco/v1/move_pb.js";
import type { DealRecord, Table } from "./generated/buraco/v1/table_pb.js";
import type {
  ChatAudience,
  ChatMessage,
  SubmitMovesResponse,
  TableServiceArrangeMeldResponse,
  TableServiceGetViewResponse,
  TableServiceListLegalMovesResponse,
  UndoMoveResponse,
} from "./generated/buraco/v1/table_service_pb.js";
import { iterateChat, iterateDeals } from "./pages.js";
import { SeatToken } from "./seat-token.js";
import { type Attempt, type CallOptions, type ChangeOptions, newRequestId } from "./unary.js";
import { Watch, type WatchOptions } from "./watch.js";

/** What moves take besides themselves. */
export interface MoveOptions extends ChangeOptions {
  /** The revision that they were chosen for, refused with REVISION_STALE at a later one; default: play at any. */
  readonly revision?: bigint;
}

/** What a chat message says: a text, or the code of a phrase that everybody reads in their own language. */
export type ChatContent = { readonly text: string } | { readonly phrase: string };

/**
 * What the player of one seat can see and do. Made by `BuracoClient.joinTable`, `quickJoin` and `restoreSeat`.
 *
 * Calls throw a BuracoError. Those that change something carry a request id and are repeated under it while the service
 * is unavailable: they take effect at most once.
 *
 * @example
 * const session = await client.joinTable(tableId, { playerName: "Ada" });
 * localStorage.setItem(tableId, session.save());
 * session.onTokenRenewed = () => localStorage.setItem(tableId, session.save());
 */
export class SeatSession {
  readonly tableId: string;
  /** The number of the seat, clockwise from 0; its side is `seat % 2`. */
  readonly seat: number;
  /** The table as it was when the seat was taken; undefined for a restored seat. */
  readonly table: Table | undefined;
  readonly #connection: Connection;
  readonly #token: SeatToken;

  /** @internal */
  constructor(connection: Connection, tableId: string, seat: number, token: SeatToken, table?: Table) {
    this.#connection = connection;
    this.tableId = tableId;
    this.seat = seat;
    this.#token = token;
    this.table = table;
  }

  /** The token. Whoever has it holds the seat: keep it secret. It changes when it is renewed. */
  get token(): string {
    return this.#token.text;
  }

  /** When the token expires, in milliseconds since the epoch; undefined if it is not known. */
  get tokenExpiresAt(): number | undefined {
    return this.#token.expiresAt;
  }

  /** Called after the token was renewed, which a call does by itself when half of its life is over: save the seat anew. */
  set onTokenRenewed(listener: (() => void) | undefined) {
    this.#token.onRenewed = listener;
  }

  /** Return the seat as a text for `BuracoClient.restoreSeat`, after a reload or in another tab. Keep it secret. */
  save(): string {
    const { tableId, seat, token, tokenExpiresAt } = this;
    return JSON.stringify({ tableId, seat, token, tokenExpiresAt });
  }

  /** Return what the seat may know, and its revision; there is no view until the match starts. */
  view(options: CallOptions = {}): Promise<TableServiceGetViewResponse> {
    return this.#call((attempt) => this.#connection.tables.getView({ tableId: this.tableId }, attempt), options);
  }

  /** Return the legal moves of the seat and their revision; none while another seat is to move. */
  legalMoves(options: CallOptions = {}): Promise<TableServiceListLegalMovesResponse> {
    return this.#call((attempt) => this.#connection.tables.listLegalMoves({ tableId: this.tableId }, attempt), options);
  }

  /** Return what happens at the table as the seat may see it; see `Watch`. */
  watch(options: WatchOptions = {}): Watch {
    return new Watch(this.#connection, this.tableId, this.#token, options);
  }

  /**
   * Play 1 to 256 moves in order, all or none; a whole turn may go in one call.
   *
   * @example
   * await session.submit([drawStock(), discard(Card.KING_OF_CLUBS)]);
   */
  submit(moves: readonly Move[], options: MoveOptions = {}): Promise<SubmitMovesResponse> {
    const request = { tableId: this.tableId, moves: [...moves], revision: options.revision };
    return this.#change(
      (requestId, attempt) => this.#connection.tables.submitMoves({ ...request, requestId }, attempt),
      options,
    );
  }

  /** Take back the newest meld, lay-off or moved wild of the turn (R11.4). */
  undo(options: MoveOptions = {}): Promise<UndoMoveResponse> {
    const request = { tableId: this.tableId, revision: options.revision };
    return this.#change(
      (requestId, attempt) => this.#connection.tables.undoMove({ ...request, requestId }, attempt),
      options,
    );
  }

  /**
   * Return every arrangement of cards of the hand as one meld with its value, or why there is none.
   *
   * `meld` is the index of a meld of the seat's side that they are laid off on; default: they are a new meld.
   */
  arrangeMeld(
    cards: readonly Card[],
    { meld, ...options }: CallOptions & { readonly meld?: number } = {},
  ): Promise<TableServiceArrangeMeldResponse> {
    const request = { tableId: this.tableId, cards: [...cards], meld };
    return this.#call((attempt) => this.#connection.tables.arrangeMeld(request, attempt), options);
  }

  /** Confirm the score of a deal that is shown before the next one. Confirming twice changes nothing. */
  async confirmScore(dealNumber: number, options: ChangeOptions = {}): Promise<Table> {
    return tableOf(
      await this.#change(
        (requestId, attempt) =>
          this.#connection.tables.confirmScore({ tableId: this.tableId, dealNumber, requestId }, attempt),
        options,
      ),
    );
  }

  /** Resign for the seat's side; one of two partners only offers it to the other. `withdraw` takes that offer back. */
  async resign({ withdraw = false, ...options }: ChangeOptions & { readonly withdraw?: boolean } = {}): Promise<Table> {
    return tableOf(
      await this.#change(
        (requestId, attempt) => this.#connection.tables.resign({ tableId: this.tableId, withdraw, requestId }, attempt),
        options,
      ),
    );
  }

  /** Offer a draw; the match is a draw when offers of all players are open. `withdraw` takes the offer back. */
  async offerDraw({
    withdraw = false,
    ...options
  }: ChangeOptions & { readonly withdraw?: boolean } = {}): Promise<Table> {
    return tableOf(
      await this.#change(
        (requestId, attempt) =>
          this.#connection.tables.offerDraw({ tableId: this.tableId, withdraw, requestId }, attempt),
        options,
      ),
    );
  }

  /** Abort the match, before every player has made a move. */
  async abort(options: ChangeOptions = {}): Promise<Table> {
    return tableOf(
      await this.#change(
        (requestId, attempt) => this.#connection.tables.abortTable({ tableId: this.tableId, requestId }, attempt),
        options,
      ),
    );
  }

  /** Give the seat back. The token is void at once, and a running match waits for a successor. */
  async leave(options: ChangeOptions = {}): Promise<Table> {
    return tableOf(
      await this.#change(
        (requestId, attempt) => this.#connection.tables.leaveTable({ tableId: this.tableId, requestId }, attempt),
        options,
      ),
    );
  }

  /** Take the same seat at the table for the rematch, one for all, which the first who calls opens. */
  async rematch({ entropy, ...options }: ChangeOptions & { readonly entropy?: Uint8Array } = {}): Promise<SeatSession> {
    const request = { tableId: this.tableId, entropy };
    const answer = await this.#change(
      (requestId, attempt) => this.#connection.tables.rematch({ ...request, requestId }, attempt),
      options,
    );
    return seatOf(this.#connection, answer);
  }

  /** Send a message to the table, or to the partner alone. It changes nothing at the table. */
  async sendChat(
    content: ChatContent,
    { audience, ...options }: ChangeOptions & { readonly audience?: ChatAudience } = {},
  ): Promise<ChatMessage> {
    const said =
      "text" in content
        ? ({ case: "text", value: content.text } as const)
        : ({ case: "phrase", value: content.phrase } as const);
    const request = { tableId: this.tableId, content: said, audience };
    const { message } = await this.#change(
      (requestId, attempt) => this.#connection.tables.sendChat({ ...request, requestId }, attempt),
      options,
    );
    if (message === undefined) throw new TypeError("the answer has no message");
    return message;
  }

  /** Yield the messages that the seat may read, after a number (default: from the first that is kept). */
  listChat({
    afterMessage = 0n,
    ...options
  }: CallOptions & { readonly afterMessage?: bigint } = {}): AsyncGenerator<ChatMessage, void, undefined> {
    return iterateChat(afterMessage, (after) => {
      const request = { tableId: this.tableId, afterMessage: after };
      return this.#call((attempt) => this.#connection.tables.listChat(request, attempt), options);
    });
  }

  /**
   * Yield the finished deals after a deal number (default: all), in order, also of a table that spectators may not see;
   * `verifyDeal` checks them.
   *
   * @example
   * for await (const deal of session.getRecord()) console.log(verifyDeal(deal, { seat: session.seat }).isFair);
   */
  getRecord({
    afterDeal = 0,
    ...options
  }: CallOptions & { readonly afterDeal?: number } = {}): AsyncGenerator<DealRecord, void, undefined> {
    return iterateDeals(afterDeal, (after) => {
      const request = { tableId: this.tableId, afterDeal: after };
      return this.#call((attempt) => this.#connection.tables.getRecord(request, attempt), options);
    });
  }

  /**
   * Return the deal that the end of the match cut off, with its seed and moves, also of a table that spectators may not
   * see; undefined if there is none.
   *
   * @example
   * const deal = await session.getCutOffDeal();
   */
  async getCutOffDeal(options: CallOptions = {}): Promise<DealRecord | undefined> {
    const { tableId } = this;
    const { table } = await this.#call((attempt) => this.#connection.tables.getTable({ tableId }, attempt), options);
    const request = { tableId, afterDeal: Math.max(table?.match?.dealNumber ?? 0, 1) - 1 };
    return (await this.#call((attempt) => this.#connection.tables.getRecord(request, attempt), options)).cutOff;
  }

  /** Exchange the token for a fresh one; calls do so by themselves when half of its life is over. */
  renewToken(options: CallOptions = {}): Promise<void> {
    return this.#token.renew(options);
  }

  async #call<Response>(
    attempt: (attempt: Attempt) => Promise<Response>,
    options: ChangeOptions & { readonly revision?: bigint },
  ): Promise<Response> {
    return this.#connection.caller.call(attempt, { ...options, headers: await this.#token.getHeaders() });
  }

  #change<Response>(
    attempt: (requestId: string, attempt: Attempt) => Promise<Response>,
    options: MoveOptions,
  ): Promise<Response> {
    const requestId = options.requestId ?? newRequestId();
    return this.#call((once) => attempt(requestId, once), { ...options, requestId });
  }
}

/** What the calls that take a seat answer. */
export interface TakenSeat {
  readonly seat: number;
  readonly token: string;
  readonly table?: Table;
  readonly tokenExpiresAt?: Parameters<typeof timestampMs>[0];
}

/** Return the session of a seat that was taken. */
export function seatOf(connection: Connection, taken: TakenSeat): SeatSession {
  const table = tableOf(taken);
  const expiresAt = taken.tokenExpiresAt && timestampMs(taken.tokenExpiresAt);
  return new SeatSession(
    connection,
    table.id,
    taken.seat,
    new SeatToken(connection, table.id, taken.token, expiresAt),
    table,
  );
}

/** Return the table of an answer, which always has one. */
export function tableOf({ table }: { readonly table?: Table }): Table {
  if (table === undefined) throw new TypeError("the answer has no table");
  return table;
}
