"""Matches between bots in this process, without a service: fast, for authors of bots and for tests.

The same seed gives the same deals as a table of the service that was created with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random

from buraco_bots.bot import Bot, BotFactory, ask_bot, make_bot
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
    """A finished deal, and how many moves it took."""

    deal: Deal
    moves: int


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """A finished match."""

    deals: tuple[PlayedDeal, ...]
    winner: int | None
    """The side that won; None for a draw."""
    scores: tuple[int, int]


def master_seed(text: str) -> bytes:
    """Return the 32 bytes with which a table is created for a seed given as text: its SHA-256."""
    return sha256(text.encode()).digest()


def bot_random(seed: str, seat: int) -> Random:
    """Return a new generator for the bot in a seat; each bot has its own, so that none changes another's choices."""
    return Random(f"{seed}/{seat}")


def play_deal(deal: Deal, bots: Sequence[Bot]) -> PlayedDeal:
    """Play a deal to its end, with one bot a seat. Raise BotFault."""
    moves = turn_start = 0
    turn = deal.turn.number
    while deal.phase is not Phase.OVER:
        if deal.turn.number != turn:
            turn, turn_start = deal.turn.number, moves
        seat = deal.seat_to_move
        legal = legal_moves(deal)
        deal, _ = apply(deal, ask_bot(bots[seat], view_of(deal, seat, legal), legal, moves - turn_start))
        moves += 1
    return PlayedDeal(deal, moves)


def play_match(rules: RuleSet, factories: Sequence[BotFactory], seed: str, target: int) -> PlayedMatch:
    """Play a match to the target score (0 = one deal), with one factory a seat (2 or 4). Raise BotFault."""
    master = master_seed(seed)
    bots = [make_bot(factory, bot_random(seed, seat)) for seat, factory in enumerate(factories)]
    match = Match(target_score=target, starter=-1)
    played: list[PlayedDeal] = []
    while True:
        deal, _ = deal_match(rules, len(bots), server_seed(master, match.deal_number), match)
        played.append(play_deal(deal, bots))
        end = played[-1].deal
        result = match_result(end)
        if result is not None:
            return PlayedMatch(tuple(played), result.winner, result.scores)
        match = next_match(end)


def play_matches(
    rules: RuleSet, contenders: tuple[BotFactory, BotFactory], seats: int, seed: str, target: int, matches: int
) -> Iterator[tuple[PlayedMatch, bool]]:
    """Play matches between two contenders; yield each one, and True if the second contender had side 0 in it.

    Every shuffle is played twice, with the sides swapped, so that good cards favour nobody; the last of an odd number
    is played once. Raise BotFault.
    """
    for number in range(matches):
        swapped = number % 2 == 1
        pair = (contenders[1], contenders[0]) if swapped else contenders
        factories = [pair[seat % 2] for seat in range(seats)]
        yield play_match(rules, factories, f"{seed}/{number // 2}", target), swapped


@dataclass(slots=True)
class ContenderStatistics:
    """Totals of one of the two contenders."""

    wins: int = 0
    points: int = 0
    """Its totals of all deals."""
    closed: int = 0
    """Deals that it closed."""
    buracos: Counter[BuracoKind] = field(default_factory=Counter)
    """Its buracos, by the kind they count as."""


@dataclass(slots=True)
class Statistics:
    """Totals of two contenders over many matches."""

    matches: int = 0
    deals: int = 0
    moves: int = 0
    draws: int = 0
    contenders: tuple[ContenderStatistics, ContenderStatistics] = field(
        default_factory=lambda: (ContenderStatistics(), ContenderStatistics())
    )

    def add(self, match: PlayedMatch, swapped: bool) -> None:
        """Add a match; `swapped` as in `play_matches`."""
        self.matches += 1
        sides = self.contenders[::-1] if swapped else self.contenders
        if match.winner is None:
            self.draws += 1
        else:
            sides[match.winner].wins += 1
        for played in match.deals:
            deal = played.deal
            self.deals += 1
            self.moves += played.moves
            for contender, side, score in zip(sides, deal.sides, score_deal(deal).sides, strict=True):
                contender.points += score.total
                contender.buracos.update(meld.buraco for meld in side.melds if meld.buraco)
            if deal.ending is Ending.CLOSED:
                sides[deal.seat_to_move & 1].closed += 1

    def win_rate(self, contender: int) -> float:
        """Return the share of the matches that contender 0 or 1 won, 0 to 1; a draw counts half. Add a match first."""
        return (self.contenders[contender].wins + self.draws / 2) / self.matches

    def confidence(self, contender: int, z: float = 1.96) -> tuple[float, float]:
        """Return Wilson's interval of the win rate, low and high; the default `z` holds the true rate with 95 %."""
        n, rate = self.matches, self.win_rate(contender)
        centre = rate + z * z / (2 * n)
        spread = z * ((rate * (1 - rate) + z * z / (4 * n)) / n) ** 0.5
        scale = 1 + z * z / n
        return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
