"""Cards as text: rank `A23456789TJQK` and suit `shdc`, the joker `Jo`, separated by spaces."""

from collections.abc import Iterable
from typing import Final

from buraco_notation.reading import WORDS, Cursor, TextProblems, parse
from buraco_rules.cards import CARD_TEXT, FACES

CARD_BY_TEXT: Final = {CARD_TEXT[card]: card for card in FACES}


def format_cards(cards: Iterable[int]) -> str:
    """Return cards as text, in their order. Raise IndexError for a number that is not a card.

    >>> format_cards([16, 36, 53])
    '3h Td Jo'
    """
    numbers = tuple(cards)
    if not all([card in FACES for card in numbers]):
        raise IndexError(f"a card is 1 to {FACES[-1]}, not one of {numbers}")
    return " ".join([CARD_TEXT[card] for card in numbers])


def parse_cards(text: str) -> tuple[int, ...]:
    """Return the cards of a text, in their order; () for none. Raise NotationError for what is not a card.

    >>> parse_cards("3h Td Jo")
    (16, 36, 53)
    >>> parse_cards("3h 10d")
    Traceback (most recent call last):
    buraco_notation.reading.NotationError: 1:4: expected a card, not '10d'
    """
    return parse(text, WORDS, _read_cards)


def read_card(cursor: Cursor, problems: TextProblems, expected: str = "a card") -> int:
    """Take the next token and return its card; 0, and a problem, if it is not one."""
    token = cursor.take()
    card = CARD_BY_TEXT.get(token.text, 0)
    if not card:
        problems.add_unexpected(token, expected)
    return card


def _read_cards(cursor: Cursor, problems: TextProblems) -> tuple[int, ...]:
    cards = []
    while not cursor.is_at_end:
        cards.append(read_card(cursor, problems))
    return tuple(cards)
