import { expect, test } from "vitest";
import { cardSymbol, formatCard, isRed, isWild, parseCard, rankOf, suitOf } from "../src/index.ts";
import { Card } from "../src/messages.ts";

const CARDS = Array.from({ length: 53 }, (_, index): Card => index + 1);

test("every card has a text form of its own, from which it is parsed", () => {
  expect(new Set(CARDS.map(formatCard)).size).toBe(53);
  expect(CARDS.map((card) => parseCard(formatCard(card)))).toEqual(CARDS);
  expect([Card.TEN_OF_DIAMONDS, Card.TWO_OF_CLUBS, Card.JOKER].map(formatCard)).toEqual(["Td", "2c", "Jo"]);
});

test.each(["", "T", "10s", "Tx", "1s", "jo", " s"])("%j is not a card", (text) => {
  expect(() => parseCard(text)).toThrow(RangeError);
});

test("suits, ranks, colours and wilds are those of the contract's names", () => {
  const names = ["SPADES", "HEARTS", "DIAMONDS", "CLUBS"];
  for (const card of CARDS.filter((one) => one !== Card.JOKER)) {
    const [rank, suit] = (Card[card] ?? "").split("_OF_");
    expect(names[suitOf(card)]).toBe(suit);
    expect(isRed(card)).toBe(suit === "HEARTS" || suit === "DIAMONDS");
    expect(isWild(card)).toBe(rank === "TWO");
    expect(rankOf(card) === 1).toBe(rank === "ACE");
  }
  expect([rankOf(Card.JOKER), isWild(Card.JOKER), isRed(Card.JOKER)]).toEqual([0, true, false]);
});

test("people read cards as rank and suit", () => {
  expect([Card.TEN_OF_SPADES, Card.KING_OF_HEARTS, Card.JOKER].map(cardSymbol)).toEqual(["10♠", "K♥", "★"]);
});
