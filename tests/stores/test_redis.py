"""The Redis store with one working server."""

from __future__ import annotations

import asyncio
import re
import ssl
from pathlib import Path

import pytest
import trustme
import uvloop
from structlog.testing import capture_logs

from buraco_service.stores.base import (
    KEPT_ANSWERS,
    PRUNE_STEP,
    NewTable,
    RevisionConflict,
    StoreError,
    StoreIncompatible,
    StoreUnavailable,
    TableNotFound,
)
from buraco_service.stores.limits import MAX_NUMBER
from buraco_service.stores.redis.keys import Keys, bucket_of
from buraco_service.stores.urls import open_store
from tests.servers.proxy import proxy
from tests.servers.valkey import Valkey, running, wait_until
from tests.stores.conftest import OpenAt
from tests.stores.samples import advance, create, soon, step, wait_for_revision

# As service/README.md has them.
PERMISSIONS = (
    *("~secret:*", "&secret:*", "+@read", "+@write", "+@scripting", "+@pubsub", "+@connection"),
    *("+time", "+wait", "+cluster|slots", "+config|get"),
)


def keys_of(server: Valkey, url: str) -> list[bytes]:
    """Return all that the server stores for a URL."""
    prefix = url.partition("prefix=")[2]
    return sorted(server.command("KEYS", f"{prefix}*"))


# ---- keys ----


async def test_everything_lies_under_the_prefix(valkey: Valkey, open_at: OpenAt) -> None:
    """Stores with different prefixes on one server do not see each other's tables."""
    one, other = await open_at(f"{valkey.url}?prefix=one:"), await open_at(f"{valkey.url}?prefix=other:")
    before = set(valkey.command("KEYS", "*"))
    await create(one, "t", request_id="make")
    await one.commit(step("t", 1, request_id="r", records=((1, b"deal"),)))
    assert {key.partition(b":")[0] for key in set(valkey.command("KEYS", "*")) - before} == {b"one"}
    with pytest.raises(TableNotFound):
        await other.load("t")
    assert await other.find_answer("t", "make", "r") is None
    assert await other.list_tables(None, 10, None) == []


async def test_expired_tables_leave_nothing_behind(valkey: Valkey, redis_url: str, open_at: OpenAt) -> None:
    """When every table has expired, the server holds the schema version and not a key more."""
    store = await open_at(redis_url)
    empty = keys_of(valkey, redis_url)
    for i in range(20):
        await store.create(
            NewTable(f"t{i}", b"state", "waiting", 1000.0, b"entry", f"make {i}", b"answer", f"owner {i % 3}")
        )
        await store.commit(step(f"t{i}", 1, request_id="r", records=((1, b"deal"),)))
    assert len(keys_of(valkey, redis_url)) > 20 * 6
    assert await store.expire(5000.0, 100) == 20
    assert keys_of(valkey, redis_url) == empty
    assert len(empty) == 1


async def test_pruned_table_does_not_grow(valkey: Valkey, redis_url: str, open_at: OpenAt) -> None:
    """However many commits a table has had, its log, requests and their order stay within what is kept."""
    store = await open_at(redis_url)
    await create(store, "t")
    newest = KEPT_ANSWERS + 3 * PRUNE_STEP
    for revision in range(1, newest):
        await store.commit(step("t", revision, request_id=f"request {revision + 1}", keep_log_after=revision - 10))
    keys = Keys(redis_url.partition("prefix=")[2]).of_table("t")
    assert valkey.command("LLEN", keys.log) <= 10 + PRUNE_STEP
    assert valkey.command("HLEN", keys.requests) <= KEPT_ANSWERS + PRUNE_STEP
    assert valkey.command("LLEN", keys.order) <= KEPT_ANSWERS + PRUNE_STEP


async def test_last_revision_there_can_be(valkey: Valkey, redis_url: str, open_at: OpenAt) -> None:
    """A table at the highest revision takes no further commit, and stays as it is."""
    store = await open_at(redis_url)
    await create(store, "t")
    keys = Keys(redis_url.partition("prefix=")[2]).of_table("t")
    valkey.command("HSET", keys.table, "revision", MAX_NUMBER - 1, "start", MAX_NUMBER - 1)
    assert await store.commit(step("t", MAX_NUMBER - 1, state=b"last")) == MAX_NUMBER
    with pytest.raises(StoreError, match="as many revisions"):
        await store.commit(step("t", MAX_NUMBER))
    stored = await store.load("t")
    assert (stored.revision, stored.state) == (MAX_NUMBER, b"last")


