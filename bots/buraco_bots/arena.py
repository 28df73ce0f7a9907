"""Bots against bots in this very process, without a service: fast, for authors of bots and for tests.

The same seed gives the same deals as a table of the service that was created with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random

from buraco_bots.bot import Bot, BotFactory, ask, make
from buraco_rules import (
    BuracoKind,
    Deal,
    Ending,
    Match,
    Phase,
    RuleSet,
    apply,
    deal_match,
    legal_moves,
    match_result,
    next_match,
    score_deal,
    server_seed,
    view_of,
)


@dataclass(frozen=True, slots=True)
class PlayedDeal:
    """A deal at its end."""

    deal: Deal
    moves: int


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """A match at its end."""

    deals: tuple[PlayedDeal, ...]
    winner: int | None
    """The side that won; None for a draw."""
    scores: tuple[int, int]


def master_seed(text: str) -> bytes:
    """The 32 bytes that stand for a seed given as text: what a table is created with."""
    return sha256(text.encode()).digest()


def bot_random(seed: str, seat: int) -> Random:
    """The generator of the bot in a seat: of its own, so that no bot disturbs another's choices."""
    return Random(f"{seed}/{seat}")


def play_deal(deal: Deal, bots: Sequence[Bot]) -> PlayedDeal:
    """Plays a deal to its end, a bot a seat. Raises BotFault."""
    moves = turn_began = 0
    turn = deal.turn.number
    while deal.phase is not Phase.OVER:
        if deal.turn.number != turn:
            turn, turn_began = deal.turn.number, moves
        seat = deal.seat_to_move
        legal = legal_moves(deal)
        deal, _ = apply(deal, ask(bots[seat], view_of(deal, seat, legal), legal, moves - turn_began))
        moves += 1
    return PlayedDeal(deal, moves)


def play_match(rules: RuleSet, factories: Sequence[BotFactory], seed: str, target: int) -> PlayedMatch:
    """Plays a match to the target score (0 = one deal), one factory a seat (2 or 4). Raises BotFault."""
    master = master_seed(seed)
    bots = [make(factory, bot_random(seed, seat)) for seat, factory in enumerate(factories)]
    match = Match(target_score=target, starter=-1)
    played: list[PlayedDeal] = []
    while True:
        deal, _ = deal_match(rules, len(bots), server_seed(master, match.deal_number), match)
        played.append(play_deal(deal, bots))
        over = played[-1].deal
        result = match_result(over)
        if result is not None:
            return PlayedMatch(tuple(played), result.winner, result.scores)
        match = next_match(over)


@dataclass(frozen=True, slots=True)
class SideStatistics:
    """How one of the two contenders fared."""

    wins: int
    mean_score: float
    """Points a deal."""
    buracos: dict[BuracoKind, float]
    """Buracos a deal, by kind as valued."""
    closed: float
    """Part of the deals that it closed, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Two contenders over many matches."""

    matches: int
    deals: int
    moves: int
    draws: int
    contenders: tuple[SideStatistics, SideStatistics]

    def win_rate(self, contender: int) -> float:
        """Part of the matches that a contender won, 0 to 1; a draw counts half."""
        return (self.contenders[contender].wins + self.draws / 2) / self.matches

    def confidence(self, contender: int, z: float = 1.96) -> tuple[float, float]:
        """Wilson's interval around the win rate; with the default `z` it holds the true rate 95 times in 100."""
        n, rate = self.matches, self.win_rate(contender)
        centre = rate + z * z / (2 * n)
        spread = z * ((rate * (1 - rate) + z * z / (4 * n)) / n) ** 0.5
        scale = 1 + z * z / n
        return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def contest(
    rules: RuleSet, contenders: tuple[BotFactory, BotFactory], seats: int, seed: str, target: int, matches: int
) -> Iterator[tuple[PlayedMatch, bool]]:
    """Plays matches one after the other, partners alike, and tells with each whether the sides were exchanged.

    Every shuffle is played twice, with the sides exchanged, so that good cards favour nobody.
    """
    for number in range(matches):
        swapped = number % 2 == 1
        pair = (contenders[1], contenders[0]) if swapped else contenders
        factories = [pair[seat % 2] for seat in range(seats)]
        yield play_match(rules, factories, f"{seed}/{number // 2}", target), swapped


def statistics(played: Iterator[tuple[PlayedMatch, bool]]) -> Statistics:
    """Sums a contest up. Raises ValueError where there was no match."""
    wins, draws, points, closed = [0, 0], 0, [0, 0], [0, 0]
    buracos: tuple[Counter[BuracoKind], Counter[BuracoKind]] = (Counter(), Counter())
    matches = deals = moves = 0
    for match, swapped in played:
        matches += 1
        if match.winner is None:
            draws += 1
        else:
            wins[match.winner ^ swapped] += 1
        for one in match.deals:
            deals += 1
            moves += one.moves
            _count_deal(one.deal, swapped, points, closed, buracos)
    if not matches:
        raise ValueError("no match was played")
    first, second = (
        SideStatistics(
            wins[who],
            points[who] / deals,
            {kind: buracos[who][kind] / deals for kind in BuracoKind if buracos[who][kind]},
            closed[who] / deals,
        )
        for who in (0, 1)
    )
    return Statistics(matches, deals, moves, draws, (first, second))


def _count_deal(
    deal: Deal, swapped: bool, points: list[int], closed: list[int], buracos: tuple[Counter[BuracoKind], ...]
) -> None:
    for side, score in enumerate(score_deal(deal).sides):
        points[side ^ swapped] += score.total
        buracos[side ^ swapped].update(meld.buraco for meld in deal.sides[side].melds if meld.buraco)
    if deal.ending is Ending.CLOSED:
        closed[(deal.seat_to_move & 1) ^ swapped] += 1
