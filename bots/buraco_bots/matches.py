"""Matches between bots in this process, without a service: fast, for authors of bots and for tests.

The same seed gives the same deals as a table of the service that was created with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Protocol, cast

from buraco.v1 import event_pb2
from buraco_bots.bot import Bot, BotFactory, BotFault, SeesAll, ask_for_moves, close_bot, make_bot, name_of, sees_all
from buraco_codec.events import event_bytes, redacted_event
from buraco_rules import (
    Deal,
    IllegalMove,
    Match,
    Move,
    Phase,
    RuleSet,
    View,
    apply_for,
    deal_match,
    legal_moves,
    match_result,
    next_match,
    server_seed,
    view_of,
)
from buraco_rules.events import Event


@dataclass(frozen=True, slots=True)
class PlayedDeal:
    """A finished deal, and how many moves it took."""

    deal: Deal
    moves: int
    leads: tuple[int, ...]
    """By how many points side 0 led without the hands, at the start of every turn."""


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


class Ask(Protocol):
    """Asks the bot of a seat for its next moves: `ask_for_moves`, with whatever is measured around it."""

    def __call__(
        self,
        seat: int,
        bot: Bot,
        view: View,
        moves: Sequence[Move],
        moves_made: int,
        events: Iterable[event_pb2.Event],
    ) -> Sequence[Move]:
        """Return the moves. Raise BotFault."""
        ...


def _ask(
    seat: int, bot: Bot, view: View, moves: Sequence[Move], moves_made: int, events: Iterable[event_pb2.Event]
) -> Sequence[Move]:
    return ask_for_moves(bot, view, moves, moves_made, events)


class Audience:
    """What the bots of a match that `Observes` are still to see, by seat."""

    def __init__(self, bots: Sequence[Bot]) -> None:
        self._unseen: dict[int, list[event_pb2.Event]] = {
            seat: [] for seat, bot in enumerate(bots) if hasattr(bot, "observe")
        }

    def add(self, happened: Iterable[Event]) -> None:
        """Add events for every bot, as it may see them."""
        if self._unseen:
            for event in happened:
                whole = event_bytes(event)
                for seat, unseen in self._unseen.items():
                    unseen.append(event_pb2.Event.FromString(redacted_event(whole, seat)))

    def take(self, seat: int) -> Sequence[event_pb2.Event]:
        """Return what the bot of a seat has not seen yet, which counts as seen then."""
        unseen = self._unseen.get(seat)
        if not unseen:
            return ()
        self._unseen[seat] = []
        return unseen


def play_deal(deal: Deal, bots: Sequence[Bot], ask: Ask = _ask, audience: Audience | None = None) -> PlayedDeal:
    """Play a deal to its end, with one bot a seat. Raise BotFault."""
    audience = audience or Audience(bots)
    moves = turn_start = turn = 0
    leads: list[int] = []
    while deal.phase is not Phase.OVER:
        seat = deal.seat_to_move
        legal = legal_moves(deal)
        view = view_of(deal, seat, legal)
        if deal.turn.number != turn:
            turn, turn_start = deal.turn.number, moves
            leads.append(view.sides[0].table_points - view.sides[1].table_points)
        if sees_all(bots[seat]):
            cast(SeesAll, bots[seat]).true_deal = deal
        for move in ask(seat, bots[seat], view, legal, moves - turn_start, audience.take(seat)):
            try:
                deal, happened = apply_for(deal, seat, move)
            except IllegalMove as illegal:
                raise BotFault("illegal", f"{name_of(bots[seat])} planned {move!r}: {illegal}") from None
            moves += 1
            audience.add(happened)
    return PlayedDeal(deal, moves, tuple(leads))


def play_match(rules: RuleSet, factories: Sequence[BotFactory], seed: str, target: int, ask: Ask = _ask) -> PlayedMatch:
    """Play a match to the target score (0 = one deal), with one factory a seat (2 or 4). Raise BotFault."""
    master = master_seed(seed)
    match = Match(target_score=target, starter=-1)
    bots: list[Bot] = []
    played: list[PlayedDeal] = []
    with ExitStack() as stack:
        for seat, factory in enumerate(factories):
            bots.append(make_bot(factory, bot_random(seed, seat)))
            stack.callback(close_bot, bots[-1])
        audience = Audience(bots)
        while True:
            deal, dealt = deal_match(rules, len(bots), server_seed(master, match.deal_number), match)
            audience.add([dealt])
            played.append(play_deal(deal, bots, ask, audience))
            end = played[-1].deal
            result = match_result(end)
            if result is not None:
                return PlayedMatch(tuple(played), result.winner, result.scores)
            match = next_match(end)
