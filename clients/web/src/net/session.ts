/** The connection of the page to one table: what happens there goes into the state, and the calls of the seat out. */

import { BuracoError, type ChatContent, type SeatSession, type Watch } from "@buraco/client";
import {
  ChatAudience,
  type DealRecord,
  type Event,
  type Move,
  type SubmitMovesResponse,
  type UndoMoveResponse,
  type Violation,
} from "@buraco/client/messages";
import { Code } from "@connectrpc/connect";
import type { Action } from "../game/state";
import { client, newEntropy } from "./client";
import { forgetSeat, keepSeat, keptSeat, onSeatKept } from "./keep";

/** Milliseconds until a table whose stream was refused is tried again. */
const RETRY_MS = 3000;

/** Events that change more of the table than a view shows. */
const OF_TABLE = new Set<Event["event"]["case"]>([
  "seatChanged",
  "dealt",
  "dealEnded",
  "matchEnded",
  "resigned",
  "drawOffered",
  "offerWithdrawn",
  "aborted",
  "confirmationAwaited",
  "scoreConfirmed",
  "seatAbsent",
  "seatReturned",
  "substituteJoined",
  "substituteLeft",
  "turnTimedOut",
]);

export class TableSession {
  #seat: SeatSession | undefined;
  #watch: Watch | undefined;
  #message = 0n;
  #isClosed = false;
  #resumeAfter: bigint | undefined;
  readonly #unlisten: () => void;

