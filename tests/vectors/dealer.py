"""Deal from a seed anew by the published description: a second opinion on dealt cards."""

from itertools import islice
from typing import NamedTuple

from tests.rules.reference_shuffle import first_starter, shuffled, words


class Dealt(NamedTuple):
    """Where the cards are before the first turn."""

    starts: int
    hands: list[list[int]]
    pots: list[list[int]]
    pile: list[int]
    stock: list[int]
    """The top card is the last."""


def dealt(seed: bytes, *, seats: int, jokers: int, upcard: bool, starter: int | None, deal_number: int = 1) -> Dealt:
    """Deal a card at a time to every seat from the starter on, clockwise; two pots; the upcard if there is one (R2)."""
    deck = [*range(1, 53), *range(1, 53), *[53] * jokers]
    cards = shuffled(seed, deck)
    first = first_starter(seed, len(deck), seats) if starter is None else starter
    starts = (first + deal_number - 1) % seats
    hands: list[list[int]] = [[] for _ in range(seats)]
    for card in range(11 * seats):
        hands[(starts + card) % seats].append(cards.pop())
    pots = [[cards.pop() for _ in range(11)] for _ in range(2)]
    pile = [cards.pop()] if upcard else []
    return Dealt(starts, [sorted(hand) for hand in hands], pots, pile, cards)


def first_words(seed: bytes, count: int) -> list[str]:
    """Return the first words of a seed's stream, eight hexadecimal digits each."""
    return [f"{word:08x}" for word in islice(words(seed), count)]
