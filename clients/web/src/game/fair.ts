/** The fair-deal check: recompute a deal's seed and shuffle from what the service revealed after it. */

import type { DealRecord } from "../net/wire";
import { JOKER } from "./cards";

const WORDS = 2 ** 32;

export interface FairDeal {
  /** The seed shown before the deal is that of the seed revealed after it. */
  committed: boolean;
  /** The seed that shuffled is the service's, mixed with what all players added. */
  mixed: boolean;
  /** The shuffled deck, whose last card is the first one dealt. */
  deck: number[];
}

/** Recompute a finished deal, in the browser. */
export async function checkDeal(deal: DealRecord): Promise<FairDeal> {
  const committed = same(await sha256(deal.serverSeed), deal.commitment);
  const mixed = same(await mixSeed(deal.serverSeed, deal.entropies), deal.seed);
  return { committed, mixed, deck: await shuffledDeck(deal.seed, deal.ruleSet?.jokers ?? 0) };
}

/** Return the seed that shuffles: the service's own, mixed with what the players added, if any did. */
export async function mixSeed(serverSeed: Uint8Array, entropies: readonly Uint8Array[]): Promise<Uint8Array> {
  if (entropies.every((part) => part.length === 0)) return serverSeed;
  const parts = [serverSeed];
  for (const part of entropies) {
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, part.length);
    parts.push(length, part);
  }
  return sha256(joined(parts));
}

/** Return the deck that a seed of 32 bytes shuffles, by the published algorithm; its top is the last card. */
export async function shuffledDeck(seed: Uint8Array, jokers: number): Promise<number[]> {
  const suited = Array.from({ length: 52 }, (_, index) => index + 1);
  const deck = [...suited, ...suited, ...Array<number>(jokers).fill(JOKER)];
  const words = new Words(seed);
  for (let last = deck.length - 1; last > 0; last--) {
    const other = await words.choice(last + 1);
    [deck[last], deck[other]] = [deck[other]!, deck[last]!];
  }
  return deck;
}

/** Unbiased choices drawn from a seed: SHA-256 of seed and block number, read as 32-bit words. */
class Words {
  #block = 0;
  #words: number[] = [];

  constructor(private readonly seed: Uint8Array) {}

  async choice(below: number): Promise<number> {
    const limit = WORDS - (WORDS % below);
    for (;;) {
      const word = await this.#next();
      if (word < limit) return word % below;
    }
  }

  async #next(): Promise<number> {
    if (this.#words.length === 0) {
      const number = new Uint8Array(8);
      new DataView(number.buffer).setBigUint64(0, BigInt(this.#block++));
      const digest = await sha256(joined([this.seed, number]));
      const view = new DataView(digest.buffer, digest.byteOffset);
      this.#words = Array.from({ length: 8 }, (_, index) => view.getUint32(4 * index));
    }
    return this.#words.shift()!;
  }
}

async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes)));
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
