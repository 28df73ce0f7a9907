"""Creates of the Redis store that end between two of their steps, as when their process is killed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from buraco_service.stores.base import AlreadyRemembered, NewTable, Remembered, Stored, TableExists, TableNotFound
from buraco_service.stores.redis.claims import OPEN_FOR_LONG
from buraco_service.stores.redis.keys import bucket_of
from buraco_service.stores.redis.store import RedisStore
from buraco_service.stores.redis.url import parse
from tests.stores.samples import create

FIRST = NewTable("first", b"state", "waiting", 1000.0, b"entry", "make", b"answer")


@pytest.fixture(params=["redis_url", "redis_cluster_url"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[RedisStore]:
    """A store whose steps can be done one by one."""
    url: str = request.getfixturevalue(request.param)
    store = await RedisStore.open(parse(url.removeprefix("redis://"), tls=False))
    yield store
    await store.close()


async def claim(store: RedisStore, table: NewTable = FIRST) -> str:
    """The first step of a create with the request id "make", and no more; the claim's mark."""
    assert await store._claims._claim("make", "mark", "", table) is None
    return "mark"


async def age_claims(store: RedisStore) -> None:
    """Let the claim have been open for long."""
    opened = store._keys.open_claims(bucket_of("make"))
    assert await store._nodes.call(bucket_of("make"), "ZINCRBY", opened, -2 * OPEN_FOR_LONG, "make") is not None


async def open_claims(store: RedisStore) -> list[bytes]:
    """The requests whose claims are open."""
    bucket = bucket_of("make")
    found: list[bytes] = await store._nodes.call(bucket, "ZRANGE", store._keys.open_claims(bucket), 0, -1)
    return found


async def test_claimed_table_is_not_seen(store: RedisStore) -> None:
    """A create that ended after its claim has left no table."""
    await claim(store)
    with pytest.raises(TableNotFound):
        await store.load("first")
    assert await store.list(None, 10, None) == []


async def test_repeat_carries_a_claim_on(store: RedisStore) -> None:
    """The repeat of a create that ended after its claim makes the first one's table and gets its answer."""
    await claim(store)
    with pytest.raises(AlreadyRemembered) as caught:
        await create(store, "second", request_id="make")
    assert (caught.value.table_id, caught.value.remembered) == ("first", Remembered(1, b"answer"))
    assert await store.list(None, 10, None) == [Stored("first", 1, b"state", "waiting", 1000.0, 1000.0)]
    assert await open_claims(store) == []


async def test_question_carries_a_claim_on(store: RedisStore) -> None:
    """Who asks what a create has made is told of a table that is there."""
    await claim(store)
    assert await store.created("make") == ("first", b"answer")
    assert await store.revision("first") == 1
    assert await open_claims(store) == []


async def test_carried_on_claim_counts_for_its_owner(store: RedisStore) -> None:
    """A table counts for its owner once it is there, whoever carried its create on, and nothing is kept twice."""
    await claim(store, FIRST._replace(owner="ann"))
    assert await store.owned("ann", "waiting") == 0
    assert await store.created("make") == ("first", b"answer")
    assert await store.owned("ann", "waiting") == 1
    held = await store._nodes.call(bucket_of("make"), "HGETALL", store._keys.claim("make"))
    assert held == {b"claim": b"mark", b"table": b"first"}


async def test_table_made_but_not_settled_is_made_once(store: RedisStore) -> None:
    """When a create ended after its table was made, repeats find that table as it is by then."""
    mark = await claim(store)
    assert await store._claims.make(FIRST, mark)
    for _ in range(2):
        with pytest.raises(AlreadyRemembered) as caught:
            await create(store, "second", request_id="make")
        assert caught.value.table_id == "first"
    assert len(await store.log("first", 0, 10)) == 1


async def test_slow_creator_finds_its_table_made(store: RedisStore) -> None:
    """A create that others have carried on meanwhile goes through when it comes to it."""
    mark = await claim(store)
    assert await store.created("make") == ("first", b"answer")
    assert await store._claims.make(FIRST, mark)
    assert len(await store.log("first", 0, 10)) == 1


async def test_claim_on_a_taken_id_is_void(store: RedisStore) -> None:
    """A claim whose table's id another table has is nobody's: the request is free."""
    await create(store, "first")
    await claim(store)
    assert await store.created("make") is None
    with pytest.raises(TableExists):
        await create(store, "first", request_id="make")
    await create(store, "second", request_id="make")
    assert await store.created("make") == ("second", b"answer 1")
    assert (await store.load("first")).state == b"state 1"


@pytest.mark.parametrize("settled", [True, False])
async def test_claim_of_an_expired_table_is_void(store: RedisStore, settled: bool) -> None:
    """When a table has expired and the process ended before it forgot the claim, the request is free all the same."""
    mark = await claim(store)
    assert await store._claims.make(FIRST, mark)
    if settled:
        await store._claims._settle("make", mark)
        forget = store._claims.disclaim

        async def nothing(request_id: str, mark: str) -> None:
            pass

        store._claims.disclaim = nothing  # type: ignore[method-assign]
        assert await store.expire(5000.0, 10) == 1
        store._claims.disclaim = forget  # type: ignore[method-assign]
        assert await store.created("make") is None
    else:
        assert await store.expire(5000.0, 10) == 1
    await create(store, "second", request_id="make")
    assert await store.created("make") == ("second", b"answer 1")
    with pytest.raises(TableNotFound):
        await store.load("first")


async def test_abandoned_claims_are_carried_on(store: RedisStore) -> None:
    """`expire` brings claims to their end that were left open for long, and younger ones not."""
    await claim(store)
    assert await store.expire(500.0, 10) == 0
    assert await open_claims(store) == [b"make"]
    await age_claims(store)
    assert await store.expire(500.0, 10) == 0
    assert await open_claims(store) == []
    assert await store.created("make") == ("first", b"answer")
    assert await store.expire(5000.0, 10) == 1
    assert await store.created("make") is None


async def test_abandoned_void_claims_are_forgotten(store: RedisStore) -> None:
    """A claim left open on an id that was taken goes without a trace."""
    await create(store, "first", now=9000.0)
    await claim(store)
    await age_claims(store)
    assert await store.expire(500.0, 10) == 0
    assert await open_claims(store) == []
    assert await store._nodes.call(bucket_of("make"), "EXISTS", store._keys.claim("make")) == 0
    assert (await store.load("first")).state == b"state 1"
