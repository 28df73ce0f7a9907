"""The fair shuffle: a published algorithm of a 32-byte seed, the same in every language.

Stream: block n (n = 0, 1, …) is SHA-256(seed ‖ n as 8 bytes big-endian); the blocks one after another are read as
32-bit big-endian words. Choice below k: take the next word; while it is not below the largest multiple of k in 2^32,
take the next (rejection sampling: no bias); the choice is the word mod k. Shuffle: Fisher-Yates over the deck of
`cards.deck`, for i from the last index down to 1: swap places i and choice(i + 1). The top of the deck is its last
card. The first starter, where it is not given, is the next choice below the number of seats.
"""

import hmac
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

from buraco_rules.problems import Problem

SEED_BYTES: Final = 32
_WORDS: Final = 1 << 32


class SeedStream:
    """Unbiased choices drawn from a seed.

    >>> SeedStream(bytes(32)).choice(below=4) in range(4)
    True
    """

    def __init__(self, seed: bytes) -> None:
        """Begin the stream. Raise ValueError if the seed is not 32 bytes."""
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
        self._words = _words(seed)

    def choice(self, below: int) -> int:
        """Return a number from 0 to below - 1, each as likely as any other."""
        limit = _WORDS - _WORDS % below
        word = next(self._words)
        while word >= limit:
            word = next(self._words)
        return word % below

    def shuffle(self, cards: list[int]) -> None:
        """Shuffle in place (Fisher-Yates)."""
        for last in range(len(cards) - 1, 0, -1):
            other = self.choice(last + 1)
            cards[last], cards[other] = cards[other], cards[last]


def commitment(seed: bytes) -> bytes:
    """Return SHA-256 of a seed, shown before the first card so that the seed shown afterwards can be checked.

    >>> commitment(bytes(32)).hex()[:8]
    '66687aad'
    """
    return sha256(seed).digest()


def server_seed(master_seed: bytes, deal_number: int) -> bytes:
    """Return the server's own seed of one deal of a match, fixed before a player could influence it.

    It is HMAC-SHA256 of the deal's number (4 bytes, big-endian) under the match's secret.

    >>> len(server_seed(b"secret of the match", deal_number=1))
    32
    """
    return hmac.digest(master_seed, deal_number.to_bytes(4, "big"), "sha256")


def mix_seed(server_seed: bytes, entropies: Sequence[bytes]) -> bytes:
    """Return the seed that shuffles: the server's own mixed with what the players added, if any did.

    Mixed, it is SHA-256 of the server's seed and, seat by seat, the entropy's length (4 bytes, big-endian) and the
    entropy.

    >>> mix_seed(bytes(32), ()) == mix_seed(bytes(32), (b"", b"")) == bytes(32)
    True
    >>> mix_seed(bytes(32), (b"", b"dice")) == bytes(32)
    False
    """
    if not any(entropies):
        return server_seed
    return sha256(server_seed + b"".join([len(part).to_bytes(4, "big") + part for part in entropies])).digest()


def seed_problems(seed: bytes, committed: bytes, server_seed: bytes, entropies: Sequence[bytes]) -> Iterator[Problem]:
    """Yield a problem with the path "commitment" if `committed` is not that of the server's seed, and one with the path
    "seed" if `seed` is not the server's mixed with the players' entropy.

    >>> list(seed_problems(bytes(32), commitment(bytes(32)), bytes(32), ()))
    []
    """
    if commitment(server_seed) != committed:
        yield Problem("commitment", "not SHA-256 of the seed that was committed to")
    if mix_seed(server_seed, entropies) != seed:
        yield Problem("seed", "not that of the server mixed with the players' entropy")


def _words(seed: bytes) -> Iterator[int]:
    block = 0
    while True:
        digest = sha256(seed + block.to_bytes(8, "big")).digest()
        for start in range(0, SEED_BYTES, 4):
            yield int.from_bytes(digest[start : start + 4], "big")
        block += 1
