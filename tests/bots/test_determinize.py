from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from buraco_bots.memory import Memory
from buraco_bots.search.determinize import determinize
from buraco_notation import parse_position
from buraco_rules import PRESETS, Deal, NextAction, RuleSet, view_of
from buraco_rules.cards import deck
from tests.bots.watched import moments


def all_cards(deal: Deal) -> Counter[int]:
    """The cards of a deal, wherever they are."""
    melds = [meld.cards for side in deal.sides for meld in side.melds]
    return Counter([card for cards in (deal.stock, deal.pile, *deal.pots, *deal.hands, *melds) for card in cards])


@pytest.mark.parametrize("late", [0, 60], ids=["from the start", "late"])
@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_sampled_deals_look_the_same(rules: RuleSet, seats: int, late: int) -> None:
    """At every moment of deals a sampled deal has all cards, the known ones in place, and the view is the same."""
    random = Random(5)
    for moment in moments(rules, seats, 11, late=late):
        view = view_of(moment.deal, moment.deal.seat_to_move)
        sampled = determinize(view, moment.memory, random)
        assert all_cards(sampled) == Counter(deck(rules.jokers))
        actions = tuple([action for action in view.next_actions if action is not NextAction.UNDO])
        assert view_of(sampled, view.seat) == view._replace(next_actions=actions)
        for known, hand in zip(moment.memory.known_hands(view), sampled.hands, strict=True):
            assert not Counter(known) - Counter(hand)
        assert all(seen in (0, card) for seen, card in zip(moment.memory.known_pile(view), sampled.pile, strict=True))


def test_samples_differ() -> None:
    """Hidden cards are anywhere: in many samples every unseen card is once in the other hand."""
    view = view_of(parse_position("rules: closed | turn: seat 0 draw"), 0)
    random, seen = Random(1), set[int]()
    for _ in range(200):
        seen |= {*determinize(view, Memory(), random).hands[1]}
    assert seen == {*Memory().unseen_cards(view)}


def test_same_seed_gives_the_same_deal() -> None:
    """All chance comes from the generator that is given."""
    view = view_of(parse_position("rules: burraco | turn: seat 0 draw | pile: 3h", verify=False), 0)
    first, again, other = (determinize(view, Memory(), Random(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(("stock", "message"), [(200, "are left for a stock of 200"), (0, "are left for a stock of 0")])
def test_view_of_other_cards(stock: int, message: str) -> None:
    """A view that does not add up to the decks is refused."""
    view = view_of(parse_position("rules: open | turn: seat 0 draw"), 0)
    with pytest.raises(ValueError, match=message):
        determinize(view._replace(stock_count=stock), Memory(), Random(1))


def test_view_with_too_many_cards() -> None:
    """A view whose hands need more cards than there are is refused."""
    view = view_of(parse_position("rules: open | turn: seat 0 draw"), 0)
    with pytest.raises(ValueError, match="not enough cards"):
        determinize(view._replace(hand_counts=(11, 110)), Memory(), Random(1))
