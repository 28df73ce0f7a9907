"""Who plays whom, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal

Format = Literal["round-robin", "gauntlet"]


def pairings(contenders: Sequence[str], form: Format) -> list[tuple[str, str]]:
    """Return the pairings: everybody against everybody, or the first contender against each of the others.

    >>> pairings(["a", "b", "c"], "round-robin")
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    >>> pairings(["a", "b", "c"], "gauntlet")
    [('a', 'b'), ('a', 'c')]
    """
    if form == "gauntlet":
        return [(contenders[0], other) for other in contenders[1:]]
    return list(combinations(contenders, 2))


def schedule(pairs: Sequence[tuple[str, str]], count: int) -> Iterator[tuple[str, str, int]]:
    """Yield (first, second, number) of `count` pairs of matches of every pairing, so that all advance alike.

    >>> list(schedule([("a", "b"), ("a", "c")], 2))
    [('a', 'b', 0), ('a', 'c', 0), ('a', 'b', 1), ('a', 'c', 1)]
    """
    for number in range(count):
        for first, second in pairs:
            yield first, second, number
