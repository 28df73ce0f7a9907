import { create } from "@bufbuild/protobuf";
import type { Card } from "./generated/buraco/v1/card_pb.js";
import { type Move, MoveSchema } from "./generated/buraco/v1/move_pb.js";

/** Return the move that draws the top card of the stock. */
export function drawStock(): Move {
  return create(MoveSchema, { move: { case: "drawStock", value: {} } });
}

/** Return the move that takes the whole pile. */
export function takePile(): Move {
  return create(MoveSchema, { move: { case: "takePile", value: {} } });
}

/**
 * Return the move that lays a new meld; `wildPosition` is the place of the wild in a run, 1 to 14.
 *
 * @example
 * layMeld([Card.FIVE_OF_SPADES, Card.SIX_OF_SPADES, Card.JOKER], 7);
 */
export function layMeld(cards: readonly Card[], wildPosition?: number): Move {
  return create(MoveSchema, { move: { case: "layMeld", value: { cards: [...cards], wildPosition } } });
}

/** Return the move that lays cards off on a meld of one's own side, given by its index; `wildPosition` as in `layMeld`. */
export function layOff(meld: number, cards: readonly Card[], wildPosition?: number): Move {
  const value = { meld, cards: [...cards], wildPosition };
  return create(MoveSchema, { move: { case: "layOff", value } });
}

/** Return the move that takes the wild of a meld to the place just beyond the other end. */
export function moveWild(meld: number, wildPosition: number): Move {
  return create(MoveSchema, { move: { case: "moveWild", value: { meld, wildPosition } } });
}

/** Return the move that discards a card, which ends the turn. */
export function discard(card: Card): Move {
  return create(MoveSchema, { move: { case: "discard", value: { card } } });
}
