from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from buraco.v1 import event_pb2
from buraco_bots.memory import UNKNOWN, Memory
from buraco_codec.events import event_bytes, redacted_event
from buraco_notation import parse_cards, parse_position
from buraco_rules import PRESETS, Deal, RuleSet, view_of
from buraco_rules.cards import deck
from buraco_rules.events import Discarded, Event, OpeningFailed, TookPile, Undone
from tests.bots.watched import moments


def noted(events: Sequence[Event], seat: int = 0) -> Memory:
    """A memory that has noted these events as a seat sees them."""
    memory = Memory()
    for event in events:
        memory.note(event_pb2.Event.FromString(redacted_event(event_bytes(event), seat)))
    return memory


def position(text: str) -> Deal:
    """A position that need not be one that play can lead to."""
    return parse_position(text, verify=False)


def hand(text: str) -> tuple[int, ...]:
    """Cards, sorted as a hand is."""
    return tuple(sorted(parse_cards(text)))


@pytest.mark.parametrize("late", [0, 60], ids=["from the start", "late"])
@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_known_cards_are_where_they_are_known_to_be(rules: RuleSet, seats: int, late: int) -> None:
    """In every rule set, at every move, known cards are in that hand or at that place of the pile; no card is lost."""
    known = 0
    for moment in moments(rules, seats, 3, late=late, deals=2):
        deal, memory = moment.deal, moment.memory
        view = view_of(deal, deal.seat_to_move)
        hands, pile = memory.known_hands(view), memory.known_pile(view)
        for seat, cards in enumerate(hands):
            assert not Counter(cards) - Counter(deal.hands[seat])
            known += seat != deal.seat_to_move and len(cards)
        assert len(pile) == len(deal.pile)
        assert all(seen in (UNKNOWN, card) for seen, card in zip(pile, deal.pile, strict=True))
        melds = [card for side in deal.sides for meld in side.melds for card in meld.cards]
        seen = Counter([*melds, *pile, *[card for cards in hands for card in cards]])
        del seen[UNKNOWN]
        assert seen + Counter(memory.unseen_cards(view)) == Counter(deck(rules.jokers))
    assert known > 100


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_pile_is_known_to_who_watched(rules: RuleSet) -> None:
    """A seat that has watched from the start knows every card of the pile, also of a closed one."""
    for moment in moments(rules, 2, 7):
        view = view_of(moment.deal, moment.deal.seat_to_move)
        assert moment.memory.known_pile(view) == moment.deal.pile


def test_taken_pile_is_known_until_played() -> None:
    """Cards of an open pile are known in the hand that took it, until they leave it one by one."""
    memory = noted([TookPile(1, parse_cards("3h 4h 9c"), 3), Discarded(1, *parse_cards("4h"))])
    deal = position("rules: open | hand 1: 3h 9c Kd | pile: 4h | turn: seat 0 draw")
    assert memory.known_hands(view_of(deal, 0))[1] == hand("3h 9c")


@pytest.mark.parametrize(
    "event",
    [OpeningFailed(1, parse_cards("3h 4h 5h"), 20, 95), Undone(1, 0, parse_cards("3h 4h 5h"), None)],
    ids=["failed opening", "undone"],
)
def test_returned_cards_are_known(event: Event) -> None:
    """Cards that were shown and return to the hand are known there."""
    deal = position("rules: professional-direct | hand 1: 3h 4h 5h Kd | turn: seat 0 draw")
    assert noted([event]).known_hands(view_of(deal, 0))[1] == hand("3h 4h 5h")


def test_own_hand_is_that_of_the_view() -> None:
    """A memory that has seen nothing knows the own hand alone, and that all else is unseen."""
    deal = position("rules: closed | hand 0: 3h 4h | turn: seat 0 draw")
    view = view_of(deal, 0)
    assert Memory().known_hands(view) == (hand("3h 4h"), ())
    assert len(Memory().unseen_cards(view)) == 108 - 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hand 1: Kd | pile: 6h | turn: seat 0 draw", "more cards known than the hand has"),
        ("hand 1: 3h 4h 9c Kd | pile: 5h | turn: seat 0 draw", "another top card"),
        ("hand 1: 3h 4h 9c Kd | turn: seat 0 draw", "fewer cards in the pile"),
        ("hand 0: 3h 3h | hand 1: 4h 9c Kd | pile: 6h | turn: seat 0 draw", "a third 3 of hearts"),
        ("hand 1: 3h 4h 9c | match: deal 2 | pile: 6h | turn: seat 0 draw", "another deal"),
    ],
)
def test_view_contradicts(text: str, why: str) -> None:
    """What a view contradicts is forgotten, and the pile is the view's."""
    del why
    memory = noted([TookPile(1, parse_cards("3h 4h 9c"), 3), Discarded(1, *parse_cards("6h"))])
    agreeing = view_of(position("rules: open | hand 1: 3h 4h 9c | pile: 6h | turn: seat 0 draw"), 0)
    assert memory.known_hands(agreeing)[1] == hand("3h 4h 9c")
    view = view_of(position(f"rules: open | {text}"), 0)
    assert memory.known_hands(view)[1] == ()
    assert memory.known_pile(view) == view.pile
