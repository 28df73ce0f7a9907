import { Card } from "./generated/buraco/v1/card_pb.js";

/** Spades, hearts, clubs, diamonds: black and red by turns. */
export const SUITS: readonly number[] = [0, 1, 3, 2];

const RANKS = "A23456789TJQK";
const SUIT_LETTERS = "shdc";
const SUIT_SYMBOLS = "♠♥♦♣";

/**
 * Return the suit of a card that is not a joker: spades 0, hearts 1, diamonds 2, clubs 3.
 *
 * @example
 * suitOf(Card.KING_OF_HEARTS); // 1
 */
export function suitOf(card: Card): number {
  return Math.floor((card - 1) / 13);
}

/**
 * Return the rank of a card, from 1 for the ace to 13 for the king; 0 for a joker.
 *
 * @example
 * rankOf(Card.KING_OF_HEARTS); // 13
 */
export function rankOf(card: Card): number {
  return card === Card.JOKER ? 0 : ((card - 1) % 13) + 1;
}

/** Return whether a card is a wild: a joker or a 2. */
export function isWild(card: Card): boolean {
  const rank = rankOf(card);
  return rank === 0 || rank === 2;
}

/** Return whether a card is printed in red: hearts and diamonds, no joker. */
export function isRed(card: Card): boolean {
  return card !== Card.JOKER && (suitOf(card) === 1 || suitOf(card) === 2);
}

/**
 * Return a card as people read it, in any language; the joker as "★". `Texts.cards` names it in words.
 *
 * @example
 * cardSymbol(Card.TEN_OF_SPADES); // "10♠"
 */
export function cardSymbol(card: Card): string {
  if (card === Card.JOKER) return "★";
  return (RANKS[rankOf(card) - 1] ?? "").replace("T", "10") + SUIT_SYMBOLS[suitOf(card)];
}

/**
 * Return the text form of a card as the contract has it: rank and suit, or `Jo`.
 *
 * @example
 * formatCard(Card.TEN_OF_SPADES); // "Ts"
 */
export function formatCard(card: Card): string {
  return card === Card.JOKER ? "Jo" : `${RANKS[rankOf(card) - 1]}${SUIT_LETTERS[suitOf(card)]}`;
}

/**
 * Return the card of a text form; throw RangeError if it is none.
 *
 * @example
 * parseCard("Ts") === Card.TEN_OF_SPADES; // true
 */
export function parseCard(text: string): Card {
  if (text === "Jo") return Card.JOKER;
  const [rank, suit] = [RANKS.indexOf(text[0] ?? " "), SUIT_LETTERS.indexOf(text[1] ?? " ")];
  if (text.length !== 2 || rank < 0 || suit < 0) throw new RangeError(`${JSON.stringify(text)} is not a card`);
  return 13 * suit + rank + 1;
}
