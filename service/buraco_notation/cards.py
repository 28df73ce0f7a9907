"""The text form of cards: rank `A23456789TJQK` and suit `shdc`, the joker `Jo`, apart by spaces."""

from collections.abc import Iterable
from typing import Final

from buraco_rules.cards import CARD_TEXT, FACES

CARD_BY_TEXT: Final = {CARD_TEXT[card]: card for card in FACES}


class NotationError(ValueError):
    """Text that is no card: what it is and where it stands."""

    def __init__(self, word: str, column: int) -> None:
        super().__init__(f"{word!r} at column {column} is no card")
        self.word = word
        self.column = column


def format_cards(cards: Iterable[int]) -> str:
    """Cards as text, in their order. Raises IndexError for a number that is no card."""
    numbers = tuple(cards)
    if not all([card in FACES for card in numbers]):
        raise IndexError(f"a card is 1 to {FACES[-1]}, not one of {numbers}")
    return " ".join([CARD_TEXT[card] for card in numbers])


def parse_cards(text: str) -> tuple[int, ...]:
    """Cards from text, in their order. Raises NotationError, which tells the column, counted from 1."""
    cards: list[int] = []
    column = 0
    for word in text.split():
        column = text.index(word, column) + 1
        if word not in CARD_BY_TEXT:
            raise NotationError(word, column)
        cards.append(CARD_BY_TEXT[word])
        column += len(word) - 1
    return tuple(cards)
