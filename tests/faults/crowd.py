"""Clients that play all seats of a table at once, in and out of turn, and note what they ask and what they hear."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final, NamedTuple, Self

import grpc
import grpc.aio

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc as pb_grpc
from buraco_client.errors import BuracoError, from_rpc_error
from buraco_codec.moves import move_from_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import Deal, DrawStock, Move, RuleSet, match_result, next_match
from buraco_service.stores.urls import open_store
from buraco_service.tables.stored import parse_table
from tests.faults.history import FINISHED, Call, Done, Entry, History, Refused, Sighting, problems
from tests.faults.replicas import Replica
from tests.service.scripts import dealt, short_rules
from tests.service.table_server import bearing, moves_to_pb, new_id

PATIENCE: Final = 60.0
"""Seconds after which a fault counts as never to be over."""
_CALL: Final = 20.0
_PAUSE: Final = 0.01
_CHANNEL: Final = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 200),
)
# What says that nobody knows what became of a call: the connection broke, or the store did not say.
_NOBODY_KNOWS: Final = frozenset({"UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED"})


@dataclass(frozen=True, slots=True)
class Game:
    """A table whose match has begun."""

    table_id: str
    tokens: tuple[str, ...]
    """One a seat."""
    history: History


class Heard(NamedTuple):
    """How a call ended, by the id under which it is logged."""

    id: str
    code: str
    reason: str
    """Empty where the service itself said nothing, or nothing was wrong."""


class Crowd:
    """Clients with a connection each to every replica. Raises BuracoError for an answer that is not documented."""

    def __init__(self, addresses: Sequence[str], rng: random.Random, *, clients: int = 6) -> None:
        self._rng = rng
        self._channels = [
            [grpc.aio.insecure_channel(address, options=_CHANNEL) for address in addresses] for _ in range(clients)
        ]
        self.failures: list[BuracoError] = []
        """The answers that left open what became of a call."""
        self._news = asyncio.Event()
        self.heard: list[Heard] = []
        """How the calls ended that were to change a table."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for channel in [channel for channels in self._channels for channel in channels]:
            await channel.close()

    async def begin(self, rules: RuleSet, seats: int = 2, *, target: int = 0) -> Game:
        """A new table with all its players, whatever goes wrong meanwhile."""
        seed = self._rng.randbytes(32)
        creating = pb.CreateTableRequest(
            rule_set=rule_set_to_pb(rules), seats=seats, target_score=target, seed=seed, request_id=new_id()
        )
        table: table_pb2.Table = (await self._insist("CreateTable", creating)).table
        tokens = []
        for seat in range(seats):
            joining = pb.JoinTableRequest(table_id=table.id, seat=seat, player_name=f"P{seat}", request_id=new_id())
            tokens.append((await self._insist("JoinTable", joining)).token)

        def following(deal: Deal) -> Deal | None:
            return None if match_result(deal) else dealt(deal.rules, seats, seed=seed, match=next_match(deal))

        first = dealt(rules, seats, seed=seed, target=target)
        return Game(table.id, tuple(tokens), History(seats + 1, first, following))

    async def play(self, game: Game, until: int) -> None:
        """Everybody calls until the table has that revision, or the match is over."""
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as clients:
            for channels in self._channels:
                clients.create_task(self._take_part(game, [_stub(channel) for channel in channels], until))

    async def fails(self, number: int) -> None:
        """Returns once so many more calls have failed."""
        await self._more(self.failures, number)

    async def calls(self, number: int) -> None:
        """Returns once so many more calls have ended, in the midst of others."""
        await self._more(self.heard, number)

    async def _more(self, ended: Sequence[object], number: int) -> None:
        enough = len(ended) + number
        while len(ended) < enough:
            self._news.clear()
            await self._news.wait()

    async def settle(self, game: Game) -> list[str]:
        """Ask what became of every request without an answer; returns those that were never carried out.

        For a time when nothing of the crowd's is under way any more.
        """
        never = []
        async with asyncio.timeout(PATIENCE):
            for call in game.history.unknown():
                repeat = await self._call(game, self._any(), call)
                while repeat.answer is None:
                    await asyncio.sleep(_PAUSE)
                    repeat = await self._call(game, self._any(), call)
                if isinstance(repeat.answer, Refused):
                    never.append(call.request_id)
        return never

    async def _insist(self, method: str, request: object) -> Any:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return await getattr(self._any(), method)(request, timeout=_CALL)
                except grpc.aio.AioRpcError as error:
                    self._left_open(error)
                await asyncio.sleep(_PAUSE)

    async def _take_part(self, game: Game, stubs: Sequence[pb_grpc.TableServiceStub], until: int) -> None:
        rng = random.Random(self._rng.random())
        while True:
            stub, seat = rng.choice(stubs), rng.randrange(len(game.tokens))
            seen = await self._look(game, stub, seat)
            if seen is None:
                await asyncio.sleep(_PAUSE)
                continue
            if seen.revision >= until:
                return
            revision = seen.revision if rng.random() < 0.5 else None
            call = Call(new_id(), seat, _choice(rng, seen), revision, 0.0, 0.0, None)
            made = await self._call(game, stub, call)
            # Some ask again, whether or not they got an answer, and some never know.
            while rng.random() < (0.1 if made.answer else 0.5):
                made = await self._call(game, rng.choice(stubs), call)
                if made.answer is None:
                    await asyncio.sleep(_PAUSE)
            if made.answer == Refused(FINISHED):
                return

    async def _look(
        self, game: Game, stub: pb_grpc.TableServiceStub, seat: int
    ) -> pb.TableServiceListLegalMovesResponse | None:
        """The legal moves of a seat; None when they are not to be had."""
        request = pb.TableServiceListLegalMovesRequest(table_id=game.table_id)
        began = time.monotonic()
        try:
            seen = await stub.ListLegalMoves(request, metadata=bearing(game.tokens[seat]), timeout=_CALL)
        except grpc.aio.AioRpcError as error:
            self._left_open(error)
            return None
        game.history.sightings.append(Sighting(seen.revision, began, time.monotonic()))
        return seen

    async def _call(self, game: Game, stub: pb_grpc.TableServiceStub, call: Call) -> Call:
        """Make a call and note what became of it."""
        heard = Heard(f"try-{len(self.heard)}-of-{call.request_id}", "OK", "")
        metadata = (*bearing(game.tokens[call.seat]), ("x-request-id", heard.id))
        common: dict[str, Any] = {"table_id": game.table_id, "revision": call.revision, "request_id": call.request_id}
        began = time.monotonic()
        answer: Done | Refused | None = None
        try:
            if call.moves:
                submit = pb.SubmitMovesRequest(moves=moves_to_pb(call.moves), **common)
                answer = Done((await stub.SubmitMoves(submit, metadata=metadata, timeout=_CALL)).revision)
            else:
                undo = pb.UndoMoveRequest(**common)
                answer = Done((await stub.UndoMove(undo, metadata=metadata, timeout=_CALL)).revision)
        except grpc.aio.AioRpcError as error:
            refusal = from_rpc_error(error)
            heard = heard._replace(code=refusal.code.name, reason=refusal.reason)
            if refusal.code.name in ("FAILED_PRECONDITION", "ABORTED"):
                answer = Refused(refusal.reason)
            else:
                self._left_open(error)
        except asyncio.CancelledError:
            heard = heard._replace(code="CANCELLED")
            raise
        finally:
            made = call._replace(began=began, ended=time.monotonic() if answer else inf, answer=answer)
            game.history.calls.append(made)
            self.heard.append(heard)
            self._news.set()
        return made

    def _left_open(self, error: grpc.aio.AioRpcError) -> None:
        failure = from_rpc_error(error)
        if failure.code.name not in _NOBODY_KNOWS:
            raise failure
        self.failures.append(failure)
        self._news.set()

    def _any(self) -> pb_grpc.TableServiceStub:
        return _stub(self._rng.choice(self._rng.choice(self._channels)))


