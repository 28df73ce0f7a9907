"""A cache bounded by the bytes of its values."""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """Values by key, each with its size, up to `max_bytes` bytes. The values used longest ago are evicted first."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes: Final = max_bytes
        self.used_bytes = 0
        """The sizes of all values."""
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key, None if there is none."""
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Cache a value of `size` bytes in place of the key's old one; do not cache one larger than `max_bytes`."""
        self.drop(key)
        if size > self.max_bytes:
            return
        self._entries[key] = value, size
        self.used_bytes += size
        while self.used_bytes > self.max_bytes:
            _, (_, evicted) = self._entries.popitem(last=False)
            self.used_bytes -= evicted

    def drop(self, key: K) -> None:
        """Evict the value of a key, if there is one."""
        found = self._entries.pop(key, None)
        if found is not None:
            self.used_bytes -= found[1]
