"""From deal to deal: the match (R10) and its stakes (R11.3)."""

from typing import NamedTuple

from buraco_rules.deal import Deal, Ending, Match
from buraco_rules.match.scoring import score_deal
from buraco_rules.rule_sets import Tie


class MatchResult(NamedTuple):
    """How a match ended."""

    winner: int | None
    """The side, 0 or 1; None in a draw."""
    scores: tuple[int, int]
    """One a side, the last deal counted."""


def _add_deal_score(deal: Deal) -> tuple[int, int]:
    """Return the match scores with a finished deal counted."""
    first, second = score_deal(deal).sides
    return first.match_total, second.match_total


def match_result(deal: Deal) -> MatchResult | None:
    """Return how the match ended with this finished deal; None if another deal follows (R7.3, R10).

    >>> from buraco_rules import PRESETS_BY_ID, Phase, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32))
    >>> match_result(deal._replace(phase=Phase.OVER, ending=Ending.STOCK, hands=((3,), (9,))))
    MatchResult(winner=0, scores=(-105, -110))
    """
    scores = _add_deal_score(deal)
    if deal.ending is Ending.TWOS_BURACO:
        return MatchResult(deal.seat_to_move & 1, scores)
    target = deal.match.target_score
    if target and max(scores) < target:
        return None
    if scores[0] != scores[1]:
        return MatchResult(0 if scores[0] > scores[1] else 1, scores)
    return MatchResult(deal.match.starter & 1 if deal.rules.tie is Tie.STARTER else None, scores)


def next_match(deal: Deal) -> Match:
    """Return the match as the deal after a finished one begins, also if the match is over: ask `match_result` first.

    >>> from buraco_rules import PRESETS_BY_ID, Phase, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32), target_score=500, starter=1)
    >>> next_match(deal._replace(phase=Phase.OVER, ending=Ending.STOCK, hands=((3,), (9,))))
    Match(deal_number=2, scores=(-105, -110), starter=1, target_score=500)
    """
    match = deal.match
    return match._replace(deal_number=match.deal_number + 1, scores=_add_deal_score(deal))


def payouts(result: MatchResult, seats: int, stake: int) -> tuple[int, ...]:
    """Return the credits that each seat gains: winners share the losers' stakes, a draw returns them (R11.3).

    Sides are of equal size, so a winner gains what a loser loses.

    >>> payouts(MatchResult(winner=1, scores=(900, 2100)), seats=4, stake=50)
    (-50, 50, -50, 50)
    """
    if result.winner is None or not stake:
        return (0,) * seats
    return tuple(stake if seat & 1 == result.winner else -stake for seat in range(seats))
