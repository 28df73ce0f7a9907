/** What is printed on cards. */

import { rankOf } from "@buraco/client";
import { Card } from "@buraco/client/messages";

/** Suits by number. */
export const SUIT_NAMES = ["spades", "hearts", "diamonds", "clubs"] as const;

const RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"];

/** Return what is printed in the corner of a card: "10", "K"; empty for the joker. */
export function rankText(card: Card): string {
  return card === Card.JOKER ? "" : (RANKS[rankOf(card) - 1] ?? "");
}
