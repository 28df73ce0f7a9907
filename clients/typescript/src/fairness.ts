import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { count } from "./counter.js";
import { Card } from "./generated/buraco/v1/card_pb.js";
import type { DealRecord } from "./generated/buraco/v1/table_pb.js";

const SEED_BYTES = 32;
const HAND_SIZE = 11;
const POTS = 2;

/** The cards of a deal before its first move. */
export interface DealtCards {
  /** The seat that starts the deal. */
  readonly starter: number;
  /** One a seat. */
  readonly hands: readonly (readonly Card[])[];
  /** The one that is taken first before the other. */
  readonly pots: readonly (readonly Card[])[];
  /** The first discard, where the rules turn one up. */
  readonly upcard: Card | undefined;
  /** The top card is the last. */
  readonly stock: readonly Card[];
}

/** What a player knows of a deal from before its end, to be compared with its record. */
export interface KnownOfDeal {
  /** The seat whose hand and entropy follow. */
  readonly seat?: number;
  /** The commitment that the table showed while the deal was played. */
  readonly commitment?: Uint8Array;
  /** The randomness that the player added when joining. */
  readonly entropy?: Uint8Array;
  /** The hand that was dealt to the seat (`hand` of the event `dealt`), in any order. */
  readonly hand?: readonly Card[];
}

/** What `verifyDeal` found. */
export interface DealCheck {
  /** True if there are no problems. */
  readonly isFair: boolean;
  /** What does not fit, in English; empty if the deal is as it was promised. */
  readonly problems: readonly string[];
  /** The cards that the seed deals; undefined if the record is too broken for that. */
  readonly cards: DealtCards | undefined;
}

/**
 * Check a finished deal: that its seed is the one the service committed to, mixed with what all players added, and deal
 * its cards again. Only with what the player `known` it is certain that the record is of the deal that was played.
 *
 * @example
 * for await (const record of client.getRecord(tableId)) {
 *   const { isFair, problems, cards } = verifyDeal(record, { seat: session.seat, commitment, entropy, hand });
 * }
 */
export function verifyDeal(record: DealRecord, known: KnownOfDeal = {}): DealCheck {
  const problems: string[] = [];
  const expect = (holds: boolean, problem: string) => {
    if (!holds) problems.push(problem);
  };
  expect(areEqual(sha256(record.serverSeed), record.commitment), "the commitment is not SHA-256 of the service's seed");
  expect(
    areEqual(mixSeed(record.serverSeed, record.entropies), record.seed),
    "the seed is not the service's mixed with what the players added",
  );
  if (known.commitment) {
    expect(areEqual(known.commitment, record.commitment), "the commitment is another than the table showed");
  }
  if (known.entropy) {
    const recorded = record.entropies[known.seat ?? -1] ?? new Uint8Array();
    expect(areEqual(known.entropy, recorded), "the player's own randomness was not mixed in");
  }
  let cards: DealtCards | undefined;
  try {
    cards = cardsOfRecord(record);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  if (cards && known.hand) {
    expect(haveSameCards(known.hand, cards.hands[known.seat ?? -1] ?? []), "the seed deals the seat another hand");
  }
  return { isFair: problems.length === 0, problems, cards };
}

/**
 * Return the seed that shuffles: the service's own, mixed with what the players added, if any did.
 *
 * Mixed, it is SHA-256 of the service's seed and, seat by seat, the entropy's length (4 bytes, big-endian) and the entropy.
 */
export function mixSeed(serverSeed: Uint8Array, entropies: readonly Uint8Array[]): Uint8Array {
  if (entropies.every((entropy) => entropy.length === 0)) return serverSeed;
  return sha256(concatBytes(serverSeed, ...entropies.flatMap((entropy) => [bigEndian(entropy.length, 4), entropy])));
}

/**
 * Deal the cards of a seed as protos/RULES.md describes it, the same in every language.
 *
 * `starter` is the seat that starts this deal; default: chosen by the seed. Throw RangeError if the seed is not 32 bytes.
 */
export function dealCards(
  seed: Uint8Array,
  deal: { readonly seats: number; readonly jokers: number; readonly upcard: boolean; readonly starter?: number },
): DealtCards {
  if (seed.length !== SEED_BYTES) throw new RangeError(`a seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  if (deal.seats !== 2 && deal.seats !== 4) throw new RangeError(`2 or 4 seats, not ${deal.seats}`);
  const choose = choices(seed);
  const suited = Array.from({ length: 52 }, (_, index): Card => index + 1);
  const deck = [...suited, ...suited, ...Array<Card>(deal.jokers).fill(Card.JOKER)];
  for (let last = deck.length - 1; last > 0; last--) {
    const other = choose(last + 1);
    [deck[last], deck[other]] = [deck[other] as Card, deck[last] as Card];
  }
  const take = () => {
    const card = deck.pop();
    if (card === undefined) throw new RangeError("there are not enough cards");
    return card;
  };
  const starter = deal.starter ?? choose(deal.seats);
  const hands = Array.from({ length: deal.seats }, (): Card[] => []);
  for (let turn = 0; turn < HAND_SIZE * deal.seats; turn++) hands[(starter + turn) % deal.seats]?.push(take());
  const pots = Array.from({ length: POTS }, () => Array.from({ length: HAND_SIZE }, take));
  const upcard = deal.upcard ? take() : undefined;
  return { starter, hands, pots, upcard, stock: deck };
}

function cardsOfRecord({ seed, seats, ruleSet, match, dealNumber }: DealRecord): DealtCards {
  if (ruleSet === undefined || match === undefined) throw new RangeError("the record has no rules or no match");
  const starter = (match.starter + dealNumber - 1) % seats;
  return dealCards(seed, { seats, jokers: ruleSet.jokers, upcard: ruleSet.upcard, starter });
}

/** Return a function of `below` that draws unbiased numbers from 0 to below - 1 from a seed. */
function choices(seed: Uint8Array): (below: number) => number {
  const numbers = words(seed);
  return (below) => {
    const limit = 2 ** 32 - (2 ** 32 % below);
    for (;;) {
      const word = numbers.next().value;
      if (word < limit) return word % below;
    }
  };
}

function* words(seed: Uint8Array): Generator<number, never, undefined> {
  for (let block = 0; ; block++) {
    const digest = sha256(concatBytes(seed, bigEndian(block, 8)));
    const view = new DataView(digest.buffer, digest.byteOffset, digest.byteLength);
    for (let offset = 0; offset < digest.length; offset += 4) yield view.getUint32(offset);
  }
}

function bigEndian(value: number, size: 4 | 8): Uint8Array {
  const bytes = new Uint8Array(size);
  new DataView(bytes.buffer).setUint32(size - 4, value);
  return bytes;
}

function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

function haveSameCards(some: readonly Card[], others: readonly Card[]): boolean {
  const counts = count(others);
  return some.length === others.length && [...count(some)].every(([card, copies]) => counts.get(card) === copies);
}
