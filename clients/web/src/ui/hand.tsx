/** The player's own cards, fanned: to be picked, dragged, and put into another order. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Held } from "../game/held";
import { CardFace } from "./card";
import { useTexts } from "./context";
import type { Drag } from "./drag";

interface Props {
  cards: readonly Held[];
  picked: ReadonlySet<string>;
  /** Cards that lead to a legal move, to be highlighted; undefined while none are. */
  useful: ReadonlySet<number> | undefined;
  /** The card that must be melded, or may not be discarded. */
  marked: number;
  drag: Drag | undefined;
  onPick: (key: string) => void;
  onPress: (event: PointerEvent, key: string) => void;
  onTwice: (key: string) => void;
}

/** Of a card's width, at least so much is to be seen. */
const LEAST_STEP = 0.4;

export function Hand({ cards, picked, useful, marked, drag, onPick, onPress, onTwice }: Props) {
  const texts = useTexts();
  const element = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, card: 80, height: 112 });
  const [focus, setFocus] = useState(0);

  useLayoutEffect(() => {
    const measured = element.current;
    if (!measured) return;
    const measure = () => {
      const card = Number.parseFloat(getComputedStyle(measured).getPropertyValue("--hand-card"));
      setSize({ width: measured.clientWidth, card, height: card * 1.4 });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(measured);
    measure();
    return () => observer.disconnect();
  }, []);

  const room = size.width - size.card - 8;
  const perRow = Math.max(1, Math.floor(room / (size.card * LEAST_STEP)) + 1);
  const rows = Math.max(1, Math.min(3, Math.ceil(cards.length / perRow)));
  const inRow = Math.ceil(cards.length / rows);
  const step = Math.min(size.card * 0.86, room / Math.max(1, inRow - 1));
  const fan = rows === 1 && size.width > 700 ? 1 : 0;
  const rowStep = size.height * 0.5;

  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: inRow, ArrowUp: -inRow, Home: -999, End: 999 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(cards.length - 1, focus + by));
    setFocus(next);
    element.current?.querySelectorAll<HTMLElement>(".held")[next]?.focus();
  };

  return (
    <div
      ref={element}
      class={`hand rows-${rows}`}
      role="toolbar"
      aria-label={texts.t("hand.label", { count: cards.length })}
      onKeyDown={onKeyDown}
    >
      {cards.map(({ key, card }, index) => {
        const row = Math.floor(index / inRow);
        const ofRow = row === rows - 1 ? cards.length - inRow * (rows - 1) : inRow;
        const offset = (index % inRow) - (ofRow - 1) / 2;
        const lift = picked.has(key) ? size.height * 0.16 : 0;
        const turn = fan * offset * Math.min(1.6, 26 / cards.length);
        const sink = fan * offset * offset * Math.min(0.55, 14 / cards.length) * 0.5;
        const x = size.width / 2 - size.card / 2 + offset * step;
        const y = row * rowStep + sink - lift;
        const isPicked = picked.has(key);
        const state = [
          isPicked && "picked",
          useful && !isPicked && (useful.has(card) ? "useful" : "useless"),
          card === marked && "marked",
          drag?.keys.includes(key) && "dragged",
        ];
        return (
          <button
            key={key}
            type="button"
            class={`held ${state.filter(Boolean).join(" ")}`}
            style={{ transform: `translate(${x}px, ${y}px) rotate(${turn}deg)`, zIndex: index + 1 }}
            aria-pressed={isPicked}
            tabIndex={index === Math.min(focus, cards.length - 1) ? 0 : -1}
            data-drop={`hand:${key}`}
            data-card={card}
            onFocus={() => setFocus(index)}
            onClick={() => onPick(key)}
            onDblClick={() => onTwice(key)}
            onPointerDown={(event) => onPress(event, key)}
          >
            <span class="said">{texts.cardName(card)}</span>
            <CardFace card={card} />
          </button>
        );
      })}
    </div>
  );
}
