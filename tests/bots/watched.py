"""Deals move by move, with what the seat to move has seen of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from buraco.v1 import event_pb2
from buraco_bots.bot import Bot
from buraco_bots.greedy import GreedyBot
from buraco_bots.matches import Audience
from buraco_bots.memory import Memory
from buraco_bots.random_bot import RandomBot
from buraco_rules import Deal, Match, Move, Phase, RuleSet, View, apply, deal_match, legal_moves, view_of


class Rememberer:
    """Plays as another bot does, with a memory that begins with the first deal, or later."""

    def __init__(self, bot: Bot, late: int = 0) -> None:
        self.bot, self.late, self.memory = bot, late, Memory()

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        return self.bot.choose(view, moves)

    def observe(self, event: event_pb2.Event) -> None:
        self.late -= 1
        if self.late < 0:
            self.memory.note(event)


@dataclass
class Moment:
    """The deal before a move, and what the seat to move remembers."""

    deal: Deal
    memory: Memory


def moments(rules: RuleSet, seats: int, seed: int, *, late: int = 0, deals: int = 1) -> Iterator[Moment]:
    """All moments of deals in which half of the bots play at random, and each remembers what it sees."""
    random = Random(seed)
    bots = [
        Rememberer((RandomBot if (seat + seat // 2) % 2 else GreedyBot)(Random(seed + seat)), late)
        for seat in range(seats)
    ]
    audience = Audience(bots)
    for number in range(1, deals + 1):
        deal, dealt = deal_match(rules, seats, random.randbytes(32), Match(number, (1200, 0)))
        audience.add([dealt])
        while deal.phase is not Phase.OVER:
            seat, moves = deal.seat_to_move, legal_moves(deal)
            for event in audience.take(seat):
                bots[seat].observe(event)
            yield Moment(deal, bots[seat].memory)
            deal, happened = apply(deal, bots[seat].choose(view_of(deal, seat, moves), moves))
            audience.add(happened)
