"""Turns that the clock finishes."""

from __future__ import annotations

import random

import pytest

from buraco_notation import parse_cards
from buraco_rules import (
    PRESETS,
    Deal,
    Discard,
    DrawStock,
    LayMeld,
    LayOff,
    Match,
    Move,
    Phase,
    PotBy,
    RuleSet,
    TakePile,
    apply,
    apply_for,
    deal_match,
    legal_moves,
)
from buraco_rules.cards import WILDS
from buraco_service.tables.finishing import finish_turn
from tests.rules.positions import CLASSIC, CLOSED, house, play, position
from tests.rules.reference_turns import can_finish
from tests.rules.sampling import ALL_RULES, some_position
from tests.rules.test_arrangements import name
from tests.rules.test_playouts import choose

MATCHES = (Match(target_score=2005), Match(2, (1200, 1990), 0, 3000))
"""The second asks both sides for an opening minimum, where the rule set has one."""


def check_finished(deal: Deal) -> Deal:
    """Finish the turn, check what holds of every such finish, and return the deal after it."""
    moves = finish_turn(deal)
    assert moves == finish_turn(deal)
    after, number = deal, deal.turn.number
    for move in moves:
        assert after.turn.number == number
        assert not after.ending
        assert move in legal_moves(after)
        check_choice(after, move)
        after, _ = apply_for(after, deal.seat_to_move, move)
    assert after.ending or (after.turn.number, after.phase) == (number + 1, Phase.DRAW)
    return after


def check_choice(deal: Deal, move: Move) -> None:
    """The stock before the pile, a discard before all else, no wild where a natural may go, no more cards than due."""
    others = legal_moves(deal)
    assert isinstance(move, DrawStock) or DrawStock() not in others
    discards = [other.card for other in others if isinstance(other, Discard)]
    assert isinstance(move, Discard) or not discards
    if isinstance(move, Discard):
        assert move.card not in WILDS or all(card in WILDS for card in discards)
    if isinstance(move, LayMeld | LayOff):
        lays = [other for other in others if isinstance(other, LayMeld | LayOff)]
        wilds = sum(card in WILDS for card in move.cards)
        assert wilds == min(sum(card in WILDS for card in lay.cards) for lay in lays)


def finish_everywhere(rules: RuleSet, seats: int, rng: random.Random) -> int:
    """Play a random deal, and finish the turn from each of its positions; return how many there were."""
    deal, _ = deal_match(rules, seats, rng.randbytes(32), rng.choice(MATCHES))
    eager, positions = rng.choice([0.2, 0.6, 0.95]), 0
    while not deal.ending:
        check_finished(deal)
        deal, _ = apply(deal, choose(legal_moves(deal), rng, eager))
        positions += 1
    return positions


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_every_turn_can_be_finished(rules: RuleSet, seats: int) -> None:
    """From every position of random deals the turn is ended legally, in the same way each time."""
    rng = random.Random(f"finishing {rules.id} {seats}")
    assert sum(finish_everywhere(rules, seats, rng) for _ in range(3)) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_every_turn_can_be_finished_at_length(rules: RuleSet, seats: int) -> None:
    """The same for many more deals, of house rules, too."""
    rng = random.Random(f"finishing {name(rules)} {seats} at length")
    assert sum(finish_everywhere(rules, seats, rng) for _ in range(30)) > 1000


@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_small_hands(rules: RuleSet) -> None:
    """Turns with one to four cards left, where the rules forbid most, are ended legally wherever that is possible."""
    rng = random.Random(f"small {name(rules)}")
    finished = 0
    for _ in range(150):
        deal = some_position(rules, rng, rng.randint(1, 4))
        if can_finish(deal):
            check_finished(deal)
            finished += 1
    assert finished > 50


@pytest.mark.parametrize("rules", [PRESETS[0], CLOSED], ids=lambda rules: rules.id)
def test_a_deal_of_nothing_but_the_clock(rules: RuleSet) -> None:
    """A deal whose turns are all finished by the clock comes to its end."""
    deal, _ = deal_match(rules, 2, bytes(32), MATCHES[0])
    for _ in range(rules.max_turns + 1):
        if deal.ending:
            break
        deal = check_finished(deal)
    assert deal.ending


def test_natural_that_counts_least_is_discarded() -> None:
    """The draw comes from the stock, and the discard is the natural that counts least."""
    deal = position(CLASSIC, hand="Kd 9h 4c Jo 2s", phase=Phase.MELD)
    assert finish_turn(deal) == [Discard(card("4c"))]
    first = position(CLASSIC, hand="Kd 9h 4c Jo 2s", pile="5h 6h", phase=Phase.DRAW)
    assert finish_turn(first)[0] == DrawStock()


def test_wild_goes_only_alone() -> None:
    """With nothing but wilds in hand the 2 goes before the joker."""
    assert finish_turn(position(CLASSIC, hand="Jo 2s", phase=Phase.MELD)) == [Discard(card("2s"))]


def test_top_card_of_a_taken_pile_is_melded() -> None:
    """A closed pile that was taken cannot be given back: its top card is melded, as cheaply as can be."""
    before = position(CLOSED, hand="4h 5h 6h 9c Kd Jo", pile="8s 3h", phase=Phase.DRAW)
    deal = play(before, TakePile())
    first, *rest = finish_turn(deal)
    assert isinstance(first, LayMeld)
    assert sorted(first.cards) == sorted(card(text) for text in ("3h", "4h", "5h"))
    assert [type(move) for move in rest] == [Discard]


def test_last_card_that_may_not_be_discarded_is_laid_off() -> None:
    """Where the pot comes in flight alone, the last card is laid off, and a card of the pot is discarded."""
    rules = house(CLASSIC, pot_by=PotBy.FLIGHT)
    deal = position(rules, hand="7s", melds=["3s 4s 5s 6s"], phase=Phase.MELD)
    first, *rest = finish_turn(deal)
    assert isinstance(first, LayOff)
    assert [type(move) for move in rest] == [Discard]


def card(text: str) -> int:
    """A card from its text."""
    (card,) = parse_cards(text)
    return card
