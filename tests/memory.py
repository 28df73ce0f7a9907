"""Measures the memory of values."""

import gc
import sys
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

_CODE: Final = (type, Enum, ModuleType, FunctionType, BuiltinFunctionType)
_SMALL: Final = range(-5, 257)


def size_of(value: Any, *shared: type) -> int:
    """Return the bytes of a value and of all that it leads to.

    Apart from code and values of the `shared` types, and from members of enums and small numbers, which are there once.
    """
    found: dict[int, Any] = {}
    ahead = [value]
    while ahead:
        one = ahead.pop()
        if id(one) not in found and not isinstance(one, (*_CODE, *shared)) and not (type(one) is int and one in _SMALL):
            found[id(one)] = one
            ahead += gc.get_referents(one)
    return sum(map(sys.getsizeof, found.values()))
