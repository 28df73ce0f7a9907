"""A limit on lines of the log, for what strangers can cause at will."""

import time


class LineLimit:
    """At most `maximum` lines are logged in any second; the others are counted."""

    def __init__(self, maximum: int) -> None:
        self._max = maximum
        self._second = 0
        self._lines = 0
        self._omitted = 0

    def has_room(self) -> bool:
        """Count a line; return True if it may be logged."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        if self._lines <= self._max:
            return True
        self._omitted += 1
        return False

    def take_omitted(self) -> int:
        """Return how many lines were not logged since the last call."""
        count, self._omitted = self._omitted, 0
        return count
