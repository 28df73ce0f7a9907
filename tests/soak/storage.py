"""The size of tables in a store, from the deal to the end of a match."""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from buraco_bots.bot import Bot, ask_for_moves, make_bot
from buraco_bots.registry import load_factory
from buraco_rules import legal_moves, view_of
from buraco_service.access.seat_tokens import SeatClaims, SeatTokens
from buraco_service.observing import logs
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.urls import open_store
from buraco_service.tables.state import TableState, TableValue
from buraco_service.tables.tables import Tables
from tests.service.scripts import CLASSIC
from tests.service.table_server import KEY
from tests.soak.meters import Reading, make_meter

_TABLES: Final = 16
_SEATS: Final = 4
_KIB: Final = 1024


class _Stage(NamedTuple):
    """How far the tables are played, with a name for the report."""

    name: str
    reached: Callable[[TableValue, int], bool]
    """Return True for a table that is so far, by the moves made in its deal."""


_STAGES: Final = (
    _Stage("seats taken, dealt", lambda table, made: True),
    _Stage("first deal, after 50 moves", lambda table, made: made >= 50),
    _Stage("second deal, after 50 moves", lambda table, made: _deal_number(table) >= 2 and made >= 50),
    _Stage("match finished", lambda table, made: False),
)


class _Seated(NamedTuple):
    """A table with its players."""

    id: str
    claims: list[SeatClaims]
    bots: list[Bot]


async def measure_storage(name: str, place: Callable[[Path], AbstractContextManager[str]]) -> None:
    """Print bytes per table and per move in one store."""
    logs.configure("error")
    with tempfile.TemporaryDirectory(prefix="buraco-soak-") as folder, place(Path(folder)) as url:
        store = await open_store(url)
        meter = make_meter(url)
        tables = Tables(store, SeatTokens((KEY,), 3600), Metrics())
        first = last = await meter.read()
        seated = [await _seat(tables, number) for number in range(_TABLES)]
        print(f"{name}: {_TABLES} tables of {_SEATS} greedy bots, {CLASSIC.id}, one move a commit")
        for stage in _STAGES:
            moves = sum(await asyncio.gather(*[_play(tables, one, stage) for one in seated]))
            now = await meter.read()
            _print(stage.name, first, last, now, moves)
            last = now
        await store.close()
    print()


def _print(name: str, first: Reading, last: Reading, now: Reading, moves: int) -> None:
    line = f"  {name:<30}{(now.size - first.size) / _TABLES / _KIB:>8.1f} KiB a table"
    if moves:
        line += f"{moves / _TABLES:>8.0f} moves a table since"
        if now.logged:
            line += f", log {(now.logged - last.logged) / moves:.0f} B a move"
    print(line, flush=True)


async def _seat(tables: Tables, number: int) -> _Seated:
    created = await tables.create(
        CLASSIC,
        _SEATS,
        target_score=CLASSIC.usual_targets[0],
        stake=0,
        master_seed=bytes([number]) * 32,
        seeded_by_creator=True,
        request_id=str(uuid.uuid4()),
    )
    claims = []
    for seat in range(_SEATS):
        joined = await tables.join(created.table.id, seat, f"bot {seat}", b"", str(uuid.uuid4()))
        claims.append(tables.tokens.verify(joined.token, time.time()))
    return _Seated(
        created.table.id,
        claims,
        [make_bot(load_factory("greedy"), Random(number * _SEATS + seat)) for seat in range(_SEATS)],
    )


async def _play(tables: Tables, seated: _Seated, stage: _Stage) -> int:
    """Play up to the stage, and return the number of moves."""
    total = made = in_turn = deal_number = 0
    turn = -1
    while (table := await tables.repository.get(seated.id)).state is TableState.PLAYING and table.deal is not None:
        if table.deal.match.deal_number != deal_number:
            deal_number, made, turn = table.deal.match.deal_number, 0, -1
        if stage.reached(table, made):
            break
        if table.deal.turn.number != turn:
            turn, in_turn = table.deal.turn.number, 0
        seat = table.deal.seat_to_move
        legal = legal_moves(table.deal)
        move, *_ = ask_for_moves(seated.bots[seat], view_of(table.deal, seat, legal), legal, in_turn)
        await tables.submit(seated.id, seated.claims[seat], [move], None, str(uuid.uuid4()), with_view=False)
        total, made, in_turn = total + 1, made + 1, in_turn + 1
    return total


def _deal_number(table: TableValue) -> int:
    return 0 if table.deal is None else table.deal.match.deal_number