  constructor(
    readonly tableId: string,
    private readonly dispatch: (action: Action) => void,
  ) {
    this.#seat = this.#restore();
    this.#unlisten = onSeatKept(tableId, () => this.#takeSeat(this.#restore()));
    addEventListener("online", this.#resume);
    void this.#run();
  }

  /** The seat taken in this browser. */
  get seat(): number | undefined {
    return this.#seat?.seat;
  }

  /** End the session; the seat stays taken. */
  close(): void {
    this.#isClosed = true;
    this.#unlisten();
    removeEventListener("online", this.#resume);
    this.#watch?.close();
  }

  /** Take a seat; the first free one if none is given. */
  async join(playerName: string, seat?: number, invitationCode?: string): Promise<void> {
    const entropy = newEntropy();
    const taken = await client.joinTable(this.tableId, { playerName, seat, invitationCode, entropy });
    keepSeat(this.tableId, taken.save(), entropy);
    this.#takeSeat(taken);
  }

  async leave(): Promise<void> {
    await this.#own.leave();
    forgetSeat(this.tableId);
    this.#takeSeat(undefined);
  }

  /** Play a move of the seat, meant for a revision. */
  async play(move: Move, revision: bigint): Promise<void> {
    this.#played(await this.#own.submit([move], { revision }));
  }

  /** Take the newest meld, lay-off or moved wild of the turn back. */
  async undo(revision: bigint): Promise<void> {
    this.#played(await this.#own.undo({ revision }));
  }

  /** Return why cards form no meld, or do not fit one; undefined where they do. */
  async whyNot(cards: readonly number[], meld?: number): Promise<Violation | undefined> {
    return (await this.#own.arrangeMeld(cards, { meld })).violations[0];
  }

  async confirm(dealNumber: number): Promise<void> {
    const table = await this.#own.confirmScore(dealNumber);
    this.dispatch({ type: "table", table });
    // Nobody else was waited for, and the next deal has come.
    if (table.awaitingConfirmation?.dealNumber !== dealNumber) this.dispatch({ type: "score-closed" });
  }

  async say(content: ChatContent, toPartner: boolean): Promise<void> {
    const audience = toPartner ? ChatAudience.PARTNER : ChatAudience.TABLE;
    this.dispatch({ type: "chat", message: await this.#own.sendChat(content, { audience }) });
  }

  async resign(withdraw = false): Promise<void> {
    this.dispatch({ type: "table", table: await this.#own.resign({ withdraw }) });
  }

  async offerDraw(withdraw = false): Promise<void> {
    this.dispatch({ type: "table", table: await this.#own.offerDraw({ withdraw }) });
  }

  async abort(): Promise<void> {
    this.dispatch({ type: "table", table: await this.#own.abort() });
  }

  async removePlayer(seat: number): Promise<void> {
    this.dispatch({ type: "table", table: await client.removePlayer(this.tableId, seat) });
  }

  /** Take the same seat at the table of the rematch, and return that table's id. */
  async rematch(): Promise<string> {
    const entropy = newEntropy();
    const taken = await this.#own.rematch({ entropy });
    keepSeat(taken.tableId, taken.save(), entropy);
    return taken.tableId;
  }

  /** Return the deals that are over; of a table that spectators may not see, for its players only. */
  async deals(isOver: boolean): Promise<DealRecord[]> {
    const deals: DealRecord[] = [];
    for await (const deal of this.#seat?.getRecord() ?? client.getRecord(this.tableId)) deals.push(deal);
    if (!isOver) return deals;
    const cutOff = await (this.#seat?.getCutOffDeal() ?? client.getCutOffDeal(this.tableId));
    return cutOff ? [...deals, cutOff] : deals;
  }

  get #own(): SeatSession {
    if (!this.#seat) throw new BuracoError(Code.Unauthenticated, "no seat", { reason: "TOKEN_MISSING" });
    return this.#seat;
  }

  #played({ view, revision, events }: SubmitMovesResponse | UndoMoveResponse): void {
    if (view) this.dispatch({ type: "played", view, revision, events, at: performance.now() });
    this.#refreshAfter(events);
  }

  #restore(): SeatSession | undefined {
    const kept = keptSeat(this.tableId);
    if (!kept) return undefined;
    try {
      return client.restoreSeat(kept.saved);
    } catch {
      forgetSeat(this.tableId);
      return undefined;
    }
  }

  /** Go on as another seat, or none, with the whole state anew. */
  #takeSeat(seat: SeatSession | undefined): void {
    this.#seat = seat;
    this.#resumeAfter = undefined;
    this.#watch?.close();
  }

  /** Go on at once where the stream was, instead of after the next wait. */
  readonly #resume = (): void => {
    if (this.#watch?.connection === "connected") return;
    this.#resumeAfter = this.#watch?.revision;
    this.#watch?.close();
  };

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        if (await this.#follow()) return;
      } catch (error) {
        if (this.#isClosed || (await this.#isFinal(error))) return;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Follow one watch, and return whether it came to the end of the match. */
  async #follow(): Promise<boolean> {
    const seat = this.#seat;
    if (seat) seat.onTokenRenewed = () => keepSeat(this.tableId, seat.save(), undefined);
    const controller = new AbortController();
    const options = {
      afterRevision: this.#resumeAfter,
      views: true,
      chat: true,
      presence: true,
      afterMessage: this.#message,
      signal: controller.signal,
    };
    const watch = seat ? seat.watch({ ...options, legalMoves: true }) : client.watch(this.tableId, options);
    this.#watch = watch;
    let isCut = false;
    const close = watch.close.bind(watch);
    watch.close = () => {
      isCut = true;
      close();
    };
    for await (const update of watch) {
      if (update.kind === "chat") this.#message = update.message.number;
      if (update.kind === "connection" && update.state === "connected") void this.#refresh();
      this.dispatch({ type: "received", update, at: performance.now() });
      if (update.kind === "events") this.#refreshAfter(update.events);
    }
    if (isCut) return false;
    this.dispatch({ type: "connection", connection: "ended" });
    await this.#refresh();
    return true;
  }

  #refreshAfter(events: readonly Event[]): void {
    if (events.some(({ event }) => OF_TABLE.has(event.case))) void this.#refresh();
  }

  /** Read the table again: seats, offers and the result are not part of a view. */
  async #refresh(): Promise<void> {
    try {
      const table = await client.getTable(this.tableId);
      if (!this.#isClosed) this.dispatch({ type: "table", table });
    } catch {
      // The stream finds out what is wrong.
    }
  }

  /** Whether nothing more can come. A seat whose token has ended is taken again by the player's own token. */
  async #isFinal(error: unknown): Promise<boolean> {
    if (!(error instanceof BuracoError)) throw error;
    this.#resumeAfter = undefined;
    if (error.code === Code.NotFound) {
      this.dispatch({ type: "connection", connection: "unknown" });
      return true;
    }
    if (error.code !== Code.Unauthenticated && error.code !== Code.PermissionDenied) return false;
    const seat = this.#seat?.seat;
    if (seat === undefined) {
      // Who may not watch may still take a seat.
      await this.#refresh();
      this.dispatch({ type: "connection", connection: "unknown" });
      return false;
    }
    forgetSeat(this.tableId);
    this.#seat = undefined;
    if (error.reason === "TOKEN_EXPIRED" && client.playerToken) await this.join("", seat).catch(() => undefined);
    return false;
  }
}
