/** From the cards that a player picks to the moves that they make. */

import type { Meld, Move } from "../net/wire";
import { counted, isWild, rankOf } from "./cards";

export type WildPlace = "LEFT" | "MIDDLE" | "RIGHT";

/** Return the cards that a move plays; none for a draw or a moved wild. */
export function cardsOf(move: Move): readonly number[] {
  switch (move.move.case) {
    case "layMeld":
    case "layOff":
      return move.move.value.cards;
    case "discard":
      return [move.move.value.card];
    default:
      return [];
  }
}

/** Return the legal moves that play exactly the picked cards, in whichever order. */
export function movesFor(picked: readonly number[], legal: readonly Move[]): Move[] {
  const wanted = [...picked].sort(ascending).join();
  return legal.filter((move) => {
    const cards = cardsOf(move);
    return cards.length === picked.length && [...cards].sort(ascending).join() === wanted;
  });
}

/** Return the cards of which one more can be picked on the way to a legal move. */
export function pickable(picked: readonly number[], legal: readonly Move[]): Set<number> {
  const held = counted(picked);
  const found = new Set<number>();
  for (const move of legal) {
    const cards = cardsOf(move);
    if (cards.length <= picked.length) continue;
    const played = counted(cards);
    if ([...held].some(([card, count]) => count > (played.get(card) ?? 0))) continue;
    for (const [card, count] of played) if (count > (held.get(card) ?? 0)) found.add(card);
  }
  return found;
}

/**
 * Return where a legal move puts the wild of its run; undefined if none acts, or in a set. `melds` are those of the
 * player's side.
 */
export function wildPlace(move: Move, melds: readonly Meld[]): WildPlace | undefined {
  const made = move.move;
  if (made.case !== "layMeld" && made.case !== "layOff" && made.case !== "moveWild") return undefined;
  const wild = made.value.wildPosition;
  if (!wild) return undefined;
  const base = made.case === "layMeld" ? undefined : melds[made.value.meld];
  const laid = cardsOf(move);
  const hasWild = base?.wildIndex !== undefined;
  const naturals = new Set<number>();
  base?.cards.forEach((_, index) => {
    if (index !== base.wildIndex) naturals.add(base.lowPosition + index);
  });
  for (const card of laid) if (!isWild(card) && rankOf(card) !== 1) naturals.add(rankOf(card));
  const uncertain = new Set<number>(Number(hasWild) + laid.filter(isWild).length > 1 ? [2] : []);
  if (laid.some((card) => rankOf(card) === 1)) for (const place of [1, 14]) uncertain.add(place);
  const size = (base?.cards.length ?? 0) + laid.length;
  for (const [low, end] of [
    [wild, "LEFT"],
    [wild - size + 1, "RIGHT"],
  ] as const) {
    const places = new Set(Array.from({ length: size }, (_, index) => low + index));
    places.delete(wild);
    const fits = [...naturals].every((place) => places.has(place));
    if (fits && [...places].every((place) => naturals.has(place) || uncertain.has(place))) return end;
  }
  return "MIDDLE";
}

/** Where picked cards can go. */
export interface Targets {
  /** Moves that lay them as a new meld: more than one where the place of the wild is to be chosen. */
  lay: Move[];
  /** Moves that lay them off, by the meld's index. */
  layOff: Map<number, Move[]>;
  discard: Move | undefined;
}

/** Return where the picked cards can go now. */
export function targetsOf(picked: readonly number[], legal: readonly Move[]): Targets {
  const targets: Targets = { lay: [], layOff: new Map(), discard: undefined };
  if (picked.length === 0) return targets;
  for (const move of movesFor(picked, legal)) {
    if (move.move.case === "layMeld") targets.lay.push(move);
    else if (move.move.case === "discard") targets.discard = move;
    else if (move.move.case === "layOff") {
      const meld = move.move.value.meld;
      targets.layOff.set(meld, [...(targets.layOff.get(meld) ?? []), move]);
    }
  }
  return targets;
}

/** Return what could be laid, the most cards first: one move for each choice of cards and place. */
export function hints(legal: readonly Move[], most = 8): Move[] {
  const seen = new Set<string>();
  const found: Move[] = [];
  for (const move of legal) {
    if (move.move.case !== "layMeld" && move.move.case !== "layOff") continue;
    const place = move.move.case === "layOff" ? move.move.value.meld : "new";
    const key = `${place}:${[...cardsOf(move)].sort(ascending).join()}`;
    if (!seen.has(key)) found.push(move);
    seen.add(key);
  }
  const wilds = (move: Move) => cardsOf(move).filter(isWild).length;
  found.sort((a, b) => wilds(a) - wilds(b) || cardsOf(b).length - cardsOf(a).length);
  return found.slice(0, most);
}

function ascending(a: number, b: number): number {
  return a - b;
}
