/** Cards by their number in the contract: 13 * suit + rank, the joker 53. */

export const JOKER = 53;

/** Suits by number. */
export const SUITS = ["spades", "hearts", "diamonds", "clubs"] as const;
export type Suit = (typeof SUITS)[number];

const RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"];

/** Return the rank of a card, ace 1 to king 13; 0 for the joker. */
export function rankOf(card: number): number {
  return card === JOKER ? 0 : ((card - 1) % 13) + 1;
}

/** Return the number of a card's suit, 0 to 3; 4 for the joker. */
export function suitOf(card: number): number {
  return card === JOKER ? 4 : Math.floor((card - 1) / 13);
}

/** Whether a card can act as a wild: a 2 or the joker. */
export function isWild(card: number): boolean {
  return card === JOKER || rankOf(card) === 2;
}

/** Return what is printed in the corner of a card: "10", "K"; empty for the joker. */
export function rankText(card: number): string {
  return RANKS[rankOf(card) - 1] ?? "";
}

/** Return rank and suit as in the log: "10♠"; empty for the joker. */
export function faceText(card: number): string {
  return card === JOKER ? "" : `${rankText(card)}${"♠♥♦♣"[suitOf(card)]}`;
}

/** Return how often each card is among the given ones. */
export function counted(cards: Iterable<number>): Map<number, number> {
  const counts = new Map<number, number>();
  for (const card of cards) counts.set(card, (counts.get(card) ?? 0) + 1);
  return counts;
}
