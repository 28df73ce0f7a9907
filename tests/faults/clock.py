"""The service by a clock that goes wrong: `python -m tests.faults.clock serve …`.

The file that the environment variable TESTED_CLOCK names holds the seconds by which it is wrong; it may be written anew
at any time.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_right = time.time
_error = Path(os.environ["TESTED_CLOCK"])


def _wrong() -> float:
    return _right() + float(_error.read_text())


if __name__ == "__main__":
    time.time = _wrong
    # Only now: whoever has taken the function already would go on with the right time.
    from buraco_service.commands.cli import main

    main()
