from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import jwt
import pytest

from buraco_rules import DrawStock
from buraco_service.access.file_watch import WatchedFiles
from buraco_service.configuration.loading import load
from buraco_service.configuration.settings import Settings
from tests.certificates import Mounted
from tests.service.announcing import Announcing
from tests.service.refusals import refused
from tests.service.scripts import dealt
from tests.service.table_server import create, get, join, serving, start, watch

FIRST = "the first secret of these tests, 32 and more"
SECOND = "the second secret of these tests, 32 and more"
QUICKLY = 0.1
RELOADED = "changed files are in use"
KEPT = "changed files cannot be used, those before are kept"


def has_logged(log_stream: Announcing, event: str, times: int) -> bool:
    """Whether an event was logged so many times."""
    return len(log_stream.lines(event)) >= times


@pytest.fixture
def secrets(tmp_path: Path) -> Mounted:
    """Where the files of keys are."""
    return Mounted(tmp_path / "secrets")


def settings_of(**files: Path) -> Settings:
    """The settings with the keys of these files."""
    return load({f"BURACO_{name.upper()}_FILE": str(path) for name, path in files.items()}, {})


async def test_rotated_signing_keys(tmp_path: Path, secrets: Mounted, log_stream: Announcing) -> None:
    """A new first key signs from then on while tokens of the old one hold, until it is removed from the file."""
    secrets.put(keys=f"old {FIRST}\n")
    path = secrets.path("keys")
    keys = settings_of(signing_keys=path).signing_keys
    async with serving(
        tmp_path / "tables.db", signing_keys=keys, signing_keys_file=path, reload_interval=QUICKLY
    ) as replica:
        table = await create(replica)
        early = await join(replica, table.id)
        secrets.put(keys=f"new {SECOND}\nold {FIRST}\n")
        await log_stream.wait_for(partial(has_logged, log_stream, RELOADED, 1))
        late = await join(replica, table.id)
        assert [jwt.get_unverified_header(player.token)["kid"] for player in (early, late)] == ["old", "new"]
        assert (await early.look()).view.seat == 0
        private, public = early.watch(), watch(replica, table.id)
        for stream in (private, public):
            await stream.expect("state")
        secrets.put(keys=f"new {SECOND}\n")
        await log_stream.wait_for(partial(has_logged, log_stream, RELOADED, 2))
        assert (await refused(early.look())).short == ("UNAUTHENTICATED", "TOKEN_INVALID")
        assert (await late.look()).view.seat == 1
        await late.leave()
        assert (await refused(private.next())).short == ("UNAUTHENTICATED", "TOKEN_INVALID")
        assert (await public.expect("events")).events[0].seat_changed.seat == 1
    assert not any(secret in log_stream.getvalue() for secret in (FIRST, SECOND))


async def test_broken_signing_keys(tmp_path: Path, secrets: Mounted, log_stream: Announcing) -> None:
    """A file of keys that becomes unusable, or goes, changes nothing but the log, which shows none of it."""
    secrets.put(keys=f"old {FIRST}\n")
    path = secrets.path("keys")
    keys = settings_of(signing_keys=path).signing_keys
    async with serving(
        tmp_path / "tables.db", signing_keys=keys, signing_keys_file=path, reload_interval=QUICKLY
    ) as replica:
        mover = (await start(replica))[dealt().seat_to_move]
        secrets.put(keys="new short-secret\n")
        await log_stream.wait_for(partial(has_logged, log_stream, KEPT, 1))
        path.unlink()
        await log_stream.wait_for(partial(has_logged, log_stream, KEPT, 2))
        assert (await mover.submit(DrawStock())).revision == 4
    assert "short-secret" not in log_stream.getvalue()
    first, second = [line["cause"] for line in log_stream.lines(KEPT)]
    assert first == f"{str(path)!r} has a secret of 12 bytes in key 1; 32 are needed"
    assert second == f"{str(path)!r} cannot be read: No such file or directory"


async def test_rotated_api_keys(tmp_path: Path, secrets: Mounted, log_stream: Announcing) -> None:
    """API keys come and go with their file; while a secret is exchanged its name may have both."""
    secrets.put(keys=f"lobby {FIRST}\n")
    path = secrets.path("keys")
    keys = settings_of(api_keys=path).api_keys
    async with serving(tmp_path / "tables.db", api_keys=keys, api_keys_file=path, reload_interval=QUICKLY) as replica:
        first, second = ((("x-api-key", secret),) for secret in (FIRST, SECOND))
        table = await create(replica, metadata=first)
        assert (await refused(create(replica, metadata=second))).reason == "API_KEY_INVALID"
        secrets.put(keys=f"lobby {SECOND}\nlobby {FIRST}\n")
        await log_stream.wait_for(partial(has_logged, log_stream, RELOADED, 1))
        for metadata in (first, second):
            assert (await create(replica, metadata=metadata)).id != table.id
        assert await replica.store.count_owned("lobby", "waiting") == 3
        secrets.put(keys=f"lobby {SECOND}\n")
        await log_stream.wait_for(partial(has_logged, log_stream, RELOADED, 2))
        assert (await refused(create(replica, metadata=first))).reason == "API_KEY_INVALID"
        assert (await get(replica, table.id)).id == table.id


async def test_files_in_the_middle_of_a_change(tmp_path: Path, log_stream: Announcing) -> None:
    """Files that change while they are read are read again, and are not logged before."""
    path = tmp_path / "file"
    path.write_text("one")
    seen: list[str] = []

    def read() -> None:
        seen.append(path.read_text())
        if seen[-1] == "two":
            path.write_text("three")

    files = WatchedFiles("file", [path], read)
    assert seen == ["one"]
    await files.reload_if_changed()
    assert seen == ["one"]
    path.write_text("two")
    await files.reload_if_changed()
    assert log_stream.lines(RELOADED) == []
    await files.reload_if_changed()
    assert seen == ["one", "two", "three"]
    assert [line["what"] for line in log_stream.lines(RELOADED)] == ["file"]
    await files.reload_if_changed()
    assert len(seen) == 3


async def test_file_in_place_of_another(tmp_path: Path, log_stream: Announcing) -> None:
    """A file of the same size and time in place of another is another file."""
    path, fresh = tmp_path / "file", tmp_path / "fresh"
    seen: list[str] = []
    for place, content in ((path, "one"), (fresh, "two")):
        place.write_text(content)
        os.utime(place, (1_000_000_000, 1_000_000_000))
    files = WatchedFiles("file", [path], lambda: seen.append(path.read_text()))
    fresh.replace(path)
    await files.reload_if_changed()
    assert seen == ["one", "two"]
