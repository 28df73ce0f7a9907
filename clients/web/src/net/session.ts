/**
 * The connection of the page to one table: a stream that resumes by itself after whatever was received last, and the
 * calls of the seat.
 */

import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Action } from "../game/state";
import { newRequestId, pause, randomBytes, tables, withToken } from "./api";
import { failureOf } from "./errors";
import { forgetSeat, keepSeat, keptPlayer, keptSeat, onSeatKept } from "./keep";
import { ChatAudience, type Event, type Move } from "./wire";

/** Milliseconds without anything, heartbeats included, after which the stream is taken for dead. */
const SILENCE = 45_000;
const FIRST_WAIT = 250;
const LONGEST_WAIT = 5000;

export class TableSession {
  #revision: bigint | undefined;
  #message = 0n;
  #stream = new AbortController();
  #closed = false;
  #refreshing = false;
  readonly #unlisten: () => void;

  constructor(
    readonly tableId: string,
    private readonly dispatch: (action: Action) => void,
  ) {
    this.#unlisten = onSeatKept(tableId, () => this.restart());
    addEventListener("online", this.#reopen);
    addEventListener("offline", this.#reopen);
    void this.#run();
  }

  /** The seat taken here, by this tab or another. */
  get seat(): number | undefined {
    return keptSeat(this.tableId)?.seat;
  }

  get #token(): string | undefined {
    return keptSeat(this.tableId)?.token;
  }

  /** End the session; the seat stays taken. */
  close(): void {
    this.#closed = true;
    this.#unlisten();
    removeEventListener("online", this.#reopen);
    removeEventListener("offline", this.#reopen);
    this.#stream.abort();
  }

  /** Begin anew with the whole state, because the seat has changed. */
  restart(): void {
    this.#revision = undefined;
    this.#reopen();
  }

  readonly #reopen = (): void => this.#stream.abort();

  /** Take a seat; the first free one if none is given. */
  async join(name: string, seat?: number, invitationCode = ""): Promise<void> {
    const answer = await tables.joinTable(
      {
        tableId: this.tableId,
        seat,
        playerName: name,
        entropy: randomBytes(32),
        requestId: newRequestId(),
        invitationCode,
      },
      withToken(keptPlayer()?.token),
    );
    rememberSeat(this.tableId, answer.seat, answer.token, answer.tokenExpiresAt);
    this.restart();
  }

  async leave(): Promise<void> {
    await tables.leaveTable({ tableId: this.tableId, requestId: newRequestId() }, withToken(this.#token));
    forgetSeat(this.tableId);
    this.restart();
  }

  /** Play moves of the seat, all or nothing. */
  async play(moves: Move[], revision: bigint): Promise<void> {
    const request = { tableId: this.tableId, moves, revision, requestId: newRequestId() };
    const { view, revision: reached, events } = await tables.submitMoves(request, withToken(this.#token));
    if (view) this.dispatch({ type: "played", view, revision: reached, events, at: performance.now() });
    this.#follow(events);
  }

  async undo(revision: bigint): Promise<void> {
    const request = { tableId: this.tableId, revision, requestId: newRequestId() };
    const { view, revision: reached, events } = await tables.undoMove(request, withToken(this.#token));
    if (view) this.dispatch({ type: "played", view, revision: reached, events, at: performance.now() });
  }

  async confirm(dealNumber: number): Promise<void> {
    const request = { tableId: this.tableId, dealNumber, requestId: newRequestId() };
    await tables.confirmScore(request, withToken(this.#token));
  }

  async say(content: { text: string } | { phrase: string }, partner: boolean): Promise<void> {
    const audience = partner ? ChatAudience.PARTNER : ChatAudience.TABLE;
    const chosen =
      "text" in content
        ? ({ case: "text", value: content.text } as const)
        : ({ case: "phrase", value: content.phrase } as const);
    const request = { tableId: this.tableId, content: chosen, audience, requestId: newRequestId() };
    const { message } = await tables.sendChat(request, withToken(this.#token));
    if (message) this.dispatch({ type: "chat", message });
  }

  async resign(withdraw = false): Promise<void> {
    await tables.resign(
      { tableId: this.tableId, requestId: newRequestId(), withdraw },
      withToken(this.#token),
    );
    await this.refresh();
  }

  async offerDraw(withdraw = false): Promise<void> {
    await tables.offerDraw(
      { tableId: this.tableId, requestId: newRequestId(), withdraw },
      withToken(this.#token),
    );
    await this.refresh();
  }

  async abort(): Promise<void> {
    await tables.abortTable({ tableId: this.tableId, requestId: newRequestId() }, withToken(this.#token));
    await this.refresh();
  }

  async removePlayer(seat: number): Promise<void> {
    const request = { tableId: this.tableId, seat, requestId: newRequestId() };
    await tables.removePlayer(request, withToken(keptPlayer()?.token));
    await this.refresh();
  }

  /** Take the same seat at the table of the rematch, and return that table's id. */
  async rematch(): Promise<string> {
    const request = { tableId: this.tableId, requestId: newRequestId(), entropy: randomBytes(32) };
    const answer = await tables.rematch(request, withToken(this.#token));
    const id = answer.table?.id ?? "";
    rememberSeat(id, answer.seat, answer.token, answer.tokenExpiresAt);
    return id;
  }

  /** Return why cards form no meld, by the service's rules; none where they do. */
  async whyNot(cards: number[], meld?: number): Promise<number[]> {
    const answer = await tables.arrangeMeld({ tableId: this.tableId, cards, meld }, withToken(this.#token));
    return answer.violations;
  }

  /** Return the finished deals after a number, in pages. */
  records(afterDeal: number) {
    return tables.getRecord({ tableId: this.tableId, afterDeal, pageSize: 50 }, withToken(this.#token));
  }

  /** Read the table again: seats, offers and the result are not part of a view. */
  async refresh(): Promise<void> {
    if (this.#refreshing) return;
    this.#refreshing = true;
    try {
      const { table } = await tables.getTable({ tableId: this.tableId }, withToken(this.#token));
      if (table && !this.#closed) this.dispatch({ type: "table", table });
    } catch {
      // The stream finds out what is wrong.
    } finally {
      this.#refreshing = false;
    }
  }

  async #run(): Promise<void> {
    let wait = FIRST_WAIT;
    while (!this.#closed) {
      this.#stream = new AbortController();
      let heard = false;
      try {
        await this.#renew();
        await this.#receive(() => {
          heard = true;
          wait = FIRST_WAIT;
        });
        if (this.#ended) return;
      } catch (thrown) {
        if (this.#closed) return;
        if (!this.#stream.signal.aborted && (await this.#isFinal(thrown))) return;
      }
      if (this.#closed) return;
      if (!this.#stream.signal.aborted || !navigator.onLine)
        this.dispatch({ type: "connection", connection: "lost" });
      await pause(heard ? 50 : wait * (0.75 + Math.random() / 2));
      wait = Math.min(LONGEST_WAIT, wait * 2);
    }
  }

  #ended = false;

  async #receive(onHeard: () => void): Promise<void> {
    const token = this.#token;
    const { signal } = this.#stream;
    let silence = setTimeout(() => this.#stream.abort(), SILENCE);
    let asked = false;
    const stream = tables.watchTable(
      {
        tableId: this.tableId,
        afterRevision: this.#revision,
        views: true,
        legalMoves: token !== undefined,
        chat: true,
        afterMessage: this.#message,
        presence: true,
      },
      withToken(token, { signal, timeoutMs: undefined }),
    );
    try {
      for await (const { update } of stream) {
        clearTimeout(silence);
        silence = setTimeout(() => this.#stream.abort(), SILENCE);
        onHeard();
        if (!asked) this.dispatch({ type: "connection", connection: "live" });
        // Resumed: what is only in the table may have changed meanwhile.
        if (!asked && update.case !== "state") void this.refresh();
        asked = true;
        this.#note(update);
        if (update.case === "reconnect") {
          this.#stream.abort();
          return;
        }
        this.dispatch({ type: "received", update, at: performance.now() });
        if (update.case === "events") this.#follow(update.value.events);
      }
      // The match is over and all of it was received.
      this.#ended = true;
      this.dispatch({ type: "connection", connection: "ended" });
      await this.refresh();
    } finally {
      clearTimeout(silence);
    }
  }

  #note(update: { case: string | undefined; value?: unknown }): void {
    const value = update.value as { revision?: bigint; number?: bigint; table?: { revision: bigint } };
    if (update.case === "state") this.#revision = value.table?.revision;
    else if (update.case === "events") this.#revision = value.revision;
    else if (update.case === "historyGone") this.#revision = undefined;
    else if (update.case === "chat") this.#message = value.number ?? this.#message;
  }

  /** Read the table again after events that change more of it than a view shows. */
  #follow(events: readonly Event[]): void {
    const only = new Set([
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
    if (events.some(({ event }) => only.has(event.case ?? ""))) void this.refresh();
  }

  /** Get a fresh token for the seat when half of its token's life is over. */
  async #renew(): Promise<void> {
    const kept = keptSeat(this.tableId);
    if (!kept || Date.now() < (kept.obtainedAt + kept.expiresAt) / 2) return;
    const answer = await tables.renewToken({ tableId: this.tableId }, withToken(kept.token));
    rememberSeat(this.tableId, kept.seat, answer.token, answer.tokenExpiresAt);
  }

  /** Whether the failure of a stream is final. A seat that is lost is tried again by the player's own token. */
  async #isFinal(thrown: unknown): Promise<boolean> {
    const { code } = ConnectError.from(thrown);
    const { reason } = failureOf(thrown);
    if (code === Code.NotFound) {
      this.dispatch({ type: "connection", connection: "unknown" });
      return true;
    }
    if (code === Code.Unauthenticated || code === Code.PermissionDenied) {
      const kept = keptSeat(this.tableId);
      if (!kept) {
        // Spectators are not admitted.
        this.dispatch({ type: "connection", connection: "unknown" });
        await pause(LONGEST_WAIT);
        return false;
      }
      this.#revision = undefined;
      forgetSeat(this.tableId);
      if (reason === "TOKEN_EXPIRED" && keptPlayer()) await this.join("", kept.seat).catch(() => undefined);
    }
    return false;
  }
}

/** Keep the token of a seat for every tab. */
export function rememberSeat(
  table: string,
  seat: number,
  token: string,
  expires: Timestamp | undefined,
): void {
  const now = Date.now();
  keepSeat(table, {
    seat,
    token,
    obtainedAt: now,
    expiresAt: expires ? timestampMs(expires) : now + 3_600_000,
  });
}
