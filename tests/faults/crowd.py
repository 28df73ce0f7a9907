"""Clients that play all seats of a table at once, in and out of turn, and note their calls and the answers."""

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
from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from buraco_service.tables.stored import parse_table
from tests.faults.history import FINISHED, Call, Done, Entry, History, Refused, Sighting, find_problems
from tests.faults.replicas import Replica
from tests.service.scripts import dealt, short_rules
from tests.service.table_server import bearing, moves_to_pb, new_id

PATIENCE: Final = 60.0
"""Seconds after which a test gives up waiting for the end of a fault."""
_CALL: Final = 20.0
_PAUSE: Final = 0.01
_CHANNEL: Final = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 200),
)
# The status of calls that may or may not have been carried out: the connection broke, or the store did not answer.
_UNKNOWN_OUTCOMES: Final = frozenset({"UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED"})


@dataclass(frozen=True, slots=True)
class Game:
    """A table whose match has started, with its clients' history."""

    table_id: str
    tokens: tuple[str, ...]
    """One for each seat."""
    history: History


class CallOutcome(NamedTuple):
    """How a call ended, as the client saw it."""

    id: str
    """Under which the service logs the call."""
    code: str
    reason: str
    """Empty if the call succeeded, or the status does not come from the service."""


class Crowd:
    """Clients that each have a connection to every replica. Raise BuracoError for an undocumented answer."""

    def __init__(self, addresses: Sequence[str], rng: random.Random, *, clients: int = 6) -> None:
        self._rng = rng
        self._channels = [
            [grpc.aio.insecure_channel(address, options=_CHANNEL) for address in addresses] for _ in range(clients)
        ]
        self.failures: list[BuracoError] = []
        """Answers by which the call may or may not have been carried out."""
        self._changed = asyncio.Event()
        self.outcomes: list[CallOutcome] = []
        """Of all calls that change a table."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for channel in [channel for channels in self._channels for channel in channels]:
            await channel.close()

    async def begin(
        self, rules: RuleSet, seats: int = 2, *, target: int = 0, options: table_pb2.TableOptions | None = None
    ) -> Game:
        """Create a table and join all its seats, repeating calls that fail."""
        seed = self._rng.randbytes(32)
        creating = pb.CreateTableRequest(
            rule_set=rule_set_to_pb(rules),
            seats=seats,
            target_score=target,
            seed=seed,
            request_id=new_id(),
            options=options,
        )
        table: table_pb2.Table = (await self._call_until_answered("CreateTable", creating)).table
        tokens = []
        for seat in range(seats):
            joining = pb.JoinTableRequest(table_id=table.id, seat=seat, player_name=f"P{seat}", request_id=new_id())
            tokens.append((await self._call_until_answered("JoinTable", joining)).token)

        def following(deal: Deal) -> Deal | None:
            return None if match_result(deal) else dealt(deal.rules, seats, seed=seed, match=next_match(deal))

        first = dealt(rules, seats, seed=seed, target=target)
        return Game(table.id, tuple(tokens), History(seats + 1, first, following))

    async def play(self, game: Game, until: int) -> None:
        """Let all clients call until the table has that revision, or the match has ended."""
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as clients:
            for channels in self._channels:
                clients.create_task(self._play_alone(game, [_stub(channel) for channel in channels], until))

    async def wait_for_failures(self, number: int) -> None:
        """Wait for that number of further failed calls."""
        await self._wait_for_more(self.failures, number)

    async def wait_for_calls(self, number: int) -> None:
        """Wait for the end of that number of further calls, while others are under way."""
        await self._wait_for_more(self.outcomes, number)

    async def _wait_for_more(self, ended: Sequence[object], number: int) -> None:
        enough = len(ended) + number
        while len(ended) < enough:
            self._changed.clear()
            await self._changed.wait()

    async def settle(self, game: Game) -> list[str]:
        """Repeat every request without an answer; return the ids of those that were never carried out.

        Call this only when no call of the crowd is under way any more.
        """
        never_made = []
        async with asyncio.timeout(PATIENCE):
            for call in game.history.unknown():
                repeat = await self._call(game, self._any_stub(), call)
                while repeat.answer is None:
                    await asyncio.sleep(_PAUSE)
                    repeat = await self._call(game, self._any_stub(), call)
                if isinstance(repeat.answer, Refused):
                    never_made.append(call.request_id)
        return never_made

    async def _call_until_answered(self, method: str, request: object) -> Any:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return await getattr(self._any_stub(), method)(request, timeout=_CALL)
                except grpc.aio.AioRpcError as error:
                    self._note_unknown(error)
                await asyncio.sleep(_PAUSE)

    async def _play_alone(self, game: Game, stubs: Sequence[pb_grpc.TableServiceStub], until: int) -> None:
        rng = random.Random(self._rng.random())
        while True:
            stub, seat = rng.choice(stubs), rng.randrange(len(game.tokens))
            listed = await self._list_legal_moves(game, stub, seat)
            if listed is None:
                await asyncio.sleep(_PAUSE)
                continue
            if listed.revision >= until:
                return
            revision = listed.revision if rng.random() < 0.5 else None
            call = Call(new_id(), seat, _choose_moves(rng, listed), revision, 0.0, 0.0, None)
            made = await self._call(game, stub, call)
            # Some repeat the request, whether or not they got an answer, and some never learn it.
            while rng.random() < (0.1 if made.answer else 0.5):
                made = await self._call(game, rng.choice(stubs), call)
                if made.answer is None:
                    await asyncio.sleep(_PAUSE)
            if made.answer == Refused(FINISHED):
                return

    async def _list_legal_moves(
        self, game: Game, stub: pb_grpc.TableServiceStub, seat: int
    ) -> pb.TableServiceListLegalMovesResponse | None:
        """Return the legal moves of a seat; None if the call failed."""
        request = pb.TableServiceListLegalMovesRequest(table_id=game.table_id)
        began = time.monotonic()
        try:
            listed = await stub.ListLegalMoves(request, metadata=bearing(game.tokens[seat]), timeout=_CALL)
        except grpc.aio.AioRpcError as error:
            self._note_unknown(error)
            return None
        game.history.sightings.append(Sighting(listed.revision, began, time.monotonic()))
        return listed

    async def _call(self, game: Game, stub: pb_grpc.TableServiceStub, call: Call) -> Call:
        """Make a call, and note how it ended."""
        outcome = CallOutcome(f"try-{len(self.outcomes)}-of-{call.request_id}", "OK", "")
        metadata = (*bearing(game.tokens[call.seat]), ("x-request-id", outcome.id))
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
            outcome = outcome._replace(code=refusal.code.name, reason=refusal.reason)
            if refusal.code.name in ("FAILED_PRECONDITION", "ABORTED"):
                answer = Refused(refusal.reason)
            else:
                self._note_unknown(error)
        except asyncio.CancelledError:
            outcome = outcome._replace(code="CANCELLED")
            raise
        finally:
            made = call._replace(began=began, ended=time.monotonic() if answer else inf, answer=answer)
            game.history.calls.append(made)
            self.outcomes.append(outcome)
            self._changed.set()
        return made

    def _note_unknown(self, error: grpc.aio.AioRpcError) -> None:
        failure = from_rpc_error(error)
        if failure.code.name not in _UNKNOWN_OUTCOMES:
            raise failure
        self.failures.append(failure)
        self._changed.set()

    def _any_stub(self) -> pb_grpc.TableServiceStub:
        return _stub(self._rng.choice(self._rng.choice(self._channels)))


def _stub(channel: grpc.aio.Channel) -> pb_grpc.TableServiceStub:
    return pb_grpc.TableServiceStub(channel)


def _choose_moves(rng: random.Random, listed: pb.TableServiceListLegalMovesResponse) -> tuple[Move, ...]:
    """Return mostly a legal move; else a draw, in or out of turn, or nothing for an undo."""
    kind = rng.random()
    if kind < 0.1:
        return ()
    if kind < 0.2 or not listed.moves:
        return (DrawStock(),)
    return (move_from_pb(rng.choice(listed.moves)),)


async def play_during(
    crowd: Crowd, fault: Awaitable[None], options: table_pb2.TableOptions | None = None
) -> list[tuple[Game, list[str]]]:
    """Play tables of a few deals, one after the other, until the fault is over.

    Return each with its requests that were never carried out.
    """
    games: list[Game] = []
    stop = asyncio.Event()

    async def play() -> None:
        while not stop.is_set():
            games.append(game := await crowd.begin(short_rules(4), target=10_000, options=options))
            await crowd.play(game, 25)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(play())
        await fault
        stop.set()
    return [(game, await crowd.settle(game)) for game in games]


async def find_unknown_tables(store_url: str, games: Sequence[tuple[Game, Sequence[str]]]) -> set[str]:
    """Return the tables that are stored but were answered to nobody: repeats of a create must make one table."""
    store = await open_store(store_url)
    stored = {table.table_id for table in await store.list_tables(None, 10_000, None)}
    await store.close()
    return stored - {game.table_id for game, _ in games}


async def find_stored_problems(store_url: str, games: Sequence[tuple[Game, Sequence[str]]]) -> list[str]:
    """Return what is wrong with the stored tables, each given with its requests that were never carried out."""
    store = await open_store(store_url)
    found = []
    for game, never_made in games:
        stored = await store.load(game.table_id)
        table = parse_table(stored.state, stored.revision)
        entries = await read_entries(store, game)
        deal = None if table.result else table.deal
        found += [
            f"{game.table_id}: {problem}"
            for problem in find_problems(game.history, entries, deal, never_made=never_made)
        ]
    await store.close()
    return found


async def read_entries(store: Store, game: Game) -> list[Entry]:
    """Return the log of a table from its first deal on."""
    return [
        _entry(entry.revision, table_pb2.StoredEntry.FromString(entry.payload))
        for entry in await store.read_log(game.table_id, game.history.start, 10_000)
    ]


def _entry(revision: int, entry: table_pb2.StoredEntry) -> Entry:
    moves = tuple((made.seat, move_from_pb(made.move)) for made in entry.moves)
    return Entry(revision, moves, entry.undo, any(event.HasField("turn_timed_out") for event in entry.events))


def find_unlogged(replicas: Sequence[Replica], outcomes: Sequence[CallOutcome]) -> list[CallOutcome]:
    """Return the calls without exactly one matching line in all logs; at most one if the service did not answer."""
    lines: dict[str, list[tuple[str, str]]] = {}
    for line in [line for one in replicas for line in one.log_lines("call")]:
        lines.setdefault(line["request_id"], []).append((line["code"], line.get("reason", "")))
    wrong = []
    for call in outcomes:
        logged = lines.get(call.id, [])
        unanswered = call.code != "OK" and not call.reason
        if len(logged) > 1 if unanswered else logged != [(call.code, call.reason)]:
            wrong.append(call)
    return wrong
