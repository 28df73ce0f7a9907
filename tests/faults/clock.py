"""The service with a wrong clock, and short leases: `python -m tests.faults.clock serve …`.

The environment variable TESTED_CLOCK names a file with the seconds to add to the time, which may change at any time.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

RENEW_SECONDS: Final = 1.0
LEASE_SECONDS: Final = 5.0
"""Of a player's presence; shorter than elsewhere, so that tests wait less."""

_true_time = time.time


def _wrong_time() -> float:
    return _true_time() + float(_offset.read_text())


if __name__ == "__main__":
    _offset = Path(os.environ["TESTED_CLOCK"])
    time.time = _wrong_time
    # Imported only now: modules that have imported `time.time` by name would use the true time.
    from buraco_service.commands.cli import main
    from buraco_service.tables import presence

    vars(presence).update(RENEW_SECONDS=RENEW_SECONDS, LEASE_SECONDS=LEASE_SECONDS)
    main()
