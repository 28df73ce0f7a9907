from __future__ import annotations

import os
from pathlib import Path

import pytest

from buraco_service.stores.base import StoreUrlError
from buraco_service.stores.urls import open_store
from tests.stores.samples import create


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("sqlite:///tables.db", "tables.db"),
        ("sqlite:///sub/tables.db", "sub/tables.db"),
        ("SQLite:///Tables.DB", "Tables.DB"),
        ("sqlite:///with%20space%3F%23%25.db", "with space?#%.db"),
        ("sqlite:///ünïcode.db", "ünïcode.db"),
        ("sqlite:///./:memory:", ":memory:"),
    ],
)
async def test_relative_url_names_a_file_beside_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, name: str
) -> None:
    """Three slashes name a file by a path from the working directory; percent signs stand for themselves decoded."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    store = await open_store(url)
    await create(store, "t")
    await store.close()
    assert (tmp_path / name).is_file()


async def test_absolute_url_names_a_file_anywhere(tmp_path: Path) -> None:
    """Four slashes name a file by an absolute path, and the same URL finds it again."""
    url = f"sqlite:///{tmp_path}/tables.db"
    assert url.startswith("sqlite:////")
    store = await open_store(url)
    await create(store, "t")
    await store.close()
    store = await open_store(url)
    assert await store.load_revision("t") == 1
    await store.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "no scheme"),
        ("tables.db", "no scheme"),
        ("sqlite:tables.db", "no scheme"),
        ("mysql://host/db", "scheme 'mysql'"),
        ("sqlite://tables.db", "no host"),
        ("sqlite://localhost/tables.db", "no host"),
        ("sqlite://", "no host"),
        ("sqlite:///", "name a file"),
        ("sqlite:///%00", "name a file"),
        ("sqlite:///:memory:", "outlive"),
        ("sqlite:///%3Amemory%3A", "outlive"),
        ("sqlite:///tables.db?mode=memory", "no parameters"),
        ("sqlite:///tables.db#1", "no parameters"),
        ("sqlite:///.", "is a directory"),
        ("sqlite:////", "is a directory"),
        ("sqlite:///nowhere/tables.db", "is no directory"),
    ],
)
async def test_url_that_names_no_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, message: str
) -> None:
    """A URL without a known scheme or a possible file raises StoreUrlError that says why, and makes nothing."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUrlError, match=message):
        await open_store(url)
    assert os.listdir(tmp_path) == []  # noqa: PTH208 (pathlib is not for coroutines)


async def test_passwords_are_not_repeated() -> None:
    """The error does not quote the URL, which may hold a password."""
    with pytest.raises(StoreUrlError) as caught:
        await open_store("mongodb://user:hunter2@host/")
    assert "hunter2" not in str(caught.value)
