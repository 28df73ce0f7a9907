/** The cards of a hand in the order in which a player wants to see them. */

import { counted, isWild, JOKER, rankOf, suitOf } from "./cards";

export const ORDERS = ["suit", "rank", "melds"] as const;
export type Order = (typeof ORDERS)[number];

/** By suit with alternating colours: spades, hearts, clubs, diamonds. */
const SUIT_ORDER = [0, 1, 3, 2];
const ACE_HIGH = 14;

/** Return the cards of a hand in an order for people, wilds last. */
export function sortedHand(cards: readonly number[], order: Order, sets = true): number[] {
  const naturals = cards.filter((card) => !isWild(card));
  const twos = cards.filter((card) => isWild(card) && card !== JOKER);
  const jokers = cards.filter((card) => card === JOKER);
  const ordered =
    order === "suit" ? bySuit(naturals) : order === "rank" ? byRank(naturals) : byMelds(naturals, sets);
  return [...ordered, ...byRank(twos), ...jokers];
}

function height(card: number): number {
  return rankOf(card) === 1 ? ACE_HIGH : rankOf(card);
}

function place(card: number): number {
  return SUIT_ORDER.indexOf(suitOf(card));
}

function bySuit(cards: readonly number[]): number[] {
  const held = new Set(cards.map(place));
  const missing = [0, 1, 2, 3].filter((suit) => !held.has(suit));
  const first = missing.length === 1 ? missing[0]! + 1 : 0;
  const turned = (card: number) => (place(card) - first + 4) % 4;
  return [...cards].sort((a, b) => turned(a) - turned(b) || height(a) - height(b));
}

function byRank(cards: readonly number[]): number[] {
  return [...cards].sort((a, b) => height(a) - height(b) || place(a) - place(b));
}

function byMelds(cards: readonly number[], sets: boolean): number[] {
  const left = counted(cards);
  const ordered: number[] = [];
  for (const [gaps, size] of [
    [0, 3],
    [1, 2],
  ] as const) {
    for (;;) {
      const longest = groups(left, gaps, sets).reduce(
        (best, group) => (group.length > best.length ? group : best),
        [],
      );
      if (longest.length < size) break;
      ordered.push(...longest);
      for (const card of longest) left.set(card, left.get(card)! - 1);
    }
  }
  const rest = [...left].flatMap(([card, count]) => Array<number>(count).fill(card));
  return [...ordered, ...bySuit(rest)];
}

function groups(left: Map<number, number>, gaps: number, sets: boolean): number[][] {
  const found: number[][] = [];
  for (const suit of SUIT_ORDER)
    for (let low = 1; low <= ACE_HIGH; low++) found.push(run(left, suit, low, gaps));
  if (sets) {
    for (let rank = 3; rank <= ACE_HIGH; rank++) {
      found.push(
        SUIT_ORDER.flatMap((suit) => {
          const card = cardAt(suit, rank);
          return Array<number>(left.get(card) ?? 0).fill(card);
        }),
      );
    }
  }
  return found;
}

function run(left: Map<number, number>, suit: number, low: number, allowed: number): number[] {
  const cards: number[] = [];
  let gaps = allowed;
  for (let at = low; at <= Math.min(low + 12, ACE_HIGH); at++) {
    const card = cardAt(suit, at);
    if ((left.get(card) ?? 0) > 0 && rankOf(card) !== 2) cards.push(card);
    else if (cards.length > 0 && gaps > 0) gaps--;
    else break;
  }
  return cards;
}

function cardAt(suit: number, at: number): number {
  return 13 * suit + ((at - 1) % 13) + 1;
}
