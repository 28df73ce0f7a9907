from __future__ import annotations

from random import Random

import pytest

from buraco_bots.search.evaluation import features_of, value_of
from buraco_bots.search.policy import RolloutPolicy
from buraco_bots.search.rollouts import MATCH, play_on, rollout
from buraco_rules import PRESETS, DrawStock, Phase, RuleSet, deal_first, score_deal
from tests.bots.watched import moments

NEVER = 10_000
"""More turns than a deal has."""


def policies(seats: int) -> list[RolloutPolicy]:
    """A policy for each seat."""
    return [RolloutPolicy(Random(seat)) for seat in range(seats)]


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_horizon(turns: int) -> None:
    """The moves given are played, the turn is finished, and so many turns follow, whoever's they are."""
    deal, _ = deal_first(PRESETS[0], 4, bytes(32), starter=0)
    after = play_on(deal, [DrawStock()], policies(4), turns)
    assert after.turn.number == 2 + turns
    assert after.phase is Phase.DRAW
    assert len(after.stock) < len(deal.stock)


@pytest.mark.parametrize("side", [0, 1])
def test_end_of_the_deal(side: int) -> None:
    """A rollout to the end of the deal has the difference of the scores as its value, for the side to move."""
    deal, _ = deal_first(PRESETS[0], 2, bytes(32), starter=side)
    end = play_on(deal, [DrawStock()], [RolloutPolicy(Random(9 + seat)) for seat in range(2)], NEVER)
    assert end.phase is Phase.OVER
    scores = score_deal(end).sides
    assert rollout(deal, [DrawStock()], 9, NEVER) == scores[side].total - scores[1 - side].total


@pytest.mark.parametrize(
    ("scores", "target", "counts"),
    [
        ((5000, 0), 2000, MATCH),
        ((0, 5000), 2000, -MATCH),
        ((5000, 0), 9000, 0.0),  # another deal follows
        ((5000, 0), 0, 0.0),  # the deal is all there is, and its score counts
    ],
)
def test_end_of_the_match(scores: tuple[int, int], target: int, counts: float) -> None:
    """A deal that decides a match to a target score is worth more for who wins it than its score."""
    deal, _ = deal_first(PRESETS[0], 2, bytes(32), starter=0)
    decisive = deal._replace(match=deal.match._replace(scores=scores, target_score=target))
    value = rollout(decisive, [DrawStock()], 9, NEVER)
    end = play_on(decisive, [DrawStock()], [RolloutPolicy(Random(9 + seat)) for seat in range(2)], NEVER)
    first, second = score_deal(end).sides
    assert value == first.total - second.total + counts


def test_same_seed() -> None:
    """The same seed gives the same rollout."""
    deal, _ = deal_first(PRESETS[0], 2, bytes(32), starter=0)
    assert rollout(deal, [DrawStock()], 3, 30) == rollout(deal, [DrawStock()], 3, 30)


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_value_is_of_a_side(rules: RuleSet, seats: int) -> None:
    """In every rule set what one side is ahead the other is behind, and with sides exchanged the values are, too."""
    for number, moment in enumerate(moments(rules, seats, 4)):
        deal = moment.deal
        if deal.phase is Phase.DRAW and number % 7 == 0:
            assert value_of(deal, 0) == -value_of(deal, 1)
            exchanged = deal._replace(
                hands=(*deal.hands[1:], deal.hands[0]),
                sides=(deal.sides[1], deal.sides[0]),
                seat_to_move=(deal.seat_to_move - 1) % seats,
            )
            assert features_of(exchanged) == [-lead for lead in features_of(deal)]
            assert value_of(exchanged, 1) == pytest.approx(value_of(deal, 0))
