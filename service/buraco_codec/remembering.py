"""What is read from messages again and again, remembered by their bytes."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

from google.protobuf.message import Message

from buraco_rules.caching import ByteBudget

_M = TypeVar("_M", bound=Message)
_T = TypeVar("_T")

FORMS: Final = ByteBudget(24 << 20)
"""What is remembered of values whose size varies, by the value, as bytes."""


def remembered(kind: type[_M], *, most: int, largest: int) -> Callable[[Callable[[_M], _T]], Callable[[_M], _T]]:
    """For a function that reads messages of a kind: it is called once for equal ones. Errors are not remembered.

    `most` messages are, of `largest` bytes at most: more than one has in play, so that nobody can fill the memory with
    others. With what is read from it, one takes no more than 16 times its bytes and half a KiB.
    """

    def decorate(read: Callable[[_M], _T]) -> Callable[[_M], _T]:
        @lru_cache(most)
        def from_bytes(data: bytes) -> _T:
            return read(kind.FromString(data))

        @wraps(read)
        def read_once(message: _M) -> _T:
            data = message.SerializeToString()
            return from_bytes(data) if len(data) <= largest else read(message)

        return read_once

    return decorate
