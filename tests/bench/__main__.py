"""`make bench`: figures side by side in one run.

- engine: what an action costs in every rule set, beside gin rummy of other engines for games with melds.
- growth: the same by the number of the deal in its match and by melds on the table, and what a call costs the service
  at tables late in their match beside new ones. Level figures and a ratio about 1 say that cost does not grow.
- stores: commits to each store, without the service.
- service: each way to call the service beside an echo of the same sizes, in turn.
- web: what a call costs over the web port, by each of its protocols, beside gRPC.
- arena: deals a second between bots, by the number of workers; it grows with them up to the number of processors.
- watch: how soon a move sent to one replica is seen by watchers, at this one and at another, on each store.

`make bench` installs the peers where they can be installed; the line of a missing one says so. Processor time bears
other work on the machine, rates and latencies do not. Compare figures of one run only.
"""

import argparse
import asyncio

from tests.bench.arena import measure_arena
from tests.bench.engine import measure_engine
from tests.bench.engine_growth import measure_engine_growth
from tests.bench.peers import measure_peers
from tests.bench.service import measure_service
from tests.bench.service_growth import measure_service_growth
from tests.bench.stores import measure_stores
from tests.bench.watch import measure_watch
from tests.bench.web import measure_web

PARTS = ("engine", "growth", "stores", "service", "web", "arena", "watch")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="time of one measurement (default 3)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each kind, in turn (default 3)")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument(
        "--store", metavar="URL", help="where the service keeps its tables (default: a new SQLite file)"
    )
    arguments = parser.parse_args()
    if arguments.only in (None, "engine"):
        measure_engine(arguments.seconds)
        measure_peers(arguments.seconds)
        print()
    if arguments.only in (None, "growth"):
        measure_engine_growth(2 * arguments.seconds)
        asyncio.run(measure_service_growth())
    if arguments.only in (None, "stores"):
        asyncio.run(measure_stores(arguments.seconds, arguments.rounds))
    if arguments.only in (None, "service"):
        asyncio.run(measure_service(arguments.seconds, arguments.rounds, arguments.store))
    if arguments.only in (None, "web"):
        asyncio.run(measure_web(arguments.seconds, arguments.rounds, arguments.store))
    if arguments.only in (None, "arena"):
        measure_arena(arguments.seconds, arguments.rounds)
    if arguments.only in (None, "watch"):
        asyncio.run(measure_watch(arguments.rounds))


main()
