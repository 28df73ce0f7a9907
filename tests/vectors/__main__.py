"""`make vectors`: every vector against a server, and a summary by rule number."""

import argparse
import asyncio
import contextlib
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import grpc.aio

from buraco_bots.local_server import local_server
from tests.vectors.load import Vector, files, vectors_in
from tests.vectors.runner import Runner


class Result(NamedTuple):
    """How a vector went."""

    vector: Vector
    differences: list[str]
    seconds: float


async def run(address: str, vectors: list[Vector]) -> list[Result]:
    """Check vectors one after another."""
    results = []
    async with grpc.aio.insecure_channel(address) as channel:
        runner = Runner(channel)
        for vector in vectors:
            start = time.perf_counter()
            differences = await runner.check(vector)
            results.append(Result(vector, differences, time.perf_counter() - start))
    return results


def failure(result: Result) -> str:
    """Return a vector that failed, as people read it."""
    vector = result.vector
    head = f"{vector.file}: {vector.title} ({', '.join(vector.rules)})"
    lines = [line for difference in result.differences for line in difference.splitlines()]
    return "\n".join([head, *[f"    {line}" for line in lines]])


def summary(results: list[Result]) -> Iterator[str]:
    """Yield a line for each rule number, and one for all."""
    by_rule: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        for rule in result.vector.rules:
            by_rule[rule].append(result)
    yield f"{'rule':<6} {'vectors':>7} {'legal':>6} {'illegal':>7} {'failed':>6} {'seconds':>8}"
    for rule in sorted(by_rule, key=lambda rule: [int(part) for part in rule[1:].split(".")]):
        yield _row(rule, by_rule[rule])
    yield _row("all", results)


def _row(head: str, results: list[Result]) -> str:
    illegal = sum(result.vector.shows_illegal for result in results)
    failed = sum(bool(result.differences) for result in results)
    seconds = sum(result.seconds for result in results)
    return f"{head:<6} {len(results):>7} {len(results) - illegal:>6} {illegal:>7} {failed:>6} {seconds:>8.3f}"


def main() -> None:
    """Run the vectors and print what came of them. The exit status is 1 where one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.vectors", description=__doc__)
    parser.add_argument("--server", help="host:port of a server to check (default: one of our own is started)")
    parser.add_argument("--rule", help="only vectors that show this rule, for example R5.3")
    parser.add_argument("--kind", action="append", help="only vectors of this kind; may be given several times")
    arguments = parser.parse_args()
    vectors = [
        vector
        for path in files()
        for vector in vectors_in(path)
        if (arguments.rule is None or arguments.rule in vector.rules)
        and (arguments.kind is None or vector.kind in arguments.kind)
    ]
    with contextlib.ExitStack() as stack:
        address = arguments.server or stack.enter_context(local_server()).address
        results = asyncio.run(run(address, vectors))
    failed = [result for result in results if result.differences]
    for result in failed:
        sys.stdout.write(f"FAILED {failure(result)}\n")
    sys.stdout.write("\n".join(summary(results)) + "\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
