"""Files that are read again when they change: certificates and keys that are replaced while the service runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from buraco_service.observing import logs

Stamp: TypeAlias = tuple[tuple[int, int, int, int] | None, ...]


class WatchedFiles:
    """Some files that belong together, and what reads them.

    A change shows in inode, size or time, through links: when Kubernetes replaces the link to a folder of secrets, all
    of them change at once.
    """

    def __init__(self, what: str, paths: Iterable[Path], read: Callable[[], None]) -> None:
        """Read the files, and raise what `read` raises; `what` names them in the log.

        The first stamp is taken before they are read, so that no change is missed.
        """
        self._what = what
        self._paths = tuple(paths)
        self._read = read
        self._seen = self._stamp()
        read()
        self._log = logs.get_logger()

    async def reload_if_changed(self) -> None:
        """Read the files if they changed. Log once if they cannot be used; what was read before stays in use."""
        # On other threads: a file system may be slow, and the loop has calls to answer.
        stamp = await asyncio.to_thread(self._stamp)
        if stamp == self._seen:
            return
        problem = await asyncio.to_thread(self._problem)
        # Replaced while they were read: what was read may be a mixture. The next time they are read once more.
        if stamp != await asyncio.to_thread(self._stamp):
            return
        self._seen = stamp
        if problem is None:
            self._log.info("changed files are in use", what=self._what)
        else:
            self._log.error("changed files cannot be used, those before are kept", what=self._what, cause=problem)

    def _problem(self) -> str | None:
        """Read the files; return why they cannot be used, or None if they can."""
        try:
            self._read()
        except Exception as error:  # noqa: BLE001 - whatever the files hold, the service goes on
            return str(error) or type(error).__name__
        return None

    def _stamp(self) -> Stamp:
        return tuple([_stamp(path) for path in self._paths])


async def watch(watched: Sequence[WatchedFiles], interval: float) -> None:
    """Reload changed files every `interval` seconds until cancelled; return at once if nothing is watched."""
    while watched:
        await asyncio.sleep(interval)
        for files in watched:
            await files.reload_if_changed()


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
