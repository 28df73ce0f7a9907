"""Caches of what is read from messages and of what is serialised, for what comes again and again."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

from google.protobuf.message import Message

from buraco_rules.caching import ByteBudget

_M = TypeVar("_M", bound=Message)
_T = TypeVar("_T")

SERIALISED: Final = ByteBudget(24 << 20)
"""Values of varying size, as bytes, by the value."""


def cached_by_bytes(
    message: type[_M], *, max_entries: int, max_bytes: int
) -> Callable[[Callable[[_M], _T]], Callable[[_M], _T]]:
    """Cache what a function reads from messages of a type, by their bytes: equal ones give the same object.

    Errors are not cached.

    The cache keeps what was read from the `max_entries` messages used last, none of them longer than `max_bytes`, so
    that nobody can fill the memory. An entry takes at most 16 times the bytes of its message and half a KiB.
    """

    def decorate(read: Callable[[_M], _T]) -> Callable[[_M], _T]:
        @lru_cache(max_entries)
        def read_bytes(data: bytes) -> _T:
            return read(message.FromString(data))

        @wraps(read)
        def read_cached(value: _M) -> _T:
            data = value.SerializeToString()
            return read_bytes(data) if len(data) <= max_bytes else read(value)

        return read_cached

    return decorate
