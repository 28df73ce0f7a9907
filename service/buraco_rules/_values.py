"""Small values that are made at every move.

Where the rules are compiled this module stays Python, as its name says: the compiler cannot mark its own functions.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make a class a data class that nobody may change.

    The type checker sees to it: a data class that does so itself while the program runs takes four times as long to
    make.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
