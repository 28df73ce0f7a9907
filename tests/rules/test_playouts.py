"""Whole random deals: they never break, never get stuck, never lose a card, and come to an end."""

import random

import pytest

from buraco_rules import (
    PRESETS,
    Deal,
    Discard,
    DrawStock,
    Ending,
    LayMeld,
    LayOff,
    Match,
    Move,
    MoveWild,
    Phase,
    RuleSet,
    apply,
    deal_match,
    legal_moves,
    score_deal,
)
from buraco_rules.cards import deck
from buraco_rules.events import DealEnded
from tests.rules.positions import all_cards, house
from tests.rules.sampling import CUSTOM

SHORT, LONG = 15, 1000
MATCHES = (Match(), Match(2, (1200, 990), 0, 2005))


def choose(moves: list[Move], rng: random.Random, eager: float) -> Move:
    """A random move, melding with this probability where that is possible, and then rather many cards."""
    plays = [move for move in moves if isinstance(move, LayMeld | LayOff | MoveWild)]
    if plays and rng.random() < eager:
        few = rng.sample(plays, min(3, len(plays)))
        return max(few, key=lambda move: len(getattr(move, "cards", ())))
    return rng.choice(moves)


def play_out(rules: RuleSet, seats: int, rng: random.Random) -> Deal:
    """A deal played at random to its end, all that must hold at every step being checked."""
    deal, _ = deal_match(rules, seats, rng.randbytes(32), rng.choice(MATCHES))
    cards, eager = sorted(deck(rules.jokers)), rng.choice([0.2, 0.6, 0.95])
    for _ in range(60 * rules.max_turns):
        moves = legal_moves(deal)
        if deal.phase is Phase.OVER:
            assert moves == []
            break
        assert moves, "no move is left"
        move = choose(moves, rng, eager)
        before = deal
        deal, events = apply(deal, move)
        assert all_cards(deal) == cards
        check_step(before, move, deal)
        ended = [event for event in events if isinstance(event, DealEnded)]
        assert bool(ended) is (deal.phase is Phase.OVER)
        if ended:
            assert (ended[0].ending, ended[0].score, ended[0].hands) == (deal.ending, score_deal(deal), deal.hands)
    assert deal.phase is Phase.OVER
    check_end(deal)
    return deal


def check_step(before: Deal, move: Move, after: Deal) -> None:
    """What every move leaves as it was, and whose turn it is next."""
    own = before.seat_to_move
    for seat, hand in enumerate(before.hands):
        assert seat == own or after.hands[seat] == hand
    assert after.sides[1 - (own & 1)] == before.sides[1 - (own & 1)]
    if isinstance(move, DrawStock):
        assert (after.stock, len(after.hand)) == (before.stock[:-1], len(before.hand) + 1)
    if isinstance(move, Discard) and after.phase is not Phase.OVER:
        assert (after.seat_to_move, after.phase) == ((own + 1) % before.seats, Phase.DRAW)
        assert after.pile[-1] == move.card
    if not isinstance(move, Discard):
        assert after.seat_to_move == own
    assert all(hand or after.phase is Phase.OVER for hand in after.hands)
    assert all(tuple(sorted(hand)) == hand for hand in after.hands)


def check_end(deal: Deal) -> None:
    """R9.1: the score is the sum of its lines, and the deal ended for a reason that fits."""
    for side, score in enumerate(score_deal(deal).sides):
        assert score.total == sum(line.points for line in score.lines)
        assert score.match_total == deal.match.scores[side] + score.total
    if deal.ending is Ending.CLOSED:
        assert any(len(meld.cards) >= 7 for meld in deal.side.melds)
        assert not deal.hand
    elif deal.ending is Ending.STOCK:
        assert len(deal.stock) <= 2
    else:
        assert deal.ending in (Ending.MAX_TURNS, Ending.TWOS_BURACO)


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_random_deals(rules: RuleSet, seats: int) -> None:
    """R3.6, R8: random deals run to their end without an error, a dead end or a lost card."""
    rng = random.Random(f"{rules.id} {seats}")
    endings = {play_out(rules, seats, rng).ending for _ in range(SHORT)}
    assert Ending.NONE not in endings


@pytest.mark.slow
@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_a_thousand_random_deals(rules: RuleSet, seats: int) -> None:
    """R3.6, R8: a thousand random deals run to their end without an error, a dead end or a lost card."""
    rng = random.Random(f"{rules.id} {seats} at length")
    endings = {play_out(rules, seats, rng).ending for _ in range(LONG)}
    assert {Ending.CLOSED, Ending.STOCK} & endings


@pytest.mark.parametrize(
    "rules", CUSTOM, ids=lambda rules: f"{rules.wild_moves.name}-{rules.wild_end.name}-{rules.two_aces}"
)
def test_random_deals_of_house_rules(rules: RuleSet) -> None:
    """R3.6: deals of house rules run to their end, too, strange mixtures of options among them."""
    rng = random.Random(str(rules))
    strange = house(
        rules,
        closed_pile=True,
        makart=True,
        one_set_per_rank=True,
        set_of_twos=True,
        pots_per_side=2,
        close_needs_clean=True,
        dirty_sticks=True,
    )
    assert {play_out(mixed, seats, rng).phase for mixed in (rules, strange) for seats in (2, 4)} == {Phase.OVER}


def test_short_deals() -> None:
    """R8.3: a deal of few turns ends after them."""
    rules = house(PRESETS[0], max_turns=7)
    deal = play_out(rules, 2, random.Random(3))
    assert (deal.ending, deal.turn.number) == (Ending.MAX_TURNS, 7)
