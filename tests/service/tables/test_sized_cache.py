"""The cache that is bounded by the sizes that its values are given."""

from buraco_service.sized_cache import SizedCache


def kept(cache: SizedCache[str, int], keys: str) -> str:
    """Those of the keys that the cache has, which become the ones used last."""
    return "".join([key for key in keys if cache.get(key) is not None])


def test_values_used_longest_ago_are_evicted() -> None:
    """For a new value those make room that were neither got nor put for the longest time, as many as need be."""
    cache = SizedCache[str, int](10)
    for key in "abc":
        cache.put(key, 1, 3)
    assert kept(cache, "a") == "a"
    cache.put("d", 1, 3)
    assert (kept(cache, "abcd"), cache.used_bytes) == ("acd", 9)
    cache.put("e", 1, 7)
    assert (kept(cache, "abcde"), cache.used_bytes) == ("de", 10)


def test_value_is_replaced() -> None:
    """A key has its newest value, and the room of that one alone."""
    cache = SizedCache[str, int](10)
    cache.put("a", 1, 3)
    cache.put("b", 1, 3)
    cache.put("a", 2, 5)
    assert (cache.get("a"), cache.get("b"), cache.used_bytes) == (2, 1, 8)
    cache.drop("a")
    cache.drop("a")
    assert (cache.get("a"), cache.used_bytes) == (None, 3)


def test_value_larger_than_the_cache_is_not_kept() -> None:
    """It evicts nothing but the key's old value."""
    cache = SizedCache[str, int](10)
    cache.put("a", 1, 3)
    cache.put("b", 1, 3)
    cache.put("b", 2, 11)
    assert (kept(cache, "ab"), cache.used_bytes) == ("a", 3)
