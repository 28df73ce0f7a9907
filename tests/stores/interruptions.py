"""Interrupt a coroutine between any two of its steps, without depending on time."""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, Literal, TypeVar

S = TypeVar("S")
T = TypeVar("T")
Moment = Literal["waiting", "answered"]


class Interruption(Generic[S]):
    """An action on a subject, once, at a step of the first coroutine that gets there.

    It happens when the coroutine has begun to wait, or before it gets the answer.
    """

    def __init__(self, step: int, moment: Moment, interfere: Callable[[S], None]) -> None:
        self.happened = False
        self._step = step
        self._moment = moment
        self._interfere = interfere

    @types.coroutine
    def within(self, coroutine: Coroutine[Any, Any, T], subject: S) -> Generator[Any, Any, T]:
        """Await a coroutine, and interrupt it on the way."""
        step = 0
        error: BaseException | None = None
        while True:
            try:
                waited_for = coroutine.send(None) if error is None else coroutine.throw(error)
            except StopIteration as end:
                returned: T = end.value
                return returned
            step, error = step + 1, None
            self._reach(step, "waiting", subject)
            try:
                yield waited_for
            except BaseException as raised:  # noqa: BLE001 (it is the coroutine's)
                error = raised
            self._reach(step, "answered", subject)

    def _reach(self, step: int, moment: Moment, subject: S) -> None:
        if (step, moment) == (self._step, self._moment) and not self.happened:
            self.happened = True
            self._interfere(subject)
