"""Cards, which have the same numbers in messages and rules."""

from collections.abc import Sequence
from typing import Final

from buraco_rules import Path, Problems
from buraco_rules.cards import FACES

MAX_CARDS: Final = 108
"""Cards of the largest deck."""

_FACES: Final = frozenset(FACES)


def cards_from_pb(cards: Sequence[int], path: Path, problems: Problems) -> tuple[int, ...]:
    """Return the cards of a repeated field in order. Add a problem for each number that is no card, and keep it.

    Of more than MAX_CARDS add one problem and return ().
    """
    if len(cards) > MAX_CARDS:
        problems.add(path, f"at most {MAX_CARDS} cards, not {len(cards)}")
        return ()
    read = tuple(cards[:])
    if not _FACES.issuperset(read):
        for index, card in enumerate(read):
            if card not in _FACES:
                problems.add((path, index), f"{card} is no card")
    return read


def card_from_pb(card: int, path: Path, problems: Problems) -> int:
    """Return the number of a card as it is. Add a problem if it is 0, not given, or no card."""
    if card not in _FACES:
        problems.add(path, f"{card} is no card" if card else "a card must be given")
    return card


def optional_card_from_pb(card: int, path: Path, problems: Problems) -> int:
    """Return the number of a card as it is, 0 if none is given. Add a problem if it is no card."""
    if card and card not in _FACES:
        problems.add(path, f"{card} is no card")
    return card
