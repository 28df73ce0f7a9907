"""A decorator for small values that are made at every move.

Where the rules are compiled this module stays Python, as its name says: the compiler cannot mark its own functions.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make a class a data class that is frozen for the type checker alone: one frozen at run time is slow to make.

    >>> @value
    ... class Point:
    ...     x: int
    >>> Point(1) == Point(1), Point(1)
    (True, Point(x=1))
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