def _stub(channel: grpc.aio.Channel) -> pb_grpc.TableServiceStub:
    return pb_grpc.TableServiceStub(channel)


def _choice(rng: random.Random, seen: pb.TableServiceListLegalMovesResponse) -> tuple[Move, ...]:
    """A legal move mostly; else a draw, in or out of turn, or an undo."""
    kind = rng.random()
    if kind < 0.1:
        return ()
    if kind < 0.2 or not seen.moves:
        return (DrawStock(),)
    return (move_from_pb(rng.choice(seen.moves)),)


async def played_meanwhile(crowd: Crowd, fault: Awaitable[None]) -> list[tuple[Game, list[str]]]:
    """Play tables of a few deals, one after the other, while something goes wrong.

    Returns each with its requests that were never carried out.
    """
    games: list[Game] = []
    stop = asyncio.Event()

    async def play() -> None:
        while not stop.is_set():
            games.append(game := await crowd.begin(short_rules(4), target=10_000))
            await crowd.play(game, 25)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(play())
        await fault
        stop.set()
    return [(game, await crowd.settle(game)) for game in games]


async def untold(store_url: str, games: Sequence[tuple[Game, Sequence[str]]]) -> set[str]:
    """The tables that are stored and nobody was told of: a create that was repeated has to have made one table."""
    store = await open_store(store_url)
    stored = {table.table_id for table in await store.list(None, 10_000, None)}
    await store.close()
    return stored - {game.table_id for game, _ in games}


async def verdict(store_url: str, games: Sequence[tuple[Game, Sequence[str]]]) -> list[str]:
    """What is wrong with tables as they are stored, each with the requests that were never carried out."""
    store = await open_store(store_url)
    found = []
    for game, never in games:
        stored = await store.load(game.table_id)
        table = parse_table(stored.state, stored.revision)
        entries = [
            _entry(entry.revision, table_pb2.StoredEntry.FromString(entry.payload))
            for entry in await store.log(game.table_id, game.history.start, 10_000)
        ]
        deal = None if table.result else table.deal
        found += [f"{game.table_id}: {problem}" for problem in problems(game.history, entries, deal, never=never)]
    await store.close()
    return found


def _entry(revision: int, entry: table_pb2.StoredEntry) -> Entry:
    return Entry(revision, tuple((made.seat, move_from_pb(made.move)) for made in entry.moves), entry.undo)


def unlogged(replicas: Sequence[Replica], heard: Sequence[Heard]) -> list[Heard]:
    """Calls that have not one line that says the same in all logs; where the service said nothing, one at most."""
    lines: dict[str, list[tuple[str, str]]] = {}
    for line in [line for one in replicas for line in one.logged("call")]:
        lines.setdefault(line["request_id"], []).append((line["code"], line.get("reason", "")))
    wrong = []
    for call in heard:
        told = lines.get(call.id, [])
        silent = call.code != "OK" and not call.reason
        if len(told) > 1 if silent else told != [(call.code, call.reason)]:
            wrong.append(call)
    return wrong
