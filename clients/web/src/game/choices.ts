/** Where picked cards can go, and what could be laid. */

import { isWild, movesFor } from "@buraco/client";
import type { Card, Move } from "@buraco/client/messages";

/** Where picked cards can go. */
export interface Targets {
  /** Moves that lay them as a new meld: more than one where the place of the wild is to be chosen. */
  lay: Move[];
  /** Moves that lay them off, by the meld's index. */
  layOff: Map<number, Move[]>;
  discard: Move | undefined;
}

/** Return where the picked cards can go now. */
export function targetsOf(picked: readonly Card[], legal: readonly Move[]): Targets {
  const targets: Targets = { lay: [], layOff: new Map(), discard: undefined };
  if (picked.length === 0) return targets;
  for (const move of movesFor(picked, legal)) {
    if (move.move.case === "layMeld") targets.lay.push(move);
    else if (move.move.case === "discard") targets.discard = move;
    else if (move.move.case === "layOff") addTo(targets.layOff, move.move.value.meld, move);
  }
  return targets;
}

/** Return the moves that move a wild, by the meld's index. */
export function wildMoves(legal: readonly Move[]): Map<number, Move[]> {
  const found = new Map<number, Move[]>();
  for (const move of legal) if (move.move.case === "moveWild") addTo(found, move.move.value.meld, move);
  return found;
}

/** Return what could be laid, without wilds and with many cards first: one move for each choice of cards and place. */
export function hints(legal: readonly Move[], most = 8): Move[] {
  const seen = new Set<string>();
  const found: Move[] = [];
  for (const move of legal) {
    const place = move.move.case === "layMeld" ? "new" : move.move.case === "layOff" ? move.move.value.meld : undefined;
    if (place === undefined) continue;
    const key = `${place}:${[...laidCards(move)].sort((a, b) => a - b).join()}`;
    if (!seen.has(key)) found.push(move);
    seen.add(key);
  }
  const wilds = (move: Move) => laidCards(move).filter(isWild).length;
  found.sort((a, b) => wilds(a) - wilds(b) || laidCards(b).length - laidCards(a).length);
  return found.slice(0, most);
}

/** Return the cards that a move lays. */
export function laidCards({ move }: Move): readonly Card[] {
  return move.case === "layMeld" || move.case === "layOff" ? move.value.cards : [];
}

function addTo(moves: Map<number, Move[]>, meld: number, move: Move): void {
  moves.set(meld, [...(moves.get(meld) ?? []), move]);
}
