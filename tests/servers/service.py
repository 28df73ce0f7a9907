"""`buraco serve` as a program in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

START: Final = 60.0
"""Seconds that a program may take to start, on a machine that does much else."""
_LOOK: Final = 0.02


def start(
    ready: Path,
    *options: str,
    environment: Mapping[str, str] | None = None,
    output: IO[Any] | int | None = None,
    log: IO[Any] | int | None = None,
    folder: Path | None = None,
    prefix: Sequence[str] = (),
    module: str = "buraco_service",
) -> subprocess.Popen[str]:
    """Starts it with these options. `ready` is its ready file.

    `environment`: variables on top of one's own, of which it gets no settings. `output`, `log`: where standard output
    and standard error go. `folder`: where it runs. `prefix`: a command that runs the program. `module`: what is run
    instead of the service's own.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BURACO_")}
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", module, "serve", "--ready-file", str(ready), *options],
        cwd=folder,
        env={**kept, **(environment or {})},
        stdout=output,
        stderr=log,
        text=True,
    )


def when_ready(process: subprocess.Popen[str], ready: Path) -> dict[str, Any]:
    """What the ready file says, as soon as it is there. Blocks. Raises RuntimeError when the service does not start."""
    deadline = time.monotonic() + START
    while not ready.exists():
        if process.poll() is not None:
            raise RuntimeError(f"the service did not start: {process.communicate()[1] or process.returncode}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"the service was not ready after {START:.0f} s")
        time.sleep(_LOOK)
    said: dict[str, Any] = json.loads(ready.read_text())
    return said
