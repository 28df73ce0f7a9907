"""`make abuse`: attacks on a real server, while others use it: does anybody notice, and what does it take?

Each attack lasts for `--seconds` against `buraco serve` in plain text, with TLS, and with two workers. The run fails if
anybody else met an error that their client's retries did not cure, if the process ended or grew by more than it may, or
if an attack left no trace in the metrics. Loopback only; about 20 s for each of the 27 lines with the default.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.abuse.attacks import ATTACKS
from tests.abuse.trial import WAYS, Outcome, trial


def main() -> None:
    """Print a line for each attack, and exit with status 1 if one did harm."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.abuse", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15.0, help="time of one attack, 1 to 600 (default 15)")
    parser.add_argument("--attack", choices=ATTACKS, help="one attack alone")
    parser.add_argument("--way", choices=WAYS, help="one way to serve alone")
    arguments = parser.parse_args()
    if not 1 <= arguments.seconds <= 600:
        parser.error("--seconds must be 1 to 600")
    outcomes = []
    print(Outcome.heading(), flush=True)
    for way in [arguments.way] if arguments.way else WAYS:
        for attack in [arguments.attack] if arguments.attack else ATTACKS:
            with tempfile.TemporaryDirectory() as folder:
                outcome = asyncio.run(trial(Path(folder), way, attack, arguments.seconds))
            print(outcome.line(), flush=True)
            for fault in outcome.faults:
                print(f"    {fault}", flush=True)
            outcomes.append(outcome)
    harmed = sum([bool(outcome.faults) for outcome in outcomes])
    print(f"\n{len(outcomes)} attacks, {harmed} did harm")
    sys.exit(harmed > 0)


main()
