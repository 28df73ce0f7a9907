"""The service with a wrong clock: `python -m tests.faults.clock serve …`.

The environment variable TESTED_CLOCK names a file with the seconds to add to the time, which may change at any time.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_true_time = time.time
_offset = Path(os.environ["TESTED_CLOCK"])


def _wrong_time() -> float:
    return _true_time() + float(_offset.read_text())


if __name__ == "__main__":
    time.time = _wrong_time
    # Imported only now: modules that have imported `time.time` by name would use the true time.
    from buraco_service.commands.cli import main

    main()
