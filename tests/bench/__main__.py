"""`make bench`: the engine, then each way to call the service beside an echo of the same sizes, in the same run."""

import argparse
import asyncio

from tests.bench.engine import measure_engine
from tests.bench.service import measure_service


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="time of one measurement (default 3)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each kind, in turn (default 3)")
    parser.add_argument("--only", choices=("engine", "service"), help="one part alone")
    arguments = parser.parse_args()
    if arguments.only != "service":
        measure_engine(arguments.seconds)
    if arguments.only != "engine":
        asyncio.run(measure_service(arguments.seconds, arguments.rounds))


main()
