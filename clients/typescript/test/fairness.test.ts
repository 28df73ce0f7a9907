import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { sha256 } from "@noble/hashes/sha2.js";
import { hexToBytes } from "@noble/hashes/utils.js";
import { expect, test } from "vitest";
import { dealCards, mixSeed, verifyDeal } from "../src/index.ts";
import { type Card, type DealRecord, DealRecordSchema } from "../src/messages.ts";
import { ROOT } from "./support/paths.ts";

interface DealVector {
  readonly name: string;
  readonly kind: string;
  readonly rule_sets: readonly string[];
  readonly seed: string;
  readonly request: { readonly seats: number; readonly starter?: number; readonly match?: Record<string, number> };
  readonly dealt: {
    readonly commitment: string;
    readonly seat_to_move: number;
    readonly hands: Card[][];
    readonly pots: Card[][];
    readonly pile: Card[];
    readonly stock: Card[];
  };
}
interface VectorFile {
  readonly rule_sets: Record<string, { jokers?: number; upcard?: boolean }>;
  readonly vectors: DealVector[];
}

const FILE = join(ROOT, "tests", "vectors", "expanded", "r02_deal.json");
const { rule_sets: RULE_SETS, vectors: VECTORS }: VectorFile = JSON.parse(readFileSync(FILE, "utf8"));
const DEALS = VECTORS.filter((vector) => vector.kind === "deal" && "dealt" in vector);

test("there are vectors of the deal", () => {
  expect(DEALS.length).toBeGreaterThan(5);
});

test.each(DEALS)("$name is dealt as the vector has it", ({ rule_sets: ids, seed, request, dealt }) => {
  const { starter: first = request.starter, deal_number: number = 1 } = request.match ?? {};
  const starter = first === undefined ? undefined : (first + number - 1) % request.seats;
  for (const id of ids) {
    const { jokers = 0, upcard = false } = RULE_SETS[id] ?? {};
    const cards = dealCards(hexToBytes(seed), { seats: request.seats, jokers, upcard, starter });
    expect(cards.starter).toBe(dealt.seat_to_move);
    expect(cards.hands.map((hand) => [...hand].sort((one, other) => one - other))).toEqual(dealt.hands);
    expect(cards.pots).toEqual(dealt.pots);
    expect(cards.upcard === undefined ? [] : [cards.upcard]).toEqual(dealt.pile);
    expect(cards.stock).toEqual(dealt.stock);
  }
});

const ENTROPY = new TextEncoder().encode("dice");

function record(changes: Partial<DealRecord> = {}): DealRecord {
  const serverSeed = new Uint8Array(32).fill(7);
  const entropies = [ENTROPY, new Uint8Array()];
  const honest = create(DealRecordSchema, {
    dealNumber: 2,
    seats: 2,
    ruleSet: { jokers: 4, upcard: true },
    match: { starter: 1, dealNumber: 2 },
    serverSeed,
    entropies,
    seed: mixSeed(serverSeed, entropies),
    commitment: sha256(serverSeed),
  });
  return Object.assign(honest, changes);
}

test("an honest record is fair, and its cards are dealt again", () => {
  const honest = record();
  const check = verifyDeal(honest);
  expect(check).toMatchObject({ isFair: true, problems: [] });
  expect(check.cards?.starter).toBe(0);
  const known = { seat: 0, commitment: honest.commitment, entropy: ENTROPY, hand: check.cards?.hands[0]?.toReversed() };
  expect(verifyDeal(honest, known).problems).toEqual([]);
});

test.each([
  ["another seed of the service", { serverSeed: new Uint8Array(32) }, 2],
  ["another commitment", { commitment: new Uint8Array(32) }, 1],
  ["a seed without the players' randomness", { seed: new Uint8Array(32).fill(7) }, 1],
  ["entropy left out", { entropies: [] }, 1],
  ["a seed that is too short", { seed: new Uint8Array(31) }, 2],
  ["no rules", { ruleSet: undefined }, 1],
  ["three seats", { seats: 3 }, 1],
])("a record with %s is not fair", (_, changes, problems) => {
  const check = verifyDeal(record(changes));
  expect(check.isFair).toBe(false);
  expect(check.problems).toHaveLength(problems);
});

test("what a player knows exposes a record that only fits itself", () => {
  const serverSeed = new Uint8Array(32).fill(9);
  const forged = record({ serverSeed, seed: serverSeed, entropies: [], commitment: sha256(serverSeed) });
  expect(verifyDeal(forged).isFair).toBe(true);
  const played = record();
  const { cards } = verifyDeal(played);
  expect(verifyDeal(forged, { commitment: played.commitment }).problems).toHaveLength(1);
  expect(verifyDeal(forged, { seat: 0, entropy: ENTROPY }).problems).toHaveLength(1);
  expect(verifyDeal(forged, { seat: 0, hand: cards?.hands[0] ?? [] }).problems).toHaveLength(1);
  expect(verifyDeal(played, { seat: 1, hand: cards?.hands[0] ?? [] }).isFair).toBe(false);
});

test("the seed is the service's own when nobody added randomness", () => {
  const seed = new Uint8Array(32).fill(3);
  expect(mixSeed(seed, [new Uint8Array(), new Uint8Array()])).toEqual(seed);
  expect(mixSeed(seed, [ENTROPY, new Uint8Array()])).not.toEqual(mixSeed(seed, [new Uint8Array(), ENTROPY]));
});
