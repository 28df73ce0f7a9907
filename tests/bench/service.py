"""The service in its own process, each way to call it beside an echo of the same sizes, in turn.

A move is answered when it is durable, and PlayTable tells the other seat. So moves stand beside several echoes: one
that only answers; one that tells the other seat, too; and one that besides keeps its answer, in a store of the same
kind, before it gives it. What is left to the last is the game, its views and its snapshots. Echoes run on asyncio's
own loop, as grpc.aio does where nobody asks for another.
"""

import asyncio
import itertools
import random
import statistics
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import grpc.aio

from buraco.v1 import rules_service_pb2, rules_service_pb2_grpc, table_service_pb2, table_service_pb2_grpc
from buraco_codec.moves import move_to_pb
from buraco_codec.snapshots import snapshot_to_pb
from buraco_rules import Match, Phase, apply, deal_match, legal_moves
from tests.bench import echo_server
from tests.bench.kept import kept
from tests.bench.processes import echo_process, processor_seconds, service_process
from tests.bench.scripted import RULES, Scripted

IN_FLIGHT = 16
Work = Callable[[float], Awaitable[int]]
"""Calls for so many seconds; gives how many were made."""


class Measured(NamedTuple):
    """One measurement: calls or messages a second, and microseconds of the server's processor time for each."""

    rate: float
    cost: float


async def measure_service(seconds: float, rounds: int, store: str | None) -> None:
    """Print the rates beside the echo's, and the ratio round by round. No store named: a SQLite file."""
    with service_process(store) as (target, service_pid), echo_process(store) as (echo_target, echo_pid):
        async with grpc.aio.insecure_channel(target) as channel, grpc.aio.insecure_channel(echo_target) as peer:
            stored = await kept(store or "sqlite:///new")
            print(f"service: {IN_FLIGHT} calls in flight, {stored}; the client has the other core")
            print(f"  {'':38}{'calls/s':>9}{'µs CPU':>8}{'echo/s':>9}{'µs CPU':>8}{'ratio':>7}  sizes")
            for name, begin, echo in (
                ("RulesService.ValidateMoves, in a row", partial(_validate, every=1), _unary),
                ("RulesService.ValidateMoves, unseen", partial(_validate, every=2), _unary),
                ("TableService.SubmitMoves", _submit, _unary),
                ("TableService.SubmitMoves, kept", _submit, partial(_unary, method="KeptOnce")),
                ("TableService.PlayTable", _play, _streams),
                ("TableService.PlayTable, told to both", _play, partial(_pairs, method="Pair")),
                ("TableService.PlayTable, and kept", _play, partial(_pairs, method="KeptPair")),
            ):
                work, sizes = await begin(channel)
                await _compare(name, work, service_pid, echo(peer, *sizes), echo_pid, sizes, seconds, rounds)
    print()


async def _compare(
    name: str, work: Work, pid: int, echo: Work, echo_pid: int, sizes: tuple[int, int], seconds: float, rounds: int
) -> None:
    await work(0.5)
    await echo(0.5)
    own, peer = [], []
    for _ in range(rounds):
        own.append(await measure(work, pid, seconds))
        peer.append(await measure(echo, echo_pid, seconds))
    ratio = statistics.median(ours.rate / theirs.rate for ours, theirs in zip(own, peer, strict=True))
    ours, theirs = median_of(own), median_of(peer)
    print(
        f"  {name:38}{ours.rate:>9.0f}{ours.cost:>8.0f}{theirs.rate:>9.0f}{theirs.cost:>8.0f}{ratio:>7.0%}"
        f"  {sizes[0]} B up, {sizes[1]} B down",
        flush=True,
    )


async def measure(work: Work, pid: int, seconds: float) -> Measured:
    """What some seconds of work come to."""
    before, begun = processor_seconds(pid), time.perf_counter()
    done = await work(seconds)
    taken = time.perf_counter() - begun
    return Measured(done / taken, (processor_seconds(pid) - before) / done * 1e6)


def median_of(measured: Sequence[Measured]) -> Measured:
    """The median of each figure."""
    return Measured(statistics.median(one.rate for one in measured), statistics.median(one.cost for one in measured))


async def _validate(channel: grpc.aio.Channel, every: int) -> tuple[Work, tuple[int, int]]:
    """One move on a full snapshot, of deals of four: each snapshot is the answer to the call before, or where it is
    only every second one, none that the service has seen.
    """
    stub: Any = rules_service_pb2_grpc.RulesServiceStub(channel)
    played = [_requests(number) for number in range(IN_FLIGHT)]
    sent = list(itertools.chain.from_iterable(requests[::every] for requests in played))
    sizes = (
        round(statistics.mean(request.ByteSize() for request in sent)),
        round(statistics.mean([(await stub.ValidateMoves(request)).ByteSize() for request in sent])),
    )

    def caller(requests: Sequence[Any]) -> Callable[[], Awaitable[None]]:
        following = itertools.cycle(requests)

        async def call() -> None:
            assert (await stub.ValidateMoves(next(following))).legal

        return call

    return in_flight([caller(requests[::every]) for requests in played]), sizes


