"""The file in which finished pairs are kept, so that an arena that was stopped goes on where it was.

It is JSON lines: the first holds what is played, each of the others a finished pair. A last line that is not whole,
because the process was killed while writing it, is dropped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from buraco_bots.arena.pairs import PairFigures


class JournalMismatch(Exception):
    """The file is no journal, or of an arena with other settings. The message names the difference."""


class Journal:
    """Finished pairs in a file; a context manager that has it open. None keeps nothing."""

    def __init__(self, path: Path | None, settings: dict[str, Any]) -> None:
        self._path = path
        self._settings = json.loads(json.dumps(settings))
        self._file: Any = None
        self.finished: list[PairFigures] = []
        """What was found when it was opened."""

    def __enter__(self) -> Self:
        """Raise JournalMismatch, or OSError for a file that cannot be read and written."""
        if self._path is None:
            return self
        text = self._path.read_text() if self._path.exists() else ""
        whole, _, _ = text.rpartition("\n")
        if whole:
            self._read(whole.split("\n"))
        self._file = self._path.open("r+" if text else "w")
        if whole:
            self._file.seek(len((whole + "\n").encode()))
            self._file.truncate()
        else:
            self._file.truncate(0)
            self._write({"settings": self._settings})
        return self

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
        self._file.write(json.dumps(values, separators=(",", ":")) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, lines: list[str]) -> None:
        try:
            settings = json.loads(lines[0])["settings"]
            self.finished = [PairFigures.from_json(json.loads(line)) for line in lines[1:]]
        except (KeyError, TypeError, ValueError) as error:
            raise JournalMismatch(f"{self._path} is no journal of an arena: {error!r}") from None
        for name in sorted({*settings, *self._settings}):
            before, now = settings.get(name), self._settings.get(name)
            if before != now:
                raise JournalMismatch(f"{self._path} is of an arena with another {name}: {before!r}, not {now!r}")
