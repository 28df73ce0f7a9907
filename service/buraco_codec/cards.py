"""Lists of cards. They cross as lists of numbers; nothing is done card by card unless a list is faulty."""

from collections.abc import Sequence
from typing import Final

from buraco_rules import Path, Problems
from buraco_rules.cards import FACES

MAX_CARDS: Final = 108
"""As many as the largest deck has."""

_FACES: Final = frozenset(FACES)


def cards_from_pb(cards: Sequence[int], path: Path, problems: Problems) -> tuple[int, ...]:
    """The cards of a repeated field, in their order. Too many, or something that is no card, is a fault."""
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
    """A card that must be given."""
    if card not in _FACES:
        problems.add(path, f"{card} is no card" if card else "a card must be given")
    return card


def optional_card_from_pb(card: int, path: Path, problems: Problems) -> int:
    """A card, or 0 for none."""
    if card and card not in _FACES:
        problems.add(path, f"{card} is no card")
    return card
