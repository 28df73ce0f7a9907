import { isWild, rankOf, SUITS, suitOf } from "./cards.js";
import { count } from "./counter.js";
import { Card } from "./generated/buraco/v1/card_pb.js";

/** An order of a hand for people; see `sortHand`. */
export type HandOrder = "suit" | "rank" | "melds";

const ACE_HIGH = 14;

/**
 * Return the cards of a hand in an order for people, wilds last: 2s by suit, then jokers.
 *
 * - `suit`: spades, hearts, clubs, diamonds, each from 3 to ace. If one suit is missing, the order begins with the one
 *   after it, so that colours still alternate.
 * - `rank`: from 3 to ace, each rank by suit.
 * - `melds`: melds without a wild, then what one wild would make a meld, then the rest by suit. A meld is a run of three
 *   cards or more (the ace is low or high), or a set of three or more unless `sets` is false. The longest is taken out of
 *   the hand, then the longest of what is left, until there is none; of equally long ones first runs, by suit, the lowest
 *   first, then sets, from 3 to ace. What one wild would make a meld is taken likewise: two cards or more of a rank, or of
 *   a run that lacks one card at most.
 *
 * @example
 * sortHand(view.hand, "melds", { sets: view.ruleSet?.sets ?? true });
 */
export function sortHand(cards: Iterable<Card>, order: HandOrder, { sets = true }: { sets?: boolean } = {}): Card[] {
  const hand = [...cards];
  const naturals = hand.filter((card) => !isWild(card));
  const twos = hand.filter((card) => isWild(card) && card !== Card.JOKER);
  const jokers = hand.filter((card) => card === Card.JOKER);
  const ordered = order === "suit" ? bySuit(naturals) : order === "rank" ? byRank(naturals) : byMelds(naturals, sets);
  return [...ordered, ...byRank(twos), ...jokers];
}

function bySuit(naturals: readonly Card[]): Card[] {
  const held = new Set(naturals.map(suitOf));
  const missing = SUITS.flatMap((suit, place) => (held.has(suit) ? [] : [place]));
  const first = missing.length === 1 ? (missing[0] ?? 0) + 1 : 0;
  const suits = [...SUITS.slice(first), ...SUITS.slice(0, first)];
  return sorted(naturals, (card) => 100 * suits.indexOf(suitOf(card)) + height(card));
}

function byRank(cards: readonly Card[]): Card[] {
  return sorted(cards, (card) => 100 * height(card) + SUITS.indexOf(suitOf(card)));
}

function sorted(cards: readonly Card[], key: (card: Card) => number): Card[] {
  return [...cards].sort((one, other) => key(one) - key(other));
}

function height(card: Card): number {
  return rankOf(card) === 1 ? ACE_HIGH : rankOf(card);
}

function byMelds(naturals: readonly Card[], sets: boolean): Card[] {
  const ordered: Card[] = [];
  const left = count(naturals);
  for (const [gaps, size] of [
    [0, 3],
    [1, 2],
  ] as const) {
    for (let longest = longestOf(groups(left, gaps, sets)); longest.length >= size; ) {
      ordered.push(...longest);
      for (const card of longest) left.set(card, (left.get(card) ?? 0) - 1);
      longest = longestOf(groups(left, gaps, sets));
    }
  }
  return [...ordered, ...bySuit([...left].flatMap(([card, copies]) => Array<Card>(copies).fill(card)))];
}

function longestOf(found: Iterable<Card[]>): Card[] {
  let longest: Card[] = [];
  for (const group of found) if (group.length > longest.length) longest = group;
  return longest;
}

/** Yield what the cards form, short groups too: runs with so many missing cards, then sets. */
function* groups(left: ReadonlyMap<Card, number>, gaps: number, sets: boolean): Generator<Card[]> {
  for (const suit of SUITS) for (let low = 1; low <= ACE_HIGH; low++) yield run(left, suit, low, gaps);
  if (!sets) return;
  for (let rank = 3; rank <= ACE_HIGH; rank++) {
    yield SUITS.flatMap((suit) => Array<Card>(left.get(cardAt(suit, rank)) ?? 0).fill(cardAt(suit, rank)));
  }
}

/** Return the longest run from a place on, from 1 (ace low) to 14 (ace high), but not with one ace at both ends. */
function run(left: ReadonlyMap<Card, number>, suit: number, low: number, gaps: number): Card[] {
  const found: Card[] = [];
  let gapsLeft = gaps;
  for (let place = low; place <= Math.min(low + 12, ACE_HIGH); place++) {
    const card = cardAt(suit, place);
    if (left.get(card)) found.push(card);
    else if (found.length > 0 && gapsLeft > 0) gapsLeft--;
    else break;
  }
  return found;
}

function cardAt(suit: number, place: number): Card {
  return 13 * suit + ((place - 1) % 13) + 1;
}
