import { create } from "@bufbuild/protobuf";
import { isWild, rankOf } from "./cards.js";
import { count, isIncluded } from "./counter.js";
import type { Card } from "./generated/buraco/v1/card_pb.js";
import { type Meld, MeldSchema } from "./generated/buraco/v1/deal_pb.js";
import type { Move } from "./generated/buraco/v1/move_pb.js";

/** Where the wild of a run is: at the low end, in between or at the high end. */
export type WildPlace = "LEFT" | "MIDDLE" | "RIGHT";

/**
 * Return the legal moves that play exactly the picked cards, in whichever order: melds, lay-offs, each with the index of
 * its meld, and the discard. Without picked cards these are the draws and the moved wilds.
 *
 * @example
 * movesFor([Card.SEVEN_OF_SPADES], turn.moves).map((move) => move.move.case); // ["layOff", "discard"]
 */
export function movesFor(picked: Iterable<Card>, legalMoves: Iterable<Move>): Move[] {
  const wanted = count(picked);
  return [...legalMoves].filter((move) => {
    const played = count(cardsOf(move));
    return isIncluded(played, wanted) && isIncluded(wanted, played);
  });
}

/**
 * Return the cards of which one more can be picked on the way to a legal move, to be highlighted in the hand.
 *
 * @example
 * const highlighted = pickable(picked, turn.moves);
 * highlighted.has(Card.SIX_OF_SPADES);
 */
export function pickable(picked: Iterable<Card>, legalMoves: Iterable<Move>): Set<Card> {
  const held = count(picked);
  const found = new Set<Card>();
  for (const move of legalMoves) {
    const played = count(cardsOf(move));
    if (!isIncluded(held, played)) continue;
    for (const [card, copies] of played) if (copies > (held.get(card) ?? 0)) found.add(card);
  }
  return found;
}

/**
 * Return where a legal move puts the wild of its run; undefined if no wild acts, or in a set.
 *
 * `melds` are those of the player's side, for lay-offs and moved wilds. Moves that play the same cards on the same meld
 * differ in this place; only beside an ace, which may be low or high, a wild can be in between at two places.
 *
 * @example
 * wildPlace(layMeld([Card.FIVE_OF_SPADES, Card.SIX_OF_SPADES, Card.JOKER], 4)); // "LEFT"
 */
export function wildPlace(move: Move, melds: readonly Meld[] = []): WildPlace | undefined {
  const { case: kind, value } = move.move;
  if (kind !== "layMeld" && kind !== "layOff" && kind !== "moveWild") return undefined;
  const wild = value.wildPosition;
  if (!wild) return undefined;
  const base = kind === "layMeld" ? create(MeldSchema) : melds[value.meld];
  if (base === undefined) throw new RangeError(`there is no meld ${kind === "layMeld" ? 0 : value.meld}`);
  const laid = cardsOf(move);
  const naturals = new Set<number>();
  base.cards.forEach((_, index) => {
    if (index !== base.wildIndex) naturals.add(base.lowPosition + index);
  });
  for (const card of laid) if (!isWild(card) && rankOf(card) !== 1) naturals.add(rankOf(card));
  // Of two wilds one is a 2 that does not act. An ace may be low or high: the rules do not put it next to the wild.
  const uncertain = new Set<number>();
  if ((base.wildIndex === undefined ? 0 : 1) + laid.filter(isWild).length > 1) uncertain.add(2);
  if (laid.some((card) => rankOf(card) === 1)) uncertain.add(1).add(14);
  const size = base.cards.length + laid.length;
  const fits = (low: number) => {
    const places = new Set(Array.from({ length: size }, (_, index) => low + index));
    places.delete(wild);
    return (
      [...naturals].every((place) => places.has(place)) &&
      [...places].every((place) => naturals.has(place) || uncertain.has(place))
    );
  };
  if (fits(wild)) return "LEFT";
  return fits(wild - size + 1) ? "RIGHT" : "MIDDLE";
}

/** Return the cards of the hand that a move plays. */
export function cardsOf(move: Move): readonly Card[] {
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