def _requests(number: int) -> list[Any]:
    """A call for each move of a deal, made at random. All deals together are more than the service remembers."""
    chance = random.Random(number)
    deal, _ = deal_match(RULES, 4, chance.randbytes(32), Match(starter=0))
    requests = []
    while deal.phase is not Phase.OVER:
        move = chance.choice(legal_moves(deal))
        requests.append(
            rules_service_pb2.ValidateMovesRequest(
                snapshot=snapshot_to_pb(deal), seat=deal.seat_to_move, moves=[move_to_pb(move)]
            )
        )
        deal, _ = apply(deal, move)
    return requests


async def _submit(channel: grpc.aio.Channel) -> tuple[Work, tuple[int, int]]:
    """One move a call at tables of their own."""
    stub: Any = table_service_pb2_grpc.TableServiceStub(channel)
    tables = [await Scripted.open(stub) for _ in range(IN_FLIGHT)]
    sizes = (0, 0)

    def caller(table: Scripted) -> Callable[[], Awaitable[None]]:
        async def call() -> None:
            nonlocal sizes
            seat, move = table.next_move()
            request = table_service_pb2.SubmitMovesRequest(
                table_id=table.id, moves=[move_to_pb(move)], request_id=str(uuid.uuid4())
            )
            answer = await stub.SubmitMoves(request, metadata=table.bearer(seat))
            sizes = (request.ByteSize(), answer.ByteSize())

        return call

    work = in_flight([caller(table) for table in tables])
    await work(0.3)
    return work, sizes


async def _play(channel: grpc.aio.Channel) -> tuple[Work, tuple[int, int]]:
    """One move a message at tables of their own; both seats have a stream, and each hears of the other's moves."""
    stub: Any = table_service_pb2_grpc.TableServiceStub(channel)
    tables = [await Scripted.open(stub) for _ in range(IN_FLIGHT)]
    sizes = (0, 0)

    def caller(table: Scripted) -> Callable[[], Awaitable[None]]:
        async def call() -> None:
            nonlocal sizes
            seat, move = table.next_move()
            submit = table_service_pb2.PlaySubmit(moves=[move_to_pb(move)], request_id=str(uuid.uuid4()))
            request = table_service_pb2.PlayTableRequest(submit=submit)
            stream = await table.stream(seat)
            await stream.write(request)
            while not (answer := await stream.read()).HasField("answer"):
                pass
            assert answer.answer.HasField("accepted"), answer
            sizes = (request.ByteSize(), answer.ByteSize())

        return call

    work = in_flight([caller(table) for table in tables])
    await work(0.3)
    return work, sizes


def _unary(channel: grpc.aio.Channel, up: int, down: int, *, method: str = "Once") -> Work:
    call: Any = channel.unary_unary(f"/{echo_server.SERVICE}/{method}")
    request = _echo_request(up, down)

    async def once() -> None:
        assert len(await call(request)) == down

    return in_flight([once] * IN_FLIGHT)


def _streams(channel: grpc.aio.Channel, up: int, down: int) -> Work:
    call: Any = channel.stream_stream(f"/{echo_server.SERVICE}/Stream")
    request = _echo_request(up, down)

    def caller(stream: Any) -> Callable[[], Awaitable[None]]:
        async def once() -> None:
            await stream.write(request)
            assert len(await stream.read()) == down

        return once

    return in_flight([caller(call()) for _ in range(IN_FLIGHT)])


def _pairs(channel: grpc.aio.Channel, up: int, down: int, *, method: str) -> Work:
    """As `_play` without the game: each message is answered, and passed on to the other seat."""
    call: Any = channel.stream_stream(f"/{echo_server.SERVICE}/{method}")
    request = _echo_request(up, down)

    def caller(name: bytes) -> Callable[[], Awaitable[None]]:
        seats: list[Any] = []
        to_move = itertools.cycle((0, 0, 0, 1, 1, 1))

        async def once() -> None:
            while len(seats) < 2:
                seats.append(call())
                await seats[-1].write(name)
            stream = seats[next(to_move)]
            await stream.write(request)
            while not (await stream.read()).startswith(echo_server.ANSWER):
                pass

        return once

    return in_flight([caller(uuid.uuid4().bytes) for _ in range(IN_FLIGHT)])


def _echo_request(up: int, down: int) -> bytes:
    return f"{down} ".encode().ljust(up, b".")


def in_flight(callers: Sequence[Callable[[], Awaitable[None]]]) -> Work:
    """Every caller calls again and again until the time is over."""

    async def work(seconds: float) -> int:
        end = time.perf_counter() + seconds

        async def repeat(call: Callable[[], Awaitable[None]]) -> int:
            for done in itertools.count(1):
                await call()
                if time.perf_counter() >= end:
                    return done
            raise AssertionError("endless")

        return sum(await asyncio.gather(*[repeat(call) for call in callers]))

    return work
