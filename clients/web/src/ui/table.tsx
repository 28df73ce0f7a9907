/** One table: the session and its state, and what is shown of it. */

import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  ChatMode,
  MatchEnd,
  OfferKind,
  SpectatorPolicy,
  type Table,
  TableState,
  type View,
} from "@buraco/client/messages";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { EMPTY, reduce } from "../game/state";
import { keptPlayer } from "../net/keep";
import { TableSession } from "../net/session";
import { Board } from "./board";
import { useShared } from "./context";
import { Deals } from "./deals";
import { Dialog } from "./dialog";
import { Icon } from "./icon";
import { tableLink } from "./route";
import { ScoreWindow, sideName } from "./score";
import { Chat, Log } from "./talk";
import { Waiting } from "./waiting";

type Open = "log" | "deals" | "menu" | undefined;

export function TablePage({ id, code, onSettings }: { id: string; code: string; onSettings: () => void }) {
  const { texts, attempt } = useShared();
  const [state, dispatch] = useReducer(reduce, EMPTY);
  const [session, setSession] = useState<TableSession>();
  const [open, setOpen] = useState<Open>();
  const [seen, setSeen] = useState(0);
  const [tab, setTab] = useState<"log" | "chat">("log");

  useEffect(() => {
    dispatch({ type: "reset" });
    setOpen(undefined);
    const opened = new TableSession(id, dispatch);
    setSession(opened);
    return () => opened.close();
  }, [id]);

  const { table, view, score } = state;
  const names = useMemo(() => namesOf(table, view, (seat) => texts.seat(seat)), [table, view, texts]);
  const seat = view?.seat ?? session?.seat;
  const chatMode = table?.options?.chat || ChatMode.ALL;
  const chatShown = open === "log" || tab === "chat";
  useEffect(() => {
    if (chatShown) setSeen(state.chat.length);
  }, [chatShown, state.chat.length]);
  const unread = chatShown ? 0 : state.chat.length - seen;
  useEffect(() => {
    document.title =
      view && seat === view.seatToMove && table?.state === TableState.PLAYING
        ? `● ${texts.t("turn.yours")} – Buraco`
        : "Buraco";
  }, [view, seat, table, texts]);

  if (!session) return null;
  if (state.connection === "unknown" && seat === undefined && table?.state !== TableState.WAITING) {
    return (
      <main class="notice">
        <p>{texts.t("table.unknown")}</p>
        <a class="button" href="#/">
          {texts.t("lobby")}
        </a>
      </main>
    );
  }

  const say: Parameters<typeof Chat>[0]["onSay"] = (content, partner) =>
    void attempt(() => session.say(content, partner));
  const chat = <Chat messages={state.chat} seat={seat} mode={chatMode} hasPartner={names.length === 4} onSay={say} />;
  const log = <Log lines={state.log} names={names} />;
  const hasChat = chatMode !== ChatMode.OFF;
  const remaining = view?.confirmationRemaining
    ? Math.max(0, durationMs(view.confirmationRemaining) - (performance.now() - state.viewAt))
    : undefined;
  return (
    <div class={`table-page ${state.connection}`}>
      <header class="bar">
        <a class="quiet icon button" href="#/" aria-label={texts.t("lobby")}>
          <Icon name="back" />
        </a>
        <h1 class="rule-name">{table?.ruleSet?.displayName ?? "Buraco"}</h1>
        <Scores view={view} table={table} seat={seat} names={names} />
        <span class="grow" />
        {(state.connection === "lost" || state.connection === "connecting") && (
          <span class="lost" role="status">
            {texts.t(state.connection === "lost" ? "connection.lost" : "connection.connecting")}
          </span>
        )}
        <button
          type="button"
          class="quiet icon narrow"
          aria-label={`${texts.t("log")}, ${texts.t("chat")}`}
          onClick={() => setOpen("log")}
        >
          <Icon name="talk" />
          {unread > 0 && <b class="badge">{unread}</b>}
        </button>
        <button type="button" class="quiet icon" aria-label={texts.t("menu")} onClick={() => setOpen("menu")}>
          <Icon name="menu" />
        </button>
      </header>
      <main class="room">
        {table?.state === TableState.WAITING ? (
          <Waiting table={table} session={session} code={code} />
        ) : view ? (
          <Board state={state} session={session} view={view} names={names} />
        ) : (
          <p class="notice">{texts.t("loading")}</p>
        )}
        <aside class="side" aria-label={texts.t("side.label")}>
          {table && <Facts table={table} view={view} />}
          <div class="tabs" role="tablist">
            {(["log", "chat"] as const).map((name) =>
              name === "chat" && !hasChat ? null : (
                <button
                  key={name}
                  type="button"
                  role="tab"
                  id={`tab-${name}`}
                  aria-selected={tab === name}
                  aria-controls="tab-panel"
                  onClick={() => setTab(name)}
                >
                  {texts.t(name)}
                  {name === "chat" && unread > 0 && <b class="badge">{unread}</b>}
                </button>
              ),
            )}
          </div>
          <div class="panel" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`}>
            {tab === "chat" ? chat : log}
          </div>
        </aside>
      </main>
      {table?.state === TableState.FINISHED && !score && (
        <Result table={table} names={names} seat={seat} session={session} onDeals={() => setOpen("deals")} />
      )}
      {score && (
        <ScoreWindow
          {...score}
          names={names}
          table={table}
          seat={seat}
          remaining={remaining}
          onConfirm={() => attempt(() => session.confirm(score.dealNumber))}
          onClose={() => dispatch({ type: "score-closed" })}
        />
      )}
      {open === "deals" && (
        <Deals
          session={session}
          names={names}
          known={state.known}
          isOver={table?.state === TableState.FINISHED}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === "log" && (
        <Dialog title={texts.t("log")} kind="sheet" onClose={() => setOpen(undefined)}>
          {table && <Facts table={table} view={view} />}
          {log}
          {hasChat && (
            <>
              <h3>{texts.t("chat")}</h3>
              {chat}
            </>
          )}
        </Dialog>
      )}
      {open === "menu" && <Menu table={table} seat={seat} session={session} onOpen={setOpen} onSettings={onSettings} />}
    </div>
  );
}

/** Return the names at the seats; a seat without one by its number. */
function namesOf(table: Table | undefined, view: View | undefined, numbered: (seat: number) => string): string[] {
  const seats = view?.seats ?? table?.seats ?? [];
  return seats.map((seat) => seat.playerName || table?.seats[seat.seat]?.playerName || numbered(seat.seat));
}

function Scores({
  view,
  table,
  seat,
  names,
}: {
  view: View | undefined;
  table: Table | undefined;
  seat: number | undefined;
  names: readonly string[];
}) {
  const { texts } = useShared();
  if (!view) return null;
  const own = (seat ?? 0) % 2;
  const label = (side: number) =>
    seat === undefined ? sideName(names, side) : texts.t(side === own ? "side.we" : "side.they");
  return (
    <dl class="score-line">
      {[own, 1 - own].map((side) => (
        <div key={side} class={`side-${side}`}>
          <dt>{label(side)}</dt>
          <dd>
            {table?.result?.scores[side] ?? view.sides[side]?.matchScore ?? 0}
            {table?.state === TableState.PLAYING && <small> {running(view.sides[side]?.tablePoints ?? 0)}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Return what the running deal counts so far, with its sign. */
function running(points: number): string {
  return points < 0 ? `−${-points}` : `+${points}`;
}

function Facts({ table, view }: { table: Table; view: View | undefined }) {
  const { texts } = useShared();
  const facts: [string, string][] = [
    [texts.t("create.target"), table.targetScore ? String(table.targetScore) : texts.t("oneDeal")],
  ];
  if (view?.match) facts.push([texts.t("facts.deal"), String(view.match.dealNumber)]);
  if (table.stake > 0n) facts.push([texts.t("create.stake"), String(table.stake)]);
  if (view?.credit !== undefined) facts.push([texts.t("facts.credit"), String(view.credit)]);
  if (table.options?.spectators === SpectatorPolicy.NONE)
    facts.push([texts.t("create.spectators"), texts.t("spectators.none")]);
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ResultProps {
  table: Table;
  names: readonly string[];
  seat: number | undefined;
  session: TableSession;
  onDeals: () => void;
}

function Result({ table, names, seat, session, onDeals }: ResultProps) {
  const { texts, attempt } = useShared();
  const [hidden, setHidden] = useState(false);
  const { result } = table;
  if (!result || hidden) return null;
  const winner = result.winner;
  const title =
    result.how === MatchEnd.ABORTED
      ? texts.text("event.match_ended.aborted")
      : winner === undefined
        ? texts.t("result.draw")
        : seat === undefined
          ? texts.t("result.winner", { name: sideName(names, winner) })
          : texts.t(seat % 2 === winner ? "result.won" : "result.lost");
  const payout = seat === undefined ? undefined : result.payouts[seat];
  return (
    <Dialog title={title} kind="result" onClose={() => setHidden(true)}>
      <dl class="final">
        {result.scores.map((points, side) => (
          <div key={sideName(names, side)} class={side === winner ? "winner" : ""}>
            <dt>{sideName(names, side)}</dt>
            <dd>{points}</dd>
          </div>
        ))}
      </dl>
      {result.how !== MatchEnd.UNSPECIFIED && <p>{texts.text(`match_end.${MatchEnd[result.how]}`)}</p>}
      {payout !== undefined && <p>{texts.t("result.payout", { amount: `${payout > 0n ? "+" : ""}${payout}` })}</p>}
      <footer>
        <button type="button" onClick={onDeals}>
          {texts.t("deals.title")}
        </button>
        {seat !== undefined && (
          <button
            type="button"
            class="main"
            onClick={() => attempt(async () => (location.hash = tableLink(await session.rematch())))}
          >
            {texts.t("result.rematch")}
          </button>
        )}
        <a class="button" href="#/">
          {texts.t("lobby")}
        </a>
      </footer>
    </Dialog>
  );
}

interface MenuProps {
  table: Table | undefined;
  seat: number | undefined;
  session: TableSession;
  onOpen: (open: Open) => void;
  onSettings: () => void;
}

function Menu({ table, seat, session, onOpen, onSettings }: MenuProps) {
  const { texts, attempt } = useShared();
  const [sure, setSure] = useState<string>();
  const close = () => onOpen(undefined);
  const playing = table?.state === TableState.PLAYING && seat !== undefined;
  const offered = (kind: OfferKind) =>
    table?.offers.some((offer) => offer.seat === seat && offer.kind === kind) ?? false;
  const act = (call: () => Promise<unknown>) => {
    close();
    void attempt(call);
  };
  /** A button that asks once more before it does what cannot be undone. */
  const careful = (key: Parameters<typeof texts.t>[0], call: () => Promise<unknown>) => (
    <button
      type="button"
      class={sure === key ? "danger" : ""}
      onClick={() => (sure === key ? act(call) : setSure(key))}
    >
      {sure === key ? texts.t("menu.sure", { action: texts.t(key) }) : texts.t(key)}
    </button>
  );
  return (
    <Dialog title={texts.t("menu")} kind="menu" onClose={close}>
      <div class="list">
        <button type="button" onClick={() => onOpen("deals")}>
          {texts.t("deals.title")}
        </button>
        <button
          type="button"
          onClick={() => {
            close();
            onSettings();
          }}
        >
          {texts.t("settings")}
        </button>
        {playing && (
          <>
            <button type="button" onClick={() => act(() => session.offerDraw(offered(OfferKind.DRAW)))}>
              {texts.t(offered(OfferKind.DRAW) ? "menu.withdrawDraw" : "menu.draw")}
            </button>
            {offered(OfferKind.RESIGNATION) ? (
              <button type="button" onClick={() => act(() => session.resign(true))}>
                {texts.t("menu.withdrawResign")}
              </button>
            ) : (
              careful("menu.resign", () => session.resign())
            )}
            {careful("menu.abort", () => session.abort())}
          </>
        )}
        {seat !== undefined &&
          table?.state !== TableState.FINISHED &&
          careful("leave", async () => {
            await session.leave();
            location.hash = "#/";
          })}
        {seat === undefined && table?.seats.some((free) => !free.playerName) && table.state === TableState.PLAYING && (
          <button type="button" onClick={() => act(() => session.join(keptPlayer()?.name ?? ""))}>
            {texts.t("menu.takeOver")}
          </button>
        )}
      </div>
    </Dialog>
  );
}
