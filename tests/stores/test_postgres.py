"""The PostgreSQL store with a working server: its URLs, rights, batches and locks."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest
from structlog.testing import capture_logs

from buraco_service.stores.base import (
    NewTable,
    RevisionConflict,
    Store,
    StoreIncompatible,
    StoreUnavailable,
    StoreUrlError,
)
from buraco_service.stores.limits import MAX_NUMBER
from buraco_service.stores.postgres.connect import parse_url
from buraco_service.stores.postgres.listen import parse_notification
from buraco_service.stores.urls import open_store
from tests.servers.postgres import PostgresServer
from tests.stores.samples import PATIENCE, advance, create, soon, step, wait_for_revision

README = Path(__file__).parents[2] / "service/README.md"


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    """A store without tables."""
    store = await open_store(postgres_url)
    yield store
    await store.close()


@pytest.fixture
async def other(postgres_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection of another program to the same database."""
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


# ---- URLs ----


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("user:hunter2@host/db#1", "fragment"),
        ("user:hunter2@host/db?sslmode=hunter3", "sslmode"),
        ("user:hunter2@host/db?keepalives=1", "'keepalives'"),
        ("user:hunter2@host/db?sslmode", "name=value"),
        ("user:1?hunter2=hunter2@host/db", "%3F"),
        ("user:hunter2@host/db?connect_timeout=soon", "connect_timeout"),
        ("user:hunter2@host/db?connect_timeout=0", "connect_timeout"),
        ("user:hunter2@host/db?connect_timeout=inf", "connect_timeout"),
        ("user:hunter2@host:port/db", "port"),
        ("user:hunter2@[host/db", "postgresql://user"),
        ("user:hunter2@host/db?sslmode=verify-full&sslrootcert=/nowhere/root.crt", "root.crt"),
    ],
)
async def test_url_that_cannot_be_used_is_refused(rest: str, message: str) -> None:
    """A URL that names no database raises StoreUrlError, which says what is wrong and quotes no password."""
    with pytest.raises(StoreUrlError, match=message) as caught:
        await open_store(f"postgresql://{rest}")
    assert "hunter2" not in str(caught.value)


async def test_parameters_of_libpq_are_understood(postgres_server: PostgresServer, postgres_url: str) -> None:
    """Host, port, user and database may be parameters, the scheme may be short, and the application name is sent."""
    name = postgres_url.rpartition("/")[2].partition("?")[0]
    query = f"host=127.0.0.1&port={postgres_server.port}&user=postgres&dbname={name}&application_name=table%20one"
    store = await open_store(f"postgres://?{query}&sslmode=prefer&connect_timeout=20&target_session_attrs=read-write")
    await create(store, "t")
    assert "table one" in postgres_server.sql("SELECT application_name FROM pg_stat_activity")
    await store.close()


@pytest.mark.parametrize(
    ("user", "database", "parameters", "message"),
    [
        ("postgres", "no_such_database", "sslmode=disable", "does not exist"),
        ("no_such_role", "postgres", "sslmode=disable", "does not exist"),
        ("postgres", "postgres", "sslmode=require", "SSL"),
    ],
)
async def test_server_that_lets_nobody_in_is_unavailable(
    postgres_server: PostgresServer, user: str, database: str, parameters: str, message: str
) -> None:
    """Any reason why the program cannot connect is StoreUnavailable, with that reason."""
    with pytest.raises(StoreUnavailable, match=message):
        await open_store(f"postgresql://{user}@127.0.0.1:{postgres_server.port}/{database}?{parameters}")


async def test_absent_server_is_unavailable() -> None:
    """A port without a server is StoreUnavailable at once."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await soon(open_store(f"postgresql://u@127.0.0.1:{port}/db"))


async def test_certificates_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """A file that holds no certificate is named in the message."""
    file = tmp_path / "root.pem"
    await asyncio.to_thread(file.write_text, "no certificate")
    with pytest.raises(StoreUnavailable, match=re.escape(f"({file})")):
        await open_store(f"postgresql://u@127.0.0.1:1/db?sslmode=verify-full&sslrootcert={file}")


async def test_silent_server_is_unavailable() -> None:
    """A server that accepts the connection and does not answer is StoreUnavailable after connect_timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/db?sslmode=disable&connect_timeout=0.1"
        with pytest.raises(StoreUnavailable, match="in time"):
            await soon(open_store(url))


