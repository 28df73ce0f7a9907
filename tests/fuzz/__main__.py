"""`make fuzz`: only documented errors come out of any way in. Bounded; fails at the first other."""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from buraco_notation import NotationError, format_position, parse_position, parse_record
from buraco_service.errors import ApiError
from buraco_service.observing import logs
from buraco_service.tables.stored import CorruptTable, parse_table, serialise_table
from tests.fuzz import corpus
from tests.fuzz.breaking import broken_bytes, broken_text
from tests.service.table_server import serving

DOCUMENTED = frozenset(
    {
        grpc.StatusCode.OK,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.ABORTED,
    }
)
BATCH = 500


def main() -> None:
    """Break things for so long, and tell what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="time for all targets together (default 60)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="repeats a run")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    logs.configure("error", "console", "plain")
    targets: dict[str, Callable[[float, int], Counter[str]]] = {
        "requests over gRPC": fuzz_requests,
        "stored tables": lambda seconds, first: fuzz(broken_bytes(corpus.stored_tables()), read_table, seconds, first),
        "positions as text": lambda seconds, first: fuzz(
            broken_text(corpus.positions()), read_position, seconds, first
        ),
        "records as text": lambda seconds, first: fuzz(broken_text(corpus.records()), read_record, seconds, first),
    }
    shares = {"requests over gRPC": 0.55}
    for name, run in targets.items():
        begun = time.perf_counter()
        outcomes = run(arguments.seconds * shares.get(name, 0.15), arguments.seed)
        taken = time.perf_counter() - begun
        print(f"{name}: {outcomes.total()} inputs in {taken:.0f} s: {dict(outcomes.most_common())}", flush=True)


def fuzz(
    inputs: st.SearchStrategy[Any], outcome: Callable[[Any], str], seconds: float, first_seed: int
) -> Counter[str]:
    """Give inputs to a target for so long; an exception that is not documented comes out of here, with its input."""
    outcomes: Counter[str] = Counter()
    end = time.perf_counter() + seconds
    number = first_seed
    while time.perf_counter() < end:

        @seed(number)
        @settings(
            max_examples=BATCH,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(inputs)
        def batch(given_input: Any) -> None:
            if time.perf_counter() < end:
                outcomes[outcome(given_input)] += 1

        batch()
        number += 1
    return outcomes


def read_table(data: bytes) -> str:
    """A stored table is read, or is corrupt; what is read can be written and read again."""
    try:
        table = parse_table(data, 1)
    except CorruptTable:
        return "corrupt"
    except ApiError as refusal:
        return refusal.reason
    assert parse_table(serialise_table(table), 1) == table
    return "read"


def read_position(text: str) -> str:
    """A position is read, or its faults are named; what is read has a canonical text."""
    try:
        deal = parse_position(text)
    except NotationError:
        return "faults"
    assert parse_position(format_position(deal)) == deal
    return "read"


def read_record(text: str) -> str:
    """A record is read, or its faults are named."""
    try:
        parse_record(text)
    except NotationError:
        return "faults"
    return "read"


def fuzz_requests(seconds: float, first_seed: int) -> Counter[str]:
    """Broken requests of every RPC, sent to a real server; nothing but documented statuses comes back."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        replica = serving(Path(folder) / "tables.db")
        served = runner.run(_entered(replica))
        try:
            examples = corpus.requests()
            inputs = st.sampled_from(sorted(examples)).flatmap(
                lambda path: st.tuples(st.just(path), broken_bytes(examples[path]))
            )
            return fuzz(inputs, lambda sent: runner.run(_call(served.channel, *sent)), seconds, first_seed)
        finally:
            runner.run(_left(replica))


async def _call(channel: grpc.aio.Channel, path: str, request: bytes) -> str:
    call: Any = channel.unary_unary(path)
    try:
        await call(request, timeout=20)
    except grpc.aio.AioRpcError as error:
        refused = error
    else:
        return "OK"
    assert refused.code() in DOCUMENTED, f"{path}: {refused.code()} {refused.details()}"
    assert _reason(refused), f"{path}: no reason"
    return refused.code().name


def _reason(error: grpc.aio.AioRpcError) -> str:
    """The reason that every error of ours carries."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    info = error_details_pb2.ErrorInfo()
    return info.reason if status is not None and any(detail.Unpack(info) for detail in status.details) else ""


async def _entered(context: Any) -> Any:
    return await context.__aenter__()


async def _left(context: Any) -> None:
    await context.__aexit__(None, None, None)


main()
