from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from buraco_service.serving.listening import StartError
from buraco_service.serving.web import pages
from tests.service.table_server import Replica, serving
from tests.service.web.http import TABLES, ask, ask_json, web_address

INDEX = b"<!doctype html><title>Buraco</title>"
SCRIPT = b"console.log('a long script');\n" * 10_000
ORIGIN = "http://localhost:5173"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A built page."""
    root = tmp_path / "page"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_bytes(INDEX)
    (root / "cards.svg").write_bytes(b"<svg/>")
    (root / "assets" / "index-Ab12Cd34.js").write_bytes(SCRIPT)
    (tmp_path / "secret.txt").write_text("outside")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    return root


@pytest.fixture
async def address(tmp_path: Path, page: Path) -> AsyncIterator[str]:
    """The web port of a server with the page."""
    async with serving(tmp_path / "tables.db", web_port=0, web_root=page) as replica:
        yield web_address(replica)


@pytest.mark.parametrize("path", ["/", "/index.html", "/tables/abc", "/tables/abc?seat=1", "/%74ables"])
async def test_places_within_the_page(address: str, path: str) -> None:
    """The page is served at / and wherever it may be within itself, and is asked for anew each time."""
    response = await ask(address, path)
    assert (response.status, response.body) == (200, INDEX)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"


async def test_protection_of_the_page(address: str) -> None:
    """The page may load nothing from elsewhere, run no script of its own text, be in no frame, and name no address."""
    headers = (await ask(address, "/")).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


async def test_files_are_cached_by_their_names(address: str) -> None:
    """A file whose name has its hash is kept forever; others are asked for again, and are not sent again."""
    script = await ask(address, "/assets/index-Ab12Cd34.js")
    assert (script.body, script.headers["content-type"]) == (SCRIPT, "text/javascript; charset=utf-8")
    assert "immutable" in script.headers["cache-control"]
    picture = await ask(address, "/cards.svg")
    assert picture.headers["cache-control"] == "no-cache"
    again = await ask(address, "/cards.svg", if_none_match=picture.headers["etag"])
    assert (again.status, again.body) == (304, b"")


async def test_files_are_compressed_where_it_helps(address: str) -> None:
    """A large text is compressed for who takes it so; HEAD sends nothing of it."""
    packed = await ask(address, "/assets/index-Ab12Cd34.js", accept_encoding="br, gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == SCRIPT
    assert "content-encoding" not in (await ask(address, "/cards.svg", accept_encoding="gzip")).headers
    head = await ask(address, "/assets/index-Ab12Cd34.js", method="HEAD")
    assert (head.status, head.headers["content-length"], head.body) == (200, str(len(SCRIPT)), b"")


@pytest.mark.parametrize(
    "path",
    [
        *("/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "/..%2fsecret.txt", "//secret.txt"),
        *("/link.txt", "/nothing.js", "/assets/nothing.css", "/.env.local"),
    ],
)
async def test_files_that_are_not_of_the_page(address: str, path: str) -> None:
    """Nothing outside of the folder is served, not by dots and not by links, and no file that is not there."""
    response = await ask(address, path)
    assert (response.status, response.body) == (404, b"")


async def test_calls_beside_the_page(address: str) -> None:
    """Calls are answered as without a page; no other method than GET and HEAD gets a file."""
    assert (await ask_json(address, "ListTables", {})).status == 200
    assert (await ask(address, "/", b"", "POST")).status == 404
    assert (await ask(address, f"/{TABLES}/ListTables")).status == 405


async def test_folders_that_are_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start fails with a message for a folder that is not there, has no index.html, or is too large."""

    async def problem() -> str:
        with pytest.raises(StartError) as caught:
            async with serving(tmp_path / "tables.db", web_port=0, web_root=tmp_path / "page"):
                pass
        return str(caught.value)

    assert "(--web-root) cannot be read: No such file" in await problem()
    (tmp_path / "page").mkdir()
    assert "(--web-root) has no index.html" in await problem()
    (tmp_path / "page" / "index.html").write_bytes(INDEX)
    monkeypatch.setattr(pages, "MAX_BYTES", len(INDEX) - 1)
    assert f"(--web-root) has {len(INDEX)} bytes" in await problem()


async def preflight(replica: Replica, origin: str) -> dict[str, str]:
    """What a browser is allowed before it calls."""
    path = f"/{TABLES}/ListTables"
    response = await ask(
        web_address(replica), path, method="OPTIONS", origin=origin, access_control_request_method="POST"
    )
    assert response.status == 204
    return {name: value for name, value in response.headers.items() if name.startswith("access-control-")}


async def test_pages_of_allowed_origins_may_call(tmp_path: Path) -> None:
    """Pages of the origins that are set may call with tokens, but not with API keys, and read ids and errors."""
    async with serving(tmp_path / "tables.db", web_port=0, web_origins=(ORIGIN, "https://b.example")) as replica:
        allowed = await preflight(replica, ORIGIN)
        assert allowed["access-control-allow-origin"] == ORIGIN
        assert allowed["access-control-allow-methods"] == "POST"
        named = allowed["access-control-allow-headers"].split(",")
        assert {"authorization", "content-type", "connect-protocol-version", "x-grpc-web"} <= set(named)
        assert "x-api-key" not in named
        response = await ask_json(web_address(replica), "ListTables", {}, origin=ORIGIN)
        assert response.headers["access-control-allow-origin"] == ORIGIN
        assert "x-request-id" in response.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in response.headers
        refusal = await ask_json(web_address(replica), "GetTable", {}, origin=ORIGIN)
        assert (refusal.status, refusal.headers["access-control-allow-origin"]) == (400, ORIGIN)


@pytest.mark.parametrize("origin", ["http://elsewhere.example", "http://localhost:51730", "null", "*", ""])
async def test_pages_of_other_origins_may_not(tmp_path: Path, origin: str) -> None:
    """Pages of other origins are allowed nothing, and neither are any unless origins are set."""
    async with serving(tmp_path / "tables.db", web_port=0, web_origins=(ORIGIN,)) as replica:
        assert await preflight(replica, origin) == {}
        response = await ask_json(web_address(replica), "ListTables", {}, origin=origin)
        assert "access-control-allow-origin" not in response.headers
        assert response.headers["vary"].endswith("origin")
    async with serving(tmp_path / "tables.db", web_port=0) as replica:
        assert await preflight(replica, ORIGIN) == {}


async def test_pages_of_every_origin_may_call_if_asked_for(tmp_path: Path) -> None:
    """With `*` pages of every origin may call."""
    async with serving(tmp_path / "tables.db", web_port=0, web_origins=("*",)) as replica:
        assert (await preflight(replica, "http://elsewhere.example"))["access-control-allow-origin"] == "*"