# ---- list, expire ----


@pytest.mark.parametrize("limit", [1, 7, 64, 150, 1000])
async def test_pages_over_all_buckets(redis_url: str, open_at: OpenAt, limit: int) -> None:
    """Page by page, of any size, every table comes once and in order, although they are in many buckets."""
    store = await open_at(redis_url)
    # One bucket has far more than its share.
    ids = [f"a{i}" for i in range(120)]
    ids += [name for name in (f"b{i}" for i in range(6000)) if bucket_of(name) == 5][:80]
    await asyncio.gather(*[create(store, name) for name in ids])
    listed: list[str] = []
    while page := await store.list_tables("waiting", limit, listed[-1] if listed else None):
        listed += [stored.table_id for stored in page]
    assert listed == sorted(ids)


async def test_age_within_the_hour_is_looked_up(redis_url: str, open_at: OpenAt) -> None:
    """Tables written again within the hour do not hide from `expire` those that were not."""
    store = await open_at(redis_url)
    for i in range(30):
        await create(store, f"t{i}", now=3600.0 + i)
        if i != 7:
            await store.commit(step(f"t{i}", 1, now=3700.0))
    assert await store.expire(3650.0, 1) == 1
    with pytest.raises(TableNotFound):
        await store.load_revision("t7")
    assert await store.expire(3650.0, 1) == 0
    assert await store.expire(3701.0, 100) == 29


# ---- scripts ----


async def test_flushed_scripts_are_loaded_again(valkey: Valkey, redis_url: str, open_at: OpenAt) -> None:
    """A server whose scripts were flushed loads them again, and no call fails."""
    store = await open_at(redis_url)
    await create(store, "t")
    for revision in range(2, 6):
        valkey.command("SCRIPT", "FLUSH")
        await advance(store, "t", revision, revision)
        assert len(await store.read_log("t", 0, 10)) == revision
    assert await store.expire(9000.0, 10) == 1


# ---- opening ----


@pytest.mark.parametrize(
    ("found", "message"), [("2", "version 2, and this program knows up to 1"), ("x", "another"), ("0", "another")]
)
async def test_foreign_and_newer_schemas_are_refused(
    valkey: Valkey, redis_url: str, open_at: OpenAt, found: str, message: str
) -> None:
    """A schema that is newer than this program, or none at all, raises StoreIncompatible and stays as it is."""
    schema = Keys(redis_url.partition("prefix=")[2]).schema
    valkey.command("SET", schema, found)
    with pytest.raises(StoreIncompatible, match=message):
        await open_at(redis_url)
    assert valkey.command("GET", schema) == found.encode()


async def test_key_of_another_kind_is_refused(valkey: Valkey, redis_url: str, open_at: OpenAt) -> None:
    """A key that holds what no store wrote raises StoreIncompatible, and a commit that meets it writes nothing."""
    store = await open_at(redis_url)
    await create(store, "t")
    keys = Keys(redis_url.partition("prefix=")[2])
    valkey.command("SET", keys.of_table("other").table, "text")
    for call in (store.load("other"), store.commit(step("other", 1, request_id="r"))):
        with pytest.raises(StoreIncompatible, match="not this store's"):
            await call
    assert await store.load_revision("t") == 1


async def test_unreachable_server(open_at: OpenAt) -> None:
    """When no server listens, opening raises StoreUnavailable that names the address."""
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1 cannot be reached"):
        await open_at("redis://127.0.0.1:1")


async def test_servers_that_are_too_old_are_refused(valkey: Valkey, open_at: OpenAt) -> None:
    """A Redis before 7 raises StoreIncompatible."""

    def older(answer: bytes) -> bytes:
        return re.sub(rb"(version\r\n\$\d+\r\n)\d+", rb"\g<1>6", answer)

    async with proxy(valkey.port, edit=older) as old:
        with pytest.raises(StoreIncompatible, match="too old"):
            await open_at(f"redis://127.0.0.1:{old.port}")


