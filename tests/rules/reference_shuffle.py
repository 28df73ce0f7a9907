"""The published shuffle written anew: SHA-256 counter stream, 32-bit words, rejection sampling, Fisher-Yates."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import count


def words(seed: bytes) -> Iterator[int]:
    """The stream of a seed as 32-bit big-endian words."""
    for number in count():
        block = sha256(seed + number.to_bytes(8, "big")).digest()
        yield from (int.from_bytes(block[at : at + 4], "big") for at in range(0, len(block), 4))


def below(stream: Iterator[int], limit: int) -> int:
    """The next choice below a limit, without bias."""
    return next(word % limit for word in stream if word < 2**32 // limit * limit)


def shuffled(seed: bytes, cards: list[int]) -> list[int]:
    """The cards as the shuffle leaves them; the top of the deck is the last."""
    stream, cards = words(seed), list(cards)
    for last in reversed(range(1, len(cards))):
        other = below(stream, last + 1)
        cards[last], cards[other] = cards[other], cards[last]
    return cards


def first_starter(seed: bytes, cards: int, seats: int) -> int:
    """The seat that the stream chooses after shuffling so many cards."""
    stream = words(seed)
    for last in reversed(range(1, cards)):
        below(stream, last + 1)
    return below(stream, seats)
