"""Caches of what functions return, bounded by the bytes that they take."""

from collections.abc import Callable
from functools import cache, update_wrapper
from typing import Final, TypeVar, TypeVarTuple, cast

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

ENTRY: Final = 256
"""Bytes that an entry takes beside its values: its place in the cache, and the tuples of its key and its result."""


class ByteBudget:
    """A number of bytes that caches share. When their entries exceed it, all of them are emptied.

    A hit costs as little as with `functools.cache`, since only misses are counted; what is in use is soon cached again.

    >>> budget = ByteBudget(1 << 20)
    >>> @budget.cached(each=1)
    ... def zeros(count: int) -> bytes:
    ...     return bytes(count)
    >>> zeros(100) is zeros(100), budget.used_bytes
    (True, 356)
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes: Final = max_bytes
        self.used_bytes = 0
        """Bytes of all entries: `max_bytes` at most, or those of a single larger one."""
        self._clear: list[Callable[[], None]] = []

    def cached(self, size: int = 0, *, each: int = 0) -> Callable[[Callable[[*Ts], T]], Callable[[*Ts], T]]:
        """Cache what a function returns, by its arguments; errors are not cached.

        An entry takes `ENTRY` + `size` bytes and `each` for an item of the result.
        """
        base = ENTRY + size

        def decorate(function: Callable[[*Ts], T]) -> Callable[[*Ts], T]:
            def counted(*args: *Ts) -> T:
                result = function(*args)
                entry = base + each * len(result) if each else base  # type: ignore[arg-type]
                self.used_bytes = total = self.used_bytes + entry
                if total > self.max_bytes:
                    self.clear()
                    self.used_bytes = entry
                return result

            cached = cache(counted)
            self._clear.append(cached.cache_clear)
            return cast("Callable[[*Ts], T]", update_wrapper(cached, function))

        return decorate

    def clear(self) -> None:
        """Empty all caches."""
        for clear in self._clear:
            clear()
        self.used_bytes = 0