async def test_passwords(valkey: Valkey, open_at: OpenAt) -> None:
    """User and password of the URL log in; wrong ones raise StoreUnavailable that does not quote them."""
    valkey.command("ACL", "SETUSER", "ada", "on", ">hunter2", *PERMISSIONS)
    try:
        store = await open_at(f"redis://ada:hunter2@127.0.0.1:{valkey.port}?prefix=secret:")
        await create(store, "t", request_id="make")
        assert await store.commit(step("t", 1)) == 2
        await store.ping()
        assert len(await store.list_tables("playing", 10, None)) == 1
        async with store.subscribe("t") as subscription:
            await soon(subscription.wait())
        assert await store.expire(9000.0, 10) == 1
        with pytest.raises(StoreUnavailable, match="WRONGPASS") as caught:
            await open_at(f"redis://ada:hunter3@127.0.0.1:{valkey.port}")
        assert "hunter" not in str(caught.value)
        with pytest.raises(StoreUnavailable, match="NOPERM"):
            await open_at(f"redis://ada:hunter2@127.0.0.1:{valkey.port}?prefix=other:")
        valkey.command("ACL", "SETUSER", "ada", "resetchannels")
        with pytest.raises(StoreUnavailable, match="NOPERM"):
            await open_at(f"redis://ada:hunter2@127.0.0.1:{valkey.port}?prefix=secret:")
    finally:
        valkey.command("ACL", "DELUSER", "ada")


async def test_databases_are_apart(valkey: Valkey, open_at: OpenAt) -> None:
    """The path of the URL chooses a database of the server."""
    one, other = await open_at(f"{valkey.url}/1?prefix=db:"), await open_at(f"{valkey.url}/2?prefix=db:")
    await create(one, "t")
    assert await other.list_tables(None, 10, None) == []
    assert valkey.command("KEYS", "db:*") == []
    await create(other, "t")
    async with other.subscribe("t") as subscription:
        await soon(subscription.wait())
        await advance(one, "t", 2, 9)
        await advance(other, "t", 2, 2)
        assert await soon(subscription.wait()) == 2


