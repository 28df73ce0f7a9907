"""Replicas in processes of their own, each of which can be started again at the same address."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.service.programs import Program

# Without it, each replica would make a random key.
_KEY: Final = "first:" + "the key of all replicas of a test".ljust(64, ".")


class Replica:
    """`buraco serve`, which can be ended in any way and started again at the same address."""

    def __init__(
        self,
        folder: Path,
        store: str,
        *,
        prefix: Sequence[str] = (),
        module: str = "buraco_service",
        **settings: str,
    ) -> None:
        """`store` is its URL; `settings` are environment variables."""
        self._folder = folder
        self._log = folder / "log"
        self._prefix = prefix
        self._module = module
        self._settings = {
            "BURACO_STORE": store,
            "BURACO_SIGNING_KEYS": _KEY,
            "BURACO_METRICS_PORT": "-1",
            "BURACO_REFLECTION": "false",
            "BURACO_LOG_FORMAT": "json",
            **settings,
        }
        self._program: Program | None = None
        self.address = ""
        """Where it serves after the first start."""

    @property
    def pid(self) -> int:
        """The id of the running process."""
        return self._running.process.pid

    @property
    def _running(self) -> Program:
        assert self._program is not None, "or it was never started"
        return self._program

    async def start(self) -> None:
        """Start, and return once it serves."""
        self.launch()
        self.address = (await self._running.ready())["address"]

    def launch(self) -> Program:
        """Start without waiting."""
        self._folder.mkdir(exist_ok=True)
        (self._folder / "ready.json").unlink(missing_ok=True)  # of a killed process
        port = self.address.rpartition(":")[2] or "0"
        self._program = Program(
            self._folder,
            log=self._log,
            prefix=self._prefix,
            module=self._module,
            **{"BURACO_PORT": port, **self._settings},
        )
        return self._program

    async def kill(self) -> None:
        """End by SIGKILL."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> int:
        """End by SIGTERM, and return the exit status."""
        return await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> int:
        self._running.process.send_signal(number)
        return (await self._running.end())[0]

    def close(self) -> None:
        """Kill the process, if it still runs."""
        if self._program is not None and self._program.process.poll() is None:
            self._program.process.kill()
            self._program.process.communicate()

    def log_text(self) -> str:
        """Return all that its processes have written."""
        return self._log.read_text()

    def log_lines(self, event: str | None = None) -> list[dict[str, Any]]:
        """Return the lines of its log, of all its processes: all, or those of one event."""
        lines: list[dict[str, Any]] = [json.loads(line) for line in self.log_text().splitlines()]
        return [line for line in lines if event in (None, line["event"])]
