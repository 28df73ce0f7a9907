/** Cards, drawn as SVG: two sizes of face, and a back. */

import { rankOf, suitOf } from "@buraco/client";
import { Card } from "@buraco/client/messages";
import type { ComponentChildren } from "preact";
import { memo } from "preact/compat";
import { rankText, SUIT_NAMES } from "../game/cards";

/** Centres of the pips of a number card, in a box of 100 by 140. */
const LEFT = 34;
const MIDDLE = 50;
const RIGHT = 66;
const PIPS: Record<number, readonly (readonly [number, number])[]> = {
  2: [
    [MIDDLE, 32],
    [MIDDLE, 108],
  ],
  3: [
    [MIDDLE, 32],
    [MIDDLE, 70],
    [MIDDLE, 108],
  ],
  4: [
    [LEFT, 32],
    [RIGHT, 32],
    [LEFT, 108],
    [RIGHT, 108],
  ],
  5: [
    [LEFT, 32],
    [RIGHT, 32],
    [MIDDLE, 70],
    [LEFT, 108],
    [RIGHT, 108],
  ],
  6: [
    [LEFT, 32],
    [RIGHT, 32],
    [LEFT, 70],
    [RIGHT, 70],
    [LEFT, 108],
    [RIGHT, 108],
  ],
  7: [
    [LEFT, 32],
    [RIGHT, 32],
    [MIDDLE, 51],
    [LEFT, 70],
    [RIGHT, 70],
    [LEFT, 108],
    [RIGHT, 108],
  ],
  8: [
    [LEFT, 32],
    [RIGHT, 32],
    [MIDDLE, 51],
    [LEFT, 70],
    [RIGHT, 70],
    [MIDDLE, 89],
    [LEFT, 108],
    [RIGHT, 108],
  ],
  9: [
    [LEFT, 30],
    [RIGHT, 30],
    [LEFT, 56],
    [RIGHT, 56],
    [MIDDLE, 70],
    [LEFT, 84],
    [RIGHT, 84],
    [LEFT, 110],
    [RIGHT, 110],
  ],
  10: [
    [LEFT, 30],
    [RIGHT, 30],
    [MIDDLE, 43],
    [LEFT, 56],
    [RIGHT, 56],
    [LEFT, 84],
    [RIGHT, 84],
    [MIDDLE, 97],
    [LEFT, 110],
    [RIGHT, 110],
  ],
};

/** Head-dresses of the court cards, in a box of 40 by 22. */
const COURT: Record<number, string> = {
  11: "M4 20C4 9 12 5 21 5c9 0 13 5 15 9 2-3 3-9 0-13 7 4 6 14 0 19z",
  12: "M3 20 1 6l9 6 4-10 6 9 6-9 4 10 9-6-2 14z",
  13: "M4 20V8l8 5 8-12 8 12 8-5v12zM18 0h4v3h-4z",
};

/** The shapes that all cards share; to be placed once in the page. */
export function CardShapes() {
  return (
    <svg class="shapes" aria-hidden="true" width="0" height="0">
      <symbol id="suit-0" viewBox="0 0 100 100">
        <path d="M50 4C60 22 94 40 94 62c0 14-10 22-21 22-8 0-15-4-19-10 1 10 4 17 12 23H34c8-6 11-13 12-23-4 6-11 10-19 10C16 84 6 76 6 62 6 40 40 22 50 4z" />
      </symbol>
      <symbol id="suit-1" viewBox="0 0 100 100">
        <path d="M50 94C20 68 5 50 5 31 5 15 17 6 29 6c9 0 17 5 21 14C54 11 62 6 71 6c12 0 24 9 24 25 0 19-15 37-45 63z" />
      </symbol>
      <symbol id="suit-2" viewBox="0 0 100 100">
        <path d="M50 3c8 17 22 35 38 47-16 12-30 30-38 47C42 80 28 62 12 50 28 38 42 20 50 3z" />
      </symbol>
      <symbol id="suit-3" viewBox="0 0 100 100">
        <path d="M50 4a22 22 0 0 1 18 35 22 22 0 1 1-14 34c1 10 4 18 12 24H34c8-6 11-14 12-24a22 22 0 1 1-14-34A22 22 0 0 1 50 4z" />
      </symbol>
      <symbol id="cap" viewBox="0 0 60 60">
        <path class="cap-a" d="M30 44C22 40 18 30 6 30 2 22 10 12 20 16c6 3 9 10 10 18z" />
        <path class="cap-b" d="M30 44c8-4 12-14 24-14 4-8-4-18-14-14-6 3-9 10-10 18z" />
        <path class="cap-c" d="M18 42C22 26 22 14 30 6c8 8 8 20 12 36z" />
        <path class="cap-d" d="M14 42h32v7H14z" />
        <g class="cap-d">
          <circle cx="5" cy="33" r="4" />
          <circle cx="55" cy="33" r="4" />
          <circle cx="30" cy="5" r="4" />
        </g>
      </symbol>
    </svg>
  );
}

