from __future__ import annotations

from pathlib import Path

import pytest

from buraco_service.stores.base import StoreUrlError
from buraco_service.stores.redis.url import Address, parse_url
from buraco_service.stores.urls import open_store


@pytest.mark.parametrize(
    ("rest", "addresses"),
    [
        ("localhost", [("localhost", 6379)]),
        ("localhost:7000", [("localhost", 7000)]),
        ("a:1,b,c:3/0", [("a", 1), ("b", 6379), ("c", 3)]),
        ("u:p@[::1]:7000,[fe80::1]", [("::1", 7000), ("fe80::1", 6379)]),
    ],
)
def test_hosts(rest: str, addresses: list[tuple[str, int]]) -> None:
    """A URL names one or more servers, by name or address; the port may be left out."""
    assert parse_url(rest, tls=False).addresses == tuple(Address(*address) for address in addresses)


def test_defaults() -> None:
    """A bare host means no password, database 0, keys under `buraco:`, a timeout of five seconds, no TLS."""
    place = parse_url("host", tls=False)
    assert place[1:] == (None, None, 0, None, "buraco:", 5.0, 0)


def test_everything_said() -> None:
    """User, password, database and parameters are taken as written, percent signs decoded."""
    place = parse_url("me:p%40ss%2F:@host/3?prefix=a/b.c_d-1:&timeout=0.5&replicas=2", tls=False)
    assert place[1:] == ("me", "p@ss/:", 3, None, "a/b.c_d-1:", 0.5, 2)


def test_password_alone() -> None:
    """A password without a user is the default user's."""
    place = parse_url(":secret@host", tls=False)
    assert (place.username, place.password) == (None, "secret")


def test_representation_has_no_secret() -> None:
    """The representation of a place shows only its servers."""
    assert repr(parse_url("me:hunter2@a,b:1/2?prefix=x:", tls=False)) == "Place(a:6379, b:1)"


def test_rediss_checks_certificates() -> None:
    """With rediss the server has to show a certificate."""
    context = parse_url("host", tls=True).tls
    assert context is not None
    assert context.check_hostname


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis://", "names hosts"),
        ("redis:///0", "names hosts"),
        ("redis://a,,b", "names hosts"),
        ("redis://::1", "names hosts"),
        ("redis://host name", "names hosts"),
        ("redis://host:0", "a port"),
        ("redis://host:65536", "a port"),
        ("redis://host/x", "the database"),
        ("redis://host/-1", "the database"),
        ("redis://me@host", "needs a password"),
        ("redis://host?prefix=", "the prefix"),
        ("redis://host?prefix={tag}", "the prefix"),
        ("redis://host?timeout=0", "the timeout"),
        ("redis://host?timeout=soon", "the timeout"),
        ("redis://host?replicas=-1", "replicas"),
        ("redis://host?tls=yes", "no parameter 'tls'"),
        ("redis://host?ca=ca.pem", "no parameter 'ca'"),
        ("redis://host?timeout=1&timeout=2", "twice"),
        ("redis://host?timeout", "name=value"),
        ("rediss://host?ca=nowhere.pem", r"\(nowhere.pem\) cannot be used"),
        ("rediss://host?cert=nowhere.pem", r"\(nowhere.pem\) cannot be used"),
        ("rediss://host?key=nowhere.pem", "needs its cert"),
    ],
)
async def test_url_that_names_no_redis_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, message: str
) -> None:
    """A broken URL raises StoreUrlError that says what is wrong with it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUrlError, match=message):
        await open_store(url)


@pytest.mark.parametrize(
    "rest", ["me:hunter2@", "me:hunter2@host:x", "hunter2@host", "me:hunter2@host?x=1", "me:1?hunter2=@host"]
)
def test_passwords_stay_secret(rest: str) -> None:
    """The error does not quote what may be a password."""
    with pytest.raises(StoreUrlError) as caught:
        parse_url(rest, tls=False)
    assert "hunter2" not in str(caught.value)
