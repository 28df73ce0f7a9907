"""Files that are read again when they change: certificates and keys that are exchanged while the service runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from buraco_service.observing import logs

Stamp: TypeAlias = tuple[tuple[int, int, int, int] | None, ...]


class WatchedFiles:
    """Some files that belong together, and what reads them.

    They are looked at by inode, size and time of change, through links: where Kubernetes exchanges the link to a
    folder of secrets, all of them change at once.
    """

    def __init__(self, what: str, paths: Iterable[Path], read: Callable[[], None]) -> None:
        """`what` names them in the log. `read` raises an exception, whose text is logged, for files it cannot use.

        They are read at once, after the first look at them, so that no change is missed.
        """
        self._what = what
        self._paths = tuple(paths)
        self._read = read
        self._seen = self._stamp()
        read()
        self._log = logs.get_logger()

    async def look(self) -> None:
        """Reads them if they changed. Files that cannot be used are told once, and what was read before stays."""
        # On other threads: a file system may be slow, and the loop has calls to answer.
        stamp = await asyncio.to_thread(self._stamp)
        if stamp == self._seen:
            return
        problem = await asyncio.to_thread(self._problem)
        # Exchanged while they were read: what was read may be a mixture. The next look reads them once more.
        if stamp != await asyncio.to_thread(self._stamp):
            return
        self._seen = stamp
        if problem is None:
            self._log.info("changed files are in use", what=self._what)
        else:
            self._log.error("changed files cannot be used, those before are kept", what=self._what, cause=problem)

    def _problem(self) -> str | None:
        """Reads the files; why they cannot be used, if so."""
        try:
            self._read()
        except Exception as error:  # noqa: BLE001 - whatever the files hold, the service goes on
            return str(error) or type(error).__name__
        return None

    def _stamp(self) -> Stamp:
        return tuple([_stamp(path) for path in self._paths])


async def follow(watched: Sequence[WatchedFiles], interval: float) -> None:
    """Looks at the files every `interval` seconds until cancelled."""
    while watched:
        await asyncio.sleep(interval)
        for files in watched:
            await files.look()


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