async def test_tls(valkey: Valkey, open_at: OpenAt, tmp_path: Path) -> None:
    """Over TLS the server shows a certificate of the authority that the URL names, and may ask for the client's."""
    authority, stranger = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    stranger.cert_pem.write_to_path(tmp_path / "stranger.pem")
    authority.issue_cert("client").private_key_and_cert_chain_pem.write_to_path(tmp_path / "client.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    async with proxy(valkey.port, tls=context) as front:
        url = f"rediss://127.0.0.1:{front.port}?prefix=tls:&timeout=2"
        store = await open_at(f"{url}&ca={tmp_path}/ca.pem&cert={tmp_path}/client.pem")
        await create(store, "t")
        async with store.subscribe("t") as subscription:
            await store.commit(step("t", 1))
            await soon(subscription.wait())
        for refused in (f"{url}&ca={tmp_path}/stranger.pem&cert={tmp_path}/client.pem", f"{url}&ca={tmp_path}/ca.pem"):
            with pytest.raises(StoreUnavailable):
                await open_at(refused)
        await store.close()


# ---- what operators are told ----


async def test_durability_is_told(valkey: Valkey, redis_url: str, open_at: OpenAt) -> None:
    """A server that may lose acknowledged moves is warned of when the store is opened, and one that does not is not."""
    told = []
    for appendonly, appendfsync in (("no", "everysec"), ("yes", "everysec"), ("yes", "always")):
        valkey.command("CONFIG", "SET", "appendonly", appendonly, "appendfsync", appendfsync)
        with capture_logs() as logs:
            await open_at(redis_url)
        told.append([(line["log_level"], line["event"].partition(":")[0]) for line in logs])
    valkey.command("CONFIG", "SET", "appendonly", "no")
    assert told == [[("warning", "redis is not durable")], [("warning", "redis is not fully durable")], []]


async def test_server_that_evicts_tables_is_refused(valkey: Valkey, redis_url: str, open_at: OpenAt) -> None:
    """With a limit of memory and an eviction policy that reaches tables, opening raises StoreIncompatible."""
    try:
        valkey.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        with capture_logs() as logs:
            await open_at(redis_url)
        assert "redis would evict tables if maxmemory were set" in [line["event"] for line in logs]
        valkey.command("CONFIG", "SET", "maxmemory", "1gb")
        with pytest.raises(StoreIncompatible, match="set maxmemory-policy noeviction, not allkeys-lru"):
            await open_at(redis_url)
    finally:
        valkey.command("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction")


async def test_configuration_may_be_secret(valkey: Valkey, open_at: OpenAt) -> None:
    """A server that does not show its configuration, as hosted ones do, is accepted."""
    valkey.command("ACL", "SETUSER", "guest", "on", ">pass", "~*", "&*", "+@all", "-config")
    try:
        with capture_logs() as logs:
            store = await open_at(f"redis://guest:pass@127.0.0.1:{valkey.port}?prefix=guest:")
        assert [line["event"] for line in logs] == ["redis does not show its configuration"]
        await create(store, "t")
    finally:
        valkey.command("ACL", "DELUSER", "guest")


async def test_configuration_may_be_unknown(tmp_path: Path, open_at: OpenAt) -> None:
    """A server that has no command for its configuration is accepted, too."""
    with running(tmp_path, "--rename-command", "CONFIG", "") as server, capture_logs() as logs:
        await create(await open_at(server.url), "t")
    assert [line["event"] for line in logs] == ["redis does not show its configuration"]


async def test_watching_that_is_refused_is_told(valkey: Valkey, open_at: OpenAt) -> None:
    """When the server refuses subscriptions, a warning is logged, and they are made again once it allows them."""
    valkey.command("ACL", "SETUSER", "deaf", "on", ">pass", "~*", "&*", "+@all", "-ssubscribe")
    try:
        with capture_logs() as logs:
            store = await open_at(f"redis://deaf:pass@127.0.0.1:{valkey.port}?prefix=deaf:")
            await create(store, "t")
            async with store.subscribe("t") as subscription:
                await asyncio.to_thread(
                    wait_until, lambda: "store notifications lost" in [line["event"] for line in logs]
                )
                valkey.command("ACL", "SETUSER", "deaf", "+ssubscribe")
                await soon(subscription.wait())
                await store.commit(step("t", 1))
                assert await soon(subscription.wait()) == 2
    finally:
        valkey.command("ACL", "DELUSER", "deaf")


# ---- replicas ----


async def test_message_of_somebody_else_is_no_harm(valkey: Valkey, redis_url: str, open_at: OpenAt) -> None:
    """A message of another program on a table's channel breaks no connection, and changes still wake."""
    store = await open_at(redis_url)
    channel = Keys(redis_url.partition("prefix=")[2]).of_table("t").channel
    async with store.subscribe("t") as subscription:
        await soon(subscription.wait())
        listening = re.findall(rb"^id=(\d+)", valkey.command("CLIENT", "LIST", "TYPE", "PUBSUB"), re.MULTILINE)
        for message in ("hello", "-1", "1.5", b"\xff"):
            assert valkey.command("SPUBLISH", channel, message) == 1
        await create(store, "t")
        await wait_for_revision(subscription, 1)
        for revision in range(1, 10):
            await store.commit(step("t", revision))
            await wait_for_revision(subscription, revision + 1)
        assert listening == re.findall(rb"^id=(\d+)", valkey.command("CLIENT", "LIST", "TYPE", "PUBSUB"), re.MULTILINE)


async def test_commit_without_its_replicas_is_not_acknowledged(valkey: Valkey, open_at: OpenAt) -> None:
    """With `replicas=1` and no replica a commit raises StoreUnavailable, as it may be lost; a read is answered."""
    careful = await open_at(f"{valkey.url}?prefix=careful:&replicas=1&timeout=1")
    careless = await open_at(f"{valkey.url}?prefix=careful:")
    await create(careless, "t")
    with pytest.raises(StoreUnavailable, match="too few replicas"):
        await careful.commit(step("t", 1))
    assert await careful.load_revision("t") == 2
    with pytest.raises(RevisionConflict):
        await careless.commit(step("t", 1))
    assert len(await careful.read_log("t", 0, 10)) == 2


async def test_uvloop(redis_url: str) -> None:
    """On uvloop, which the service runs on where it is installed, the store does the same."""

    async def play() -> tuple[int, int | None]:
        store = await open_store(redis_url)
        await create(store, "t", request_id="make")
        async with store.subscribe("t") as subscription:
            await soon(subscription.wait())
            await advance(store, "t", 2, 30)
            told = await soon(subscription.wait())
        revision = await store.load_revision("t")
        await store.close()
        return revision, told

    revision, told = await asyncio.to_thread(uvloop.run, play())
    assert revision == 30
    assert told is not None
    assert 2 <= told <= 30