def test_password_is_not_shown() -> None:
    """The representation of a target omits the password."""
    assert "hunter2" not in repr(parse_url("user:hunter2@host/db?sslpassword=hunter2"))


def test_driver_is_loaded_only_for_postgresql() -> None:
    """Serving from another store does not import the driver."""
    program = (
        "import sys, buraco_service.commands.serve, buraco_service.commands.migrate; sys.exit('asyncpg' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


# ---- what is there ----


async def test_database_that_cannot_keep_every_text_is_refused(postgres_server: PostgresServer) -> None:
    """A database in another encoding than UTF-8 is StoreIncompatible."""
    postgres_server.sql("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(StoreIncompatible, match="UTF8"):
        await open_store(postgres_server.url("latin"))


async def test_rights_on_rows_are_enough_to_serve(postgres_server: PostgresServer, postgres_url: str) -> None:
    """A role that has the rights of service/README.md serves; without that the database is refused."""
    name = postgres_url.rpartition("/")[2].partition("?")[0]
    postgres_server.sql("CREATE ROLE serving LOGIN")
    try:
        with pytest.raises(StoreIncompatible, match="permission denied"):
            await open_store(postgres_server.url(name, "serving"))
        grants = README.read_text().partition("```sql\n")[2].partition("```")[0]
        assert grants.count("TO serving;") == 2
        postgres_server.sql(grants, name)
        store = await open_store(postgres_server.url(name, "serving"))
        await create(store, "t", request_id="make")
        await store.commit(step("t", 1, request_id="r", records=((1, b"deal"),)))
        assert await store.expire(5000.0, 10) == 1
        assert await store.ledger.append("ann", 1, "key", b"entry")
        await store.close()
    finally:
        postgres_server.sql("DROP OWNED BY serving; DROP ROLE serving", name)


async def test_setting_that_loses_commits_is_warned_of(postgres_server: PostgresServer, postgres_url: str) -> None:
    """With synchronous_commit off the log has a warning "store not durable"."""
    name = postgres_url.rpartition("/")[2].partition("?")[0]

    async def warned() -> list[str]:
        with capture_logs() as lines:
            await (await open_store(postgres_url)).close()
        return [line["setting"] for line in lines if line["event"] == "store not durable"]

    assert await warned() == ["fsync"]  # as the tests' server is
    postgres_server.sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    try:
        assert await warned() == ["fsync", "synchronous_commit"]
    finally:
        postgres_server.sql(f"ALTER DATABASE {name} RESET synchronous_commit")


# ---- batches ----


async def test_commits_made_together_share_a_transaction(store: Store, other: asyncpg.Connection) -> None:
    """Commits of many tables at once take few transactions."""
    ids = [f"t{i}" for i in range(40)]
    for table_id in ids:
        await create(store, table_id)
    await asyncio.gather(*[store.commit(step(table_id, 1)) for table_id in ids])
    assert await other.fetchval("SELECT count(DISTINCT xmin::text) FROM buraco.tables") <= 2


async def test_chain_of_commits_to_one_table_may_share_a_transaction(store: Store) -> None:
    """Commits to one table keep their order among others, so that each may build on the one before."""
    for table_id in ("a", "t", "z"):
        await create(store, table_id)
    steps = [step(table_id, revision) for revision in range(1, 30) for table_id in ("z", "t", "a")]
    made = await asyncio.gather(*map(store.commit, steps))
    assert made == [commit.expected_revision + 1 for commit in steps]


async def test_record_given_twice_is_the_later_one(store: Store) -> None:
    """Of two records of one deal in one commit the later stays."""
    await create(store, "t")
    await store.commit(step("t", 1, records=((1, b"first"), (2, b"other"), (1, b"second"))))
    assert await store.read_records("t", 0, 10) == [(1, b"second"), (2, b"other")]


@contextlib.contextmanager
def trouble_with_entry(server: PostgresServer, url: str, code: str, entry: str, times: int) -> Iterator[None]:
    """Make the server raise an error with this SQLSTATE for a number of attempts to write this log entry."""
    name = url.rpartition("/")[2].partition("?")[0]
    server.sql(
        "CREATE SEQUENCE troubles; CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF NEW.payload = '{entry}' AND nextval('troubles') <= {times} THEN"
        f" RAISE 'trouble' USING ERRCODE = '{code}', DETAIL = 'Row (hidden card)'; END IF; RETURN NEW; END $$;"
        " CREATE TRIGGER trouble BEFORE INSERT ON buraco.log FOR EACH ROW EXECUTE FUNCTION trouble()",
        name,
    )
    try:
        yield
    finally:
        server.sql("DROP FUNCTION trouble CASCADE; DROP SEQUENCE troubles", name)


@pytest.mark.parametrize("code", ["40001", "40P01"], ids=["serialization", "deadlock"])
async def test_transaction_that_may_be_tried_again_is(
    store: Store, postgres_server: PostgresServer, postgres_url: str, code: str
) -> None:
    """Serialization failures and deadlocks are retried, and callers do not see them."""
    await create(store, "t")
    await create(store, "u")
    with trouble_with_entry(postgres_server, postgres_url, code, "bad", 3):
        made = await asyncio.gather(store.commit(step("t", 1, entry=b"bad")), store.commit(step("u", 1)))
    assert list(made) == [2, 2]
    assert len(await store.read_log("t", 0, 10)) == 2


@pytest.mark.parametrize(
    "code", ["40001", "53100", "57014", "55P03"], ids=["lasting", "disk full", "timeout", "locked"]
)
async def test_trouble_of_the_server_is_unavailable(
    store: Store, postgres_server: PostgresServer, postgres_url: str, code: str
) -> None:
    """An error of the server is StoreUnavailable, and nothing is written."""
    await create(store, "t")
    with trouble_with_entry(postgres_server, postgres_url, code, "bad", 1000):
        with pytest.raises(StoreUnavailable) as caught:
            await store.commit(step("t", 1, entry=b"bad", status="lost", request_id="r"))
        assert "hidden card" not in "".join(traceback.format_exception(caught.value))
        with pytest.raises(StoreUnavailable):
            await store.create(NewTable("new", b"", "new", 1.0, b"bad", "make", b""))
    assert await store.load_revision("t") == 1
    assert await store.find_answer("t", "r") is None
    assert await store.find_answer("new", "make") is None
    assert await store.commit(step("t", 1)) == 2


async def test_commit_that_breaks_its_transaction_does_not_take_its_neighbours_along(
    store: Store, postgres_server: PostgresServer, postgres_url: str
) -> None:
    """When one commit of a batch fails, the others are made."""
    ids = [f"t{i}" for i in range(10)]
    for table_id in ids:
        await create(store, table_id)
    with trouble_with_entry(postgres_server, postgres_url, "P0001", "bad", 1000):
        results = await asyncio.gather(
            *[store.commit(step(table_id, 1, entry=b"bad" if table_id == "t4" else None)) for table_id in ids],
            return_exceptions=True,
        )
    broken = results.pop(4)
    assert isinstance(broken, asyncpg.RaiseError)
    assert "hidden card" not in "".join(traceback.format_exception(broken))
    assert results == [2] * 9
    assert await store.load_revision("t4") == 1


async def test_last_revision_is_not_passed(store: Store, other: asyncpg.Connection) -> None:
    """A table with the highest revision takes no further commit."""
    await create(store, "t")
    await other.execute("UPDATE buraco.tables SET revision = $1", MAX_NUMBER)
    with pytest.raises(Exception, match="as many revisions as there can be"):
        await store.commit(step("t", MAX_NUMBER))
    with pytest.raises(RevisionConflict):
        await store.commit(step("t", MAX_NUMBER - 1))


# ---- locks of others ----


async def test_expiry_passes_over_tables_in_use(store: Store, other: asyncpg.Connection) -> None:
    """A table that is being written does not delay the removal of others."""
    await create(store, "a")
    await create(store, "b")
    async with other.transaction():
        await other.execute("SELECT FROM buraco.tables WHERE table_id = 'a' FOR UPDATE")
        assert await soon(store.expire(5000.0, 10)) == 1
        assert await store.load_revision("a") == 1
    assert await store.expire(5000.0, 10) == 1


async def test_commit_waits_for_the_winner_of_its_race(store: Store, other: asyncpg.Connection) -> None:
    """A commit that meets another's unfinished one waits, and then raises RevisionConflict with the new revision."""
    await create(store, "t")
    transaction = other.transaction()
    await transaction.start()
    await other.execute("UPDATE buraco.tables SET revision = 2 WHERE table_id = 't'")
    commit = asyncio.ensure_future(store.commit(step("t", 1)))
    while not await other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
        assert not commit.done()
    await transaction.commit()
    with pytest.raises(RevisionConflict) as caught:
        await soon(commit)
    assert caught.value.current == 2


async def test_lock_held_for_too_long_is_unavailable(
    postgres_server: PostgresServer, postgres_url: str, other: asyncpg.Connection
) -> None:
    """A statement that the server cancels after its statement_timeout is StoreUnavailable."""
    name = postgres_url.rpartition("/")[2].partition("?")[0]
    postgres_server.sql(f"ALTER DATABASE {name} SET statement_timeout = '1500ms'")
    try:
        store = await open_store(postgres_url)
    finally:
        postgres_server.sql(f"ALTER DATABASE {name} RESET statement_timeout")
    await create(store, "t")
    async with other.transaction():
        await other.execute("SELECT FROM buraco.tables FOR UPDATE")
        with pytest.raises(StoreUnavailable, match="57014"):
            await soon(store.commit(step("t", 1)))
    assert await store.commit(step("t", 1)) == 2
    await store.close()


# ---- notifications ----


def test_notification_names_tables_of_any_text() -> None:
    """A payload is parsed by lengths, so that an id may look like a part of it."""
    odd = ["t", "1 1 x", "é\n\U0001f0cf", " "]
    payload = "".join(f"{revision} {len(table_id)} {table_id}" for revision, table_id in enumerate(odd))
    assert list(parse_notification(payload)) == [("t", None), ("1 1 x", 1), ("é\n\U0001f0cf", 2), (" ", 3)]


async def test_notification_of_somebody_else_is_no_harm(store: Store, other: asyncpg.Connection) -> None:
    """Notifications of another program on the channel are ignored, and wake-ups still come."""
    async with store.subscribe("t") as subscription:
        for payload in ("", "hello", "1 2", "1 x t", "-", "1 -5 t", "5 2 tt"):
            await other.execute("SELECT pg_notify('buraco', $1)", payload)
        await create(store, "t")
        await wait_for_revision(subscription, 1)


async def test_many_changes_at_once_are_all_told(store: Store, postgres_url: str) -> None:
    """A transaction that changes more tables than one notification can name wakes all subscriptions elsewhere."""
    ids = [f"{i:03}" + "\U0001f0cf" * 190 for i in range(30)]
    there = await open_store(postgres_url)
    for table_id in ids:
        await create(store, table_id)
    async with contextlib.AsyncExitStack() as stack:
        waiting = [await stack.enter_async_context(there.subscribe(table_id)) for table_id in ids]
        await asyncio.gather(*[store.commit(step(table_id, 1)) for table_id in ids])
        for subscription in waiting:
            await wait_for_revision(subscription, 2)
    await there.close()


async def test_pooler_that_loses_notifications_is_refused(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When LISTEN has no effect, as behind a pooler in transaction mode, opening raises StoreIncompatible."""
    monkeypatch.setattr("buraco_service.stores.postgres.listen._VERIFY_SECONDS", 0.1)
    add_listener = asyncpg.Connection.add_listener

    async def unlistened(connection: asyncpg.Connection, channel: str, callback: object) -> None:
        await add_listener(connection, channel, callback)  # type: ignore[arg-type]
        await connection.execute("UNLISTEN *")  # what the next transaction on another session comes down to

    monkeypatch.setattr(asyncpg.Connection, "add_listener", unlistened)
    with pytest.raises(StoreIncompatible, match="session mode"):
        await open_store(postgres_url)


async def test_ordinary_commit_leaves_the_indexes_alone(store: Store, other: asyncpg.Connection) -> None:
    """Commits that change no status are heap-only updates, so that no index grows with the moves of a table."""

    async def updates() -> tuple[int, int]:
        row = await other.fetchrow(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
            " WHERE schemaname = 'buraco' AND relname = 'tables'"
        )
        assert row is not None
        return row[0], row[1]

    await create(store, "t", status="playing", now=2000.0)
    before, hot_before = await updates()
    await advance(store, "t", 2, 200)
    await store.close()  # a session tells what it did when it ends, or some time later
    after, hot = await updates()
    async with asyncio.timeout(PATIENCE):
        while after < before + 199:
            after, hot = await updates()
    assert hot - hot_before > 0.9 * 199
