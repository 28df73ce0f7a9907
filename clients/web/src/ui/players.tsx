/** The players around the table: names, presence, counts of cards, clocks. */

import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import type { SeatView, View } from "@buraco/client/messages";
import { useEffect, useState } from "preact/hooks";
import { useTexts } from "./context";

interface PlateProps {
  seat: SeatView;
  view: View;
  viewAt: number;
  present: ReadonlySet<number> | undefined;
  own?: boolean;
  partner?: boolean;
}

export function PlayerPlate({ seat, view, viewAt, present, own, partner }: PlateProps) {
  const texts = useTexts();
  const toMove = view.seatToMove === seat.seat && view.ending === 0;
  const here = present?.has(seat.seat) ?? seat.present;
  // A service that does not report presence shows nobody.
  const known = seat.isBot || present !== undefined || view.seats.some((there) => there.present);
  const side = view.sides[seat.side];
  const name = seat.playerName || texts.seat(seat.seat);
  const state = texts.t(
    seat.isBot && seat.absent
      ? "seat.substituted"
      : seat.isBot
        ? "seat.bot"
        : seat.absent
          ? "seat.absent"
          : here
            ? "seat.here"
            : "seat.away",
  );
  return (
    <li
      class={`plate side-${seat.side} ${toMove ? "to-move" : ""} ${own ? "own" : ""}`}
      aria-current={toMove ? "true" : undefined}
    >
      {known && (
        <span
          class={`dot ${seat.isBot ? "bot" : here && !seat.absent ? "here" : "away"}`}
          role="img"
          aria-label={state}
          title={state}
        />
      )}
      <span class="who">
        <b>{name}</b>
        {seat.absent ? (
          <small class="absent">{state}</small>
        ) : (
          (partner || own) && <small>{texts.t(own ? "seat.you" : "seat.partner")}</small>
        )}
      </span>
      {seat.clockRemaining || seat.reserveRemaining ? (
        <Clock turn={seat.clockRemaining} reserve={seat.reserveRemaining} since={viewAt} running={toMove} />
      ) : null}
      {(side?.potsTaken ?? 0) > 0 && (
        <span class="has-pot" role="img" title={texts.t("seat.pot")} aria-label={texts.t("seat.pot")}>
          ◆
        </span>
      )}
      <span class="count" role="img" aria-label={texts.t("seat.cards", { count: seat.handCount })}>
        <i aria-hidden="true" />
        {seat.handCount}
      </span>
    </li>
  );
}

interface ClockProps {
  turn: Duration | undefined;
  reserve: Duration | undefined;
  since: number;
  running: boolean;
}

function Clock({ turn, reserve, since, running }: ClockProps) {
  const texts = useTexts();
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(performance.now()), 500);
    return () => clearInterval(timer);
  }, [running]);
  const passed = running ? Math.max(0, now - since) : 0;
  const turnLeft = turn ? Math.max(0, durationMs(turn) - passed) : 0;
  const over = turn ? Math.max(0, passed - durationMs(turn)) : 0;
  const reserveLeft = reserve ? Math.max(0, durationMs(reserve) - over) : 0;
  const urgent = running && turnLeft + reserveLeft < 10_000;
  return (
    <span class={`clock ${urgent ? "urgent" : ""}`} role="timer" aria-label={texts.t("clock")}>
      {running && turn && turnLeft > 0 ? minutes(turnLeft) : null}
      {reserve ? <small>{`+${minutes(reserveLeft)}`}</small> : null}
    </span>
  );
}

/** Return a time as minutes and seconds: "1:05". */
export function minutes(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
