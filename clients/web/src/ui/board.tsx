/** The table while a match is played: what all see, the player's hand, and what can be done now. */

import { type HandOrder, pickable } from "@buraco/client";
import { type Move, NextAction, Phase, type View } from "@buraco/client/messages";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { hints, laidCards, targetsOf, wildMoves } from "../game/choices";
import { arranged, keysFor, movedBefore } from "../game/held";
import { areMovesCurrent, type TableState as State } from "../game/state";
import type { TableSession } from "../net/session";
import { Actions } from "./actions";
import { CardFace } from "./card";
import { Centre } from "./centre";
import { useShared } from "./context";
import { useDrag } from "./drag";
import { Hand } from "./hand";
import { Happened } from "./happened";
import { Icon } from "./icon";
import { Melds } from "./melds";
import { PlayerPlate } from "./players";
import { WildChoice } from "./wild-choice";

interface Props {
  state: State;
  session: TableSession;
  view: View;
  names: readonly string[];
}

export function Board({ state, session, view, names }: Props) {
  const { texts, preferences, prefer, attempt, notify } = useShared();
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [own, setOwn] = useState<readonly string[]>();
  const [choice, setChoice] = useState<readonly Move[]>();
  const [hinting, setHinting] = useState(false);
  const [sending, setSending] = useState(false);

  const seat = view.seat;
  const ownSide = (seat ?? 0) % 2;
  const moves = state.moves;
  const isCurrent = areMovesCurrent(state);
  const busy = sending || !isCurrent;
  const may = (action: NextAction) => view.nextActions.includes(action);
  const toMove = seat !== undefined && seat === view.seatToMove && view.ending === 0;
  const held = useMemo(() => arranged(view, preferences.order, own), [view, preferences.order, own]);
  const cardOf = useCallback((key: string) => held.find((there) => there.key === key)?.card ?? 0, [held]);

  // What is no longer in the hand is no longer picked.
  useEffect(() => {
    const keys = new Set(held.map(({ key }) => key));
    if ([...picked].some((key) => !keys.has(key))) setPicked(new Set([...picked].filter((key) => keys.has(key))));
  }, [held]);
  useEffect(() => setHinting(false), [view.turnNumber, view.phase]);

  const pickedCards = useMemo(() => [...picked].map(cardOf).filter(Boolean), [picked, cardOf]);
  const drawing = view.phase === Phase.DRAW;
  const targets = useMemo(() => targetsOf(pickedCards, moves), [pickedCards, moves]);
  const drawMove = moves.find((move) => move.move.case === "drawStock");
  const takeMove = moves.find((move) => move.move.case === "takePile");
  const movable = useMemo(() => wildMoves(moves), [moves]);
  const useful = useMemo(() => {
    if (!toMove || drawing || (picked.size === 0 && !hinting)) return undefined;
    const laying = hinting && picked.size === 0 ? moves.filter((move) => move.move.case !== "discard") : moves;
    return pickable(pickedCards, laying);
  }, [toMove, drawing, picked, hinting, pickedCards, moves]);

  const play = async (move: Move) => {
    if (busy) return;
    setSending(true);
    setChoice(undefined);
    // What is picked while the service answers is for the next move.
    setPicked(new Set());
    if (!(await attempt(() => session.play(move, state.revision)))) setPicked(picked);
    setSending(false);
  };
  /** Play the one move that fits, or ask which. */
  const decide = (fitting: readonly Move[]) => {
    if (fitting.length === 1) void play(fitting[0]!);
    else if (fitting.length > 1) setChoice(fitting);
  };
  const explain = (cards: number[], meld?: number) =>
    attempt(async () => {
      if (!toMove) return notify(texts.text("violation.NOT_YOUR_TURN"));
      if (drawing) return notify(texts.text("violation.NOT_DRAWN"));
      const violation = await session.whyNot(cards, meld);
      notify(violation ? texts.violation(violation) : texts.t("board.notNow"));
    });

  const toggle = (key: string) => {
    const next = new Set(picked);
    if (!next.delete(key)) next.add(key);
    setPicked(next);
  };
  const discard = (key: string) => {
    const move = targetsOf([cardOf(key)], moves).discard;
    if (move) void play(move);
  };
  const [drag, press] = useDrag({
    grab: (key) => (picked.has(key) ? [...picked] : [key]),
    drop: (keys, place) => {
      const cards = keys.map(cardOf);
      const [kind, at] = place.split(/:(.*)/);
      const fitting = targetsOf(cards, moves);
      if (kind === "hand" && at && !keys.includes(at)) {
        setOwn(
          movedBefore(
            held.map(({ key }) => key),
            keys,
            at,
          ),
        );
      } else if (kind === "new") {
        if (fitting.lay.length > 0) decide(fitting.lay);
        else void explain(cards);
      } else if (kind === "meld") {
        const onMeld = fitting.layOff.get(Number(at));
        if (onMeld) decide(onMeld);
        else void explain(cards, Number(at));
      } else if (kind === "pile") {
        if (fitting.discard) void play(fitting.discard);
        else if (cards.length === 1) notify(texts.t(toMove ? "board.noDiscard" : "board.wait"));
      }
    },
  });
  const dragTargets = useMemo(
    () => (drag ? targetsOf(drag.keys.map(cardOf), moves) : targets),
    [drag?.keys, cardOf, moves, targets],
  );

  const changeOrder = () => {
    const next = own ? preferences.order : ORDERS[(ORDERS.indexOf(preferences.order) + 1) % ORDERS.length]!;
    setOwn(undefined);
    prefer({ order: next });
  };
  const others = view.seats.length === 4 ? [1, 2, 3] : [1];
  const around = seat === undefined ? view.seats : others.map((step) => view.seats[(seat + step) % view.seats.length]!);
  const ownSeat = seat === undefined ? undefined : view.seats[seat];
  const fresh = freshMeld(state);
  const side = view.sides[ownSide]!;
  const listed = useMemo(() => (hinting ? hints(moves) : []), [hinting, moves]);

  return (
    <div
      data-revision={String(state.viewRevision)}
      class={`board seats-${view.seats.length} ${toMove ? "my-turn" : ""} ${busy ? "waits" : ""} ${drag ? "dragging" : ""}`}
    >
      <div class="felt">
        <ul class="around" aria-label={texts.t("players")}>
          {around.map((there) => (
            <PlayerPlate
              key={there.seat}
              seat={there}
              view={view}
              viewAt={state.viewAt}
              present={state.present}
              partner={seat !== undefined && there.seat % 2 === ownSide}
            />
          ))}
        </ul>
        <Melds
          melds={view.sides[1 - ownSide]?.melds ?? []}
          label={seat === undefined ? names.filter((_, at) => at % 2 === 1).join(" & ") : texts.t("melds.theirs")}
          own={false}
          fresh={fresh?.side === 1 - ownSide ? fresh.index : undefined}
        />
        <Centre
          view={view}
          canDraw={toMove && drawing && Boolean(drawMove) && !busy}
          canTake={toMove && drawing && Boolean(takeMove) && !busy}
          canDiscard={Boolean(dragTargets.discard)}
          over={drag?.over}
          onDraw={() => drawMove && play(drawMove)}
          onTake={() => takeMove && play(takeMove)}
          onDiscard={() => targets.discard && play(targets.discard)}
        />
        <Melds
          melds={side.melds}
          label={seat === undefined ? names.filter((_, at) => at % 2 === 0).join(" & ") : texts.t("melds.ours")}
          own={seat !== undefined}
          places={new Set(dragTargets.layOff.keys())}
          canLay={dragTargets.lay.length > 0}
          movable={new Set(movable.keys())}
          over={
            drag?.over?.startsWith("meld:") && !dragTargets.layOff.has(Number(drag.over.slice(5))) ? "new" : drag?.over
          }
          fresh={fresh?.side === ownSide ? fresh.index : undefined}
          onLayOff={(meld) => decide(targets.layOff.get(meld) ?? [])}
          onLay={() => decide(targets.lay)}
          onMoveWild={(meld) => decide(movable.get(meld) ?? [])}
        />
      </div>
      <div class="tray">
        <div class="news">
          <p class={`now ${toMove ? "mine" : ""} ${hinting ? "said" : ""}`}>{nowText()}</p>
          {hinting && (
            <ul class="hints" aria-label={texts.t("hint")}>
              {listed.map((move, index) => (
                <li key={`${index} ${texts.move(move)}`}>
                  <button type="button" onClick={() => setPicked(keysFor(laidCards(move), held))}>
                    {texts.move(move)}
                  </button>
                </li>
              ))}
              {listed.length === 0 && isCurrent && <li class="hint">{texts.t("hint.none")}</li>}
            </ul>
          )}
        </div>
        {ownSeat && (
          <>
            <div class="tools">
              <ul class="me">
                <PlayerPlate seat={ownSeat} view={view} viewAt={state.viewAt} present={state.present} own />
              </ul>
              <button
                type="button"
                class="order"
                onClick={changeOrder}
                title={texts.t("order")}
                aria-label={`${texts.t("order")}: ${texts.t(own ? "order.own" : `order.${preferences.order}`)}`}
              >
                <Icon name="sort" />
                <span>{texts.t(own ? "order.own" : `order.${preferences.order}`)}</span>
              </button>
              <button
                type="button"
                disabled={!may(NextAction.UNDO) || busy}
                onClick={() => attempt(() => session.undo(state.revision))}
              >
                {texts.t("undo")}
              </button>
              <button
                type="button"
                class="hinter"
                disabled={!toMove || drawing}
                aria-pressed={hinting}
                onClick={() => setHinting(!hinting)}
              >
                {texts.t("hint")}
              </button>
              <span class="grow" />
              <span class="actions">
                {toMove && (
                  <Actions
                    drawing={drawing}
                    draw={drawMove}
                    take={takeMove}
                    targets={targets}
                    picked={picked.size}
                    busy={busy}
                    onPlay={play}
                    onDecide={decide}
                    onClear={() => setPicked(new Set())}
                    onExplain={() => explain(pickedCards)}
                  />
                )}
              </span>
            </div>
            <Hand
              cards={held}
              picked={picked}
              useful={useful}
              marked={view.mustMeld || view.lockedCard}
              drag={drag}
              onPick={toggle}
              onPress={press}
              onTwice={discard}
            />
          </>
        )}
      </div>
      {drag && (
        <div class="ghost" aria-hidden="true" style={{ transform: `translate(${drag.x}px, ${drag.y}px)` }}>
          {drag.keys.map((key) => (
            <span key={key}>
              <CardFace card={cardOf(key)} />
            </span>
          ))}
        </div>
      )}
      {choice && <WildChoice moves={choice} melds={side.melds} onChoose={play} onClose={() => setChoice(undefined)} />}
      <Happened state={state} names={names} view={view} />
    </div>
  );

  function nowText(): string {
    if (view.ending !== 0) return texts.text("phase.OVER");
    const name = names[view.seatToMove] ?? "";
    if (!toMove) return `${name} ${texts.text(`phase.${Phase[view.phase]}`)}`;
    if (view.mustMeld) return texts.t("turn.mustMeld", { card: texts.cards([view.mustMeld]) });
    if (drawing) return texts.t(may(NextAction.TAKE_PILE) ? "turn.drawOrTake" : "turn.draw");
    if (side.openingRequired > 0) return texts.t("turn.opening", { points: side.openingRequired });
    return texts.t("turn.meld");
  }
}

/** The orders that the button goes through. */
const ORDERS: readonly HandOrder[] = ["suit", "rank", "melds"];

/** The meld that changed last, to be shown for a moment. */
function freshMeld(state: State): { side: number; index: number } | undefined {
  const event = state.last?.event;
  if (event?.case !== "melded" && event?.case !== "laidOff" && event?.case !== "wildMoved") return undefined;
  return { side: event.value.seat % 2, index: event.value.index };
}
