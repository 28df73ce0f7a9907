/** What happened at the table, for people who listen. */

import { Phase, type View } from "@buraco/client/messages";
import { useEffect, useRef, useState } from "preact/hooks";
import type { TableState } from "../game/state";
import { useShared } from "./context";

export function Happened({ state, names, view }: { state: TableState; names: readonly string[]; view: View }) {
  const { texts } = useShared();
  const from = useRef(state.events);
  const news = state.log.filter(({ key }) => key >= from.current).map(({ event }) => texts.spoken.event(event, names));
  useEffect(() => {
    from.current = state.events;
  }, [state.events]);
  const own =
    view.seat !== undefined && view.seat === view.seatToMove && view.phase === Phase.DRAW ? texts.t("turn.yours") : "";
  const [spoken, setSpoken] = useState("");
  const text = [...news, own].filter(Boolean).join(". ");
  useEffect(() => {
    if (news.length > 0) setSpoken(text);
  }, [state.events]);
  return (
    <p class="said" aria-live="polite">
      {spoken}
    </p>
  );
}
