"""From deal to deal: the match (R10) and its stakes (R11.3)."""

from typing import NamedTuple

from buraco_rules.deal import Deal, Ending, Match
from buraco_rules.match.scoring import score_deal
from buraco_rules.rule_sets import Tie


class MatchResult(NamedTuple):
    """How a match ended; no winner in a draw."""

    winner: int | None
    scores: tuple[int, int]


def settled(deal: Deal) -> tuple[int, int]:
    """Match scores with a finished deal counted."""
    first, second = score_deal(deal).sides
    return first.match_total, second.match_total


def match_result(deal: Deal) -> MatchResult | None:
    """How the match ended with this finished deal; None if another deal follows (R7.3, R10)."""
    scores = settled(deal)
    if deal.ending is Ending.TWOS_BURACO:
        return MatchResult(deal.seat_to_move & 1, scores)
    target = deal.match.target_score
    if target and max(scores) < target:
        return None
    if scores[0] != scores[1]:
        return MatchResult(0 if scores[0] > scores[1] else 1, scores)
    return MatchResult(deal.match.starter & 1 if deal.rules.tie is Tie.STARTER else None, scores)


def next_match(deal: Deal) -> Match:
    """The match as it stands before the deal that follows a finished one."""
    match = deal.match
    return match._replace(deal_number=match.deal_number + 1, scores=settled(deal))


def payouts(result: MatchResult, seats: int, stake: int) -> tuple[int, ...]:
    """Credits each seat gains or loses: the losers' stakes in equal parts to the winners; a draw returns them (R11.3).

    Sides are of equal size, so a winner gains what a loser loses.
    """
    if result.winner is None or not stake:
        return (0,) * seats
    return tuple(stake if seat & 1 == result.winner else -stake for seat in range(seats))
