"""A cache bounded by the bytes of its values, as their sizes are given."""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """Values by key, in `most` bytes: those used longest ago are evicted first."""

    def __init__(self, most: int) -> None:
        self.most: Final = most
        self.taken = 0
        """Bytes of all values."""
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key, None where there is none."""
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Cache a value of so many bytes, in place of the key's old one. A value larger than the cache is not kept."""
        found = self._entries.pop(key, None)
        if found is not None:
            self.taken -= found[1]
        if size > self.most:
            return
        self._entries[key] = value, size
        self.taken += size
        while self.taken > self.most:
            _, (_, evicted) = self._entries.popitem(last=False)
            self.taken -= evicted

    def drop(self, key: K) -> None:
        """Evict the value of a key, if there is one."""
        found = self._entries.pop(key, None)
        if found is not None:
            self.taken -= found[1]
