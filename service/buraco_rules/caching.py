"""Caches of what functions return, bounded by the bytes that they take."""

from collections.abc import Callable
from functools import cache, update_wrapper
from typing import Final, TypeVar, TypeVarTuple, cast

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

ENTRY: Final = 256
"""Bytes that an entry takes beside its values: its place in the cache, and the tuples of its key and its result."""


class ByteBudget:
    """Caches that share a number of bytes. Once their results have filled it, all of them start empty again.

    A hit costs as little as with `functools.cache`: only misses are counted. What is in use is soon back.
    """

    def __init__(self, most: int) -> None:
        self.most: Final = most
        self.taken = 0
        """Bytes of all entries: `most` at most, or those of a single larger one."""
        self._clear: list[Callable[[], None]] = []

    def cached(self, size: int = 0, *, each: int = 0) -> Callable[[Callable[[*Ts], T]], Callable[[*Ts], T]]:
        """Cache the results of a function: an entry takes `size` bytes beside `ENTRY`, and `each` an item."""
        least = ENTRY + size

        def decorate(function: Callable[[*Ts], T]) -> Callable[[*Ts], T]:
            def counted(*args: *Ts) -> T:
                result = function(*args)
                taken = least + each * len(result) if each else least  # type: ignore[arg-type]
                self.taken = total = self.taken + taken
                if total > self.most:
                    self.clear()
                    self.taken = taken
                return result

            cached = cache(counted)
            self._clear.append(cached.cache_clear)
            return cast("Callable[[*Ts], T]", update_wrapper(cached, function))

        return decorate

    def clear(self) -> None:
        """Empty all caches."""
        for clear in self._clear:
            clear()
        self.taken = 0
