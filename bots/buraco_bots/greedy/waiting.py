"""Which cards melds wait for, and which cards go together."""

from __future__ import annotations

from functools import cache, lru_cache

from buraco_rules import Meld, MeldKind
from buraco_rules.cards import ACE, ACE_HIGH, RANK, RUN_CARDS, SUIT


@lru_cache(4096)
def cards_that_fit(meld: Meld) -> tuple[int, ...]:
    """Return the natural cards that extend a meld at an end, or take the place of its wild."""
    if meld.kind is MeldKind.SET:
        return tuple([13 * suit + RANK[meld.natural] for suit in range(4)])
    low, high = meld.low_position, meld.low_position + len(meld.cards) - 1
    places = {low - 1, high + 1} | ({meld.wild_position} if meld.wild_position is not None else set())
    return _run_cards(meld, places)


@lru_cache(4096)
def cards_nearby(meld: Meld) -> tuple[int, ...]:
    """Return the natural cards two places away from the ends of a run; none for a set."""
    if meld.kind is MeldKind.SET:
        return ()
    low, high = meld.low_position, meld.low_position + len(meld.cards) - 1
    return _run_cards(meld, {low - 2, high + 2})


def _run_cards(meld: Meld, places: set[int]) -> tuple[int, ...]:
    cards = RUN_CARDS[SUIT[meld.natural]]
    return tuple([cards[place] for place in sorted(places) if 1 <= place <= ACE_HIGH])


@cache
def neighbours(card: int) -> list[int]:
    """Return the cards of the same suit that are one or two places away."""
    run = RUN_CARDS[SUIT[card]]
    found = {run[place] for here in places_of(card) for place in range(here - 2, here + 3) if 1 <= place <= ACE_HIGH}
    return sorted(found - {card})


@cache
def distance(first: int, second: int) -> int:
    """Return the number of places between two cards of a suit."""
    return min(abs(a - b) for a in places_of(first) for b in places_of(second))


def places_of(card: int) -> tuple[int, ...]:
    """Return the places that a card may have in a run."""
    return (ACE, ACE_HIGH) if RANK[card] == ACE else (RANK[card],)
