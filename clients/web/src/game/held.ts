/** The cards of the hand as the player arranges and picks them. */

import { type HandOrder, sortHand } from "@buraco/client";
import type { View } from "@buraco/client/messages";

/** A card of the hand with a key of its own: two cards of one face have two keys. */
export interface Held {
  key: string;
  card: number;
}

/** Return the hand in the player's order, each card with a key of its own; new cards last in an order of one's own. */
export function arranged(view: View, order: HandOrder, own: readonly string[] | undefined): Held[] {
  const copies = new Map<number, number>();
  const cards = sortHand(view.hand, order, { sets: view.ruleSet?.sets ?? true }).map((card) => {
    const copy = copies.get(card) ?? 0;
    copies.set(card, copy + 1);
    return { key: `${card}.${copy}`, card };
  });
  if (!own) return cards;
  const place = (key: string) => (own.includes(key) ? own.indexOf(key) : own.length);
  return cards.sort((a, b) => place(a.key) - place(b.key));
}

/** Return an order in which some cards come next to another one, as they were dropped on it. */
export function movedBefore(all: readonly string[], moved: readonly string[], before: string): string[] {
  const rest = all.filter((key) => !moved.includes(key));
  const at = rest.indexOf(before) + (all.indexOf(moved[0]!) < all.indexOf(before) ? 1 : 0);
  return [...rest.slice(0, at), ...moved, ...rest.slice(at)];
}

/** Return the keys of cards that are held. */
export function keysFor(cards: readonly number[], held: readonly Held[]): Set<string> {
  const keys = new Set<string>();
  for (const card of cards) {
    const found = held.find((there) => there.card === card && !keys.has(there.key));
    if (found) keys.add(found.key);
  }
  return keys;
}