/** The face of a card. `small` has a large corner and no pips, for cards that overlap. */
export const CardFace = memo(function CardFace({ card, small = false }: { card: number; small?: boolean }) {
  const kind = card === Card.JOKER ? "joker" : SUIT_NAMES[suitOf(card)];
  return (
    <svg class={`face ${kind} ${small ? "small" : "large"}`} viewBox="0 0 100 140" aria-hidden="true">
      <rect class="paper" x="1" y="1" width="98" height="138" rx="9" />
      {card === Card.JOKER ? <Joker small={small} /> : small ? <SmallFace card={card} /> : <LargeFace card={card} />}
    </svg>
  );
});

function SmallFace({ card }: { card: number }) {
  return (
    <g>
      <text
        class="rank"
        x="23"
        y="42"
        textLength={rankOf(card) === 10 ? 37 : undefined}
        lengthAdjust="spacingAndGlyphs"
      >
        {rankText(card)}
      </text>
      <Pip suit={suitOf(card)} x={24} y={66} size={32} />
      <Pip suit={suitOf(card)} x={62} y={102} size={58} />
    </g>
  );
}

function LargeFace({ card }: { card: number }) {
  const rank = rankOf(card);
  const suit = suitOf(card);
  const corner = (
    <g>
      <text class="rank" x={rank === 10 ? 14.5 : 13} y="25">
        {rankText(card)}
      </text>
      <Pip suit={suit} x={13} y={37} size={16} />
    </g>
  );
  return (
    <g>
      {corner}
      <g transform="rotate(180 50 70)">{corner}</g>
      {rank === 1 ? (
        <Pip suit={suit} x={50} y={70} size={52} />
      ) : rank > 10 ? (
        <Court rank={rank} suit={suit} />
      ) : (
        PIPS[rank]?.map(([x, y]) => <Pip key={`${x} ${y}`} suit={suit} x={x} y={y} size={19} turned={y > 70} />)
      )}
    </g>
  );
}

function Court({ rank, suit }: { rank: number; suit: number }) {
  const half = (
    <g>
      <path class="crown" d={COURT[rank]} transform="translate(30 27)" />
      <circle class="head" cx="50" cy="55" r="7.5" />
      <path class="robe" d="M27 70C28 61 39 62.5 50 62.5S72 61 73 70z" />
      <Pip suit={suit} x={34} y={57} size={11} />
    </g>
  );
  return (
    <g>
      <rect class="frame" x="25" y="17" width="50" height="106" rx="4" />
      {half}
      <g transform="rotate(180 50 70)">{half}</g>
      <path class="sash" d="M25 70h50" />
    </g>
  );
}

function Joker({ small }: { small: boolean }) {
  return small ? (
    <g>
      <text class="star" x="24" y="44">
        ★
      </text>
      <use href="#cap" x="18" y="66" width="66" height="66" />
    </g>
  ) : (
    <g>
      <use href="#cap" x="20" y="36" width="60" height="60" />
      <text class="word" x="50" y="116">
        JOKER
      </text>
      <text class="star" x="14" y="27">
        ★
      </text>
    </g>
  );
}

function Pip({ suit, x, y, size, turned }: { suit: number; x: number; y: number; size: number; turned?: boolean }) {
  const place = { x: x - size / 2, y: y - size / 2, width: size, height: size };
  return <use class="pip" href={`#suit-${suit}`} {...place} transform={turned ? `rotate(180 ${x} ${y})` : undefined} />;
}

/** The back of a card, with what is written on it. */
export function CardBack({ children }: { children?: ComponentChildren }) {
  return (
    <span class="back">
      <svg viewBox="0 0 100 140" aria-hidden="true">
        <rect class="paper" x="1" y="1" width="98" height="138" rx="9" />
        <rect class="weave" x="8" y="8" width="84" height="124" rx="5" />
        <path class="lattice" d="M8 70 50 8l42 62-42 62zM8 8l84 124M92 8 8 132M29 39l42 62M71 39l-42 62" />
      </svg>
      {children}
    </span>
  );
}
