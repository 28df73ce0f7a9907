"""The file in which finished pairs are kept, so that an arena that was stopped goes on where it was.

It is JSON lines: the first holds what is played, each of the others a finished pair. A last line that is not whole,
because the process was killed while writing it, is dropped.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from buraco_bots.arena.figures import PairFigures

_BEGINNING: Final = b'{"settings":'


class JournalMismatch(Exception):
    """The file is no journal, or of an arena with other settings. The message names the difference."""


class Journal:
    """Finished pairs in a file; a context manager that has it open, and no other process meanwhile. None keeps nothing.

    with Journal(Path("kept.jsonl"), {"seed": "arena"}) as journal:
        journal.add(pair)
    """

    def __init__(self, path: Path | None, settings: dict[str, Any]) -> None:
        """`settings`: what is played; pairs of other settings are not continued."""
        self._path = path
        self._settings = json.loads(json.dumps(settings))
        self._file: IO[bytes] | None = None
        self.finished: list[PairFigures] = []
        """What was found when it was opened."""

    def __enter__(self) -> Self:
        """Raise JournalMismatch, or OSError for a file that cannot be read and written."""
        if self._path is None:
            return self
        self._file = self._path.open("a+b")
        try:
            self._open(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def _open(self, file: IO[bytes]) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalMismatch(f"{self._path} is used by another arena") from None
        file.seek(0)
        whole, newline, rest = file.read().rpartition(b"\n")
        if newline:
            self._read(whole.split(b"\n"))
        elif not _BEGINNING.startswith(rest[: len(_BEGINNING)]):
            raise JournalMismatch(f"{self._path} is no journal of an arena")
        file.truncate(len(whole + newline))
        if not newline:
            self._write({"settings": self._settings})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, pair: PairFigures) -> None:
        """Keep a finished pair; it is on the disk when this returns."""
        if self._file is not None:
            self._write(pair.to_json())

    def _write(self, values: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(values, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, lines: list[bytes]) -> None:
        try:
            settings = json.loads(lines[0])["settings"]
            pairs = [PairFigures.from_json(json.loads(line)) for line in lines[1:]]
        except (KeyError, TypeError, ValueError) as error:
            raise JournalMismatch(f"{self._path} is no journal of an arena: {error!r}") from None
        for name in sorted({*settings, *self._settings}):
            before, now = settings.get(name), self._settings.get(name)
            if before != now:
                raise JournalMismatch(f"{self._path} is of an arena with another {name}: {before!r}, not {now!r}")
        self.finished = pairs
