"""Matches played in the rules alone, from the seed of a table: what to submit to it, and what must come of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from buraco.v1.table_service_pb2 import SubmitMovesResponse
from buraco_rules import (
    PRESETS_BY_ID,
    Deal,
    Discard,
    DrawStock,
    Match,
    Move,
    RuleSet,
    apply,
    deal_match,
    legal_moves,
    match_result,
    mix_seed,
    next_match,
    server_seed,
)
from buraco_rules.events import Event
from tests.service.table_server import RULE_SET, SEED, Player

CLASSIC = PRESETS_BY_ID[RULE_SET]


def short_rules(max_turns: int) -> RuleSet:
    """House rules whose deals end after so many turns (R8.3)."""
    return replace(CLASSIC, id=f"short-{max_turns}", display_name="Short", max_turns=max_turns, usual_targets=(77,))


class Step(NamedTuple):
    """A move and the deal before and after it."""

    before: Deal
    move: Move
    after: Deal
    events: tuple[Event, ...]

    @property
    def seat(self) -> int:
        """Who makes the move."""
        return self.before.seat_to_move


class SeatTurn(NamedTuple):
    """The moves that a seat makes in a row."""

    seat: int
    moves: tuple[Move, ...]


def dealt(
    rules: RuleSet = CLASSIC,
    seats: int = 2,
    *,
    seed: bytes = SEED,
    target: int = 0,
    entropies: Sequence[bytes] = (),
    match: Match | None = None,
) -> Deal:
    """The deal that a table with this seed deals; the first one, or the one after the deals in `match`."""
    stands = match or Match(target_score=target, starter=-1)
    return deal_match(rules, seats, mix_seed(server_seed(seed, stands.deal_number), entropies), stands)[0]


def played(deal: Deal, rng: random.Random) -> Iterator[Step]:
    """Random moves to the end of the deal."""
    while not deal.ending:
        move = rng.choice(legal_moves(deal))
        after, events = apply(deal, move)
        yield Step(deal, move, after, events)
        deal = after


def deals_played(deal: Deal, rng: random.Random, *, seed: bytes = SEED) -> Iterator[list[Step]]:
    """Random moves, deal by deal, to the end of the match."""
    while True:
        steps = list(played(deal, rng))
        yield steps
        end = steps[-1].after
        if match_result(end) is not None:
            return
        deal = dealt(deal.rules, deal.seats, seed=seed, match=next_match(end))


def turns(steps: Sequence[Step]) -> Iterator[SeatTurn]:
    """Moves turn by turn."""
    moves: list[Move] = []
    for step in steps:
        moves.append(step.move)
        if step.after.ending or step.after.turn.number != step.before.turn.number:
            yield SeatTurn(step.seat, tuple(moves))
            moves = []
    if moves:
        yield SeatTurn(steps[-1].seat, tuple(moves))


def steps_to(wanted: Callable[[Deal], bool], deal: Deal, rng: random.Random, *, tries: int = 50) -> list[Step]:
    """Random moves to the first position of a kind; whoever wants it looks at a deal that is not over."""
    for _ in range(tries):
        steps: list[Step] = []
        for step in played(deal, rng):
            steps.append(step)
            if not step.after.ending and wanted(step.after):
                return steps
    raise AssertionError("no such position was met")


def plain_turn(deal: Deal) -> SeatTurn:
    """Drawing from the stock and discarding the lowest card that may go."""
    drawn, _ = apply(deal, DrawStock())
    discard = next(move for move in legal_moves(drawn) if isinstance(move, Discard))
    return SeatTurn(deal.seat_to_move, (DrawStock(), discard))


def plain_turns(deal: Deal, number: int) -> Iterator[SeatTurn]:
    """So many plain turns, one after the other, within one deal."""
    for _ in range(number):
        turn = plain_turn(deal)
        yield turn
        deal = after_moves(deal, turn.moves)


async def submitted(players: Sequence[Player], script: Iterable[SeatTurn]) -> list[SubmitMovesResponse]:
    """The answers to turns that are submitted one after the other, a call each."""
    return [await players[turn.seat].submit(*turn.moves) for turn in script]


def after_moves(deal: Deal, moves: Sequence[Move]) -> Deal:
    """The deal after moves of the seats in turn."""
    for move in moves:
        deal, _ = apply(deal, move)
    return deal
