import { TableState } from "./generated/buraco/v1/table_pb.js";
import type { Update } from "./update.js";

/** The place of a watch in a table's history, which distinguishes new updates from repeated ones. */
export class WatchCursor {
  /** The newest revision seen; undefined before the first state. */
  revision: bigint | undefined;
  /** The number of the newest chat message seen. */
  message: bigint;
  /** The revision after which nothing comes, because the match is over; undefined while it is not known. */
  finalRevision: bigint | undefined;
  #awaitsView: boolean;
  #viewRevision = -1n;
  #turnRevision = -1n;
  #present: string | undefined;

  constructor(revision: bigint | undefined, message: bigint, awaitsView: boolean) {
    this.revision = revision;
    this.message = message;
    this.#awaitsView = awaitsView;
  }

  /** True if the match is over and everything up to its end was seen, the last view included if views come. */
  get isFinished(): boolean {
    return this.#isEnd(this.revision) && (!this.#awaitsView || this.#isEnd(this.#viewRevision));
  }

  /** Note that the stream has ended in order: if the match is over, no view follows any more. */
  endStream(): void {
    if (this.#isEnd(this.revision)) this.#awaitsView = false;
  }

  /** Move to an update and return true, or return false if it is not new. */
  advance(update: Update): boolean {
    switch (update.kind) {
      case "historyGone":
        // The state that follows is new even if its revision is lower: the store may have been restored.
        this.revision = this.finalRevision = undefined;
        this.#viewRevision = this.#turnRevision = -1n;
        return true;
      // A stream that is opened again repeats the view, the turn and who is present.
      case "view":
        if (update.revision <= this.#viewRevision) return false;
        this.#viewRevision = update.revision;
        return true;
      case "turn":
        if (update.revision <= this.#turnRevision) return false;
        this.#turnRevision = update.revision;
        return true;
      case "presence": {
        const before = this.#present;
        this.#present = update.seats.join();
        return this.#present !== before;
      }
      case "chat":
        if (update.message.number <= this.message) return false;
        this.message = update.message.number;
        return true;
      case "state":
        if (!this.#advanceRevision(update.revision)) return false;
        this.#viewRevision = update.revision;
        if (update.table.state === TableState.FINISHED) this.finalRevision = update.revision;
        return true;
      case "events":
        if (!this.#advanceRevision(update.revision)) return false;
        if (update.events.some(({ event }) => event.case === "matchEnded")) this.finalRevision = update.revision;
        return true;
      case "connection":
        return true;
    }
  }

  #advanceRevision(revision: bigint): boolean {
    if (this.revision !== undefined && revision <= this.revision) return false;
    this.revision = revision;
    return true;
  }

  #isEnd(revision: bigint | undefined): boolean {
    return this.finalRevision !== undefined && revision !== undefined && revision >= this.finalRevision;
  }
}
