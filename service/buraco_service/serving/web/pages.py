"""Serves the files of a built page. All are read at the start, so that no path of a request reaches the file system."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from buraco_service.serving.listening import StartError
from buraco_service.serving.web.asgi import Headers, Scope, Send, find_header, respond

INDEX: Final = "/index.html"
MAX_BYTES: Final = 64 * 1024 * 1024
"""Of all files together."""
_PART_BYTES: Final = 64 * 1024
_MIN_COMPRESSED_BYTES: Final = 1024

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".mp3": "audio/mpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
_COMPRESSED: Final = ("text/", "application/json", "application/manifest", "image/svg", "application/wasm")
# A name with a hash of the content, as bundlers make it: what it names never changes.
_HASHED: Final = re.compile(r"[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+(\.map)?$")
_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_SECURITY: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class _File(NamedTuple):
    headers: Headers
    body: bytes
    compressed: bytes | None
    tag: bytes


class Pages:
    """The files below a folder, by path. Raise StartError if they cannot be served."""

    def __init__(self, root: Path) -> None:
        self._files = _read_files(root)
        if INDEX not in self._files:
            raise StartError(f"{root} (--web-root) has no index.html")

    async def serve(self, scope: Scope, send: Send) -> bool:
        """Answer a GET or HEAD request for a file, or for a place within the page; return False for another path.

        A path without an extension that is no file is a place within the page, which index.html shows.
        """
        path: str = scope["path"]
        found = self._files.get(INDEX if path == "/" else path)
        if found is None and not PurePosixPath(path).suffix:
            found = self._files[INDEX]
        if found is None:
            return False
        if found.tag in (find_header(scope, b"if-none-match") or b""):
            await send({"type": "http.response.start", "status": 304, "headers": found.headers})
            await send({"type": "http.response.body"})
            return True
        if found.compressed is not None and _takes_gzip(scope):
            await _send(scope, send, [*found.headers, (b"content-encoding", b"gzip")], found.compressed)
        else:
            await _send(scope, send, found.headers, found.body)
        return True


async def _send(scope: Scope, send: Send, headers: Headers, body: bytes) -> None:
    """Send a file in parts, so that a client that reads slowly, but reads, is not taken for one that does not."""
    if scope["method"] == "HEAD" or len(body) <= _PART_BYTES:
        await respond(send, 200, headers, body)
        return
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [*headers, length]})
    for start in range(0, len(body), _PART_BYTES):
        more = start + _PART_BYTES < len(body)
        await send({"type": "http.response.body", "body": body[start : start + _PART_BYTES], "more_body": more})


def _takes_gzip(scope: Scope) -> bool:
    codings = (find_header(scope, b"accept-encoding") or b"").split(b",")
    return any(coding.strip() == b"gzip" or coding.strip().startswith(b"gzip;q=1") for coding in codings)


def _read_files(root: Path) -> dict[str, _File]:
    try:
        top = root.resolve(strict=True)
        # Kubernetes mounts files as links, but never to the outside of the folder.
        paths = [path for path in sorted(top.rglob("*")) if path.is_file() and path.resolve().is_relative_to(top)]
        size = sum(path.stat().st_size for path in paths)
        if size > MAX_BYTES:
            raise StartError(f"{root} (--web-root) has {size} bytes, and {MAX_BYTES} are allowed")
        return {f"/{path.relative_to(top).as_posix()}": _read_file(path) for path in paths}
    except OSError as error:
        raise StartError(f"{root} (--web-root) cannot be read: {error.strerror}") from None


def _read_file(path: Path) -> _File:
    body = path.read_bytes()
    kind = _TYPES.get(path.suffix.lower(), "application/octet-stream")
    tag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'
    compressed = None
    if len(body) >= _MIN_COMPRESSED_BYTES and kind.startswith(_COMPRESSED):
        compressed = gzip.compress(body, mtime=0)
    caching = "public, max-age=31536000, immutable" if _HASHED.search(path.name) else "no-cache"
    headers = [
        (b"content-type", kind.encode()),
        (b"cache-control", caching.encode()),
        (b"etag", tag),
        (b"vary", b"accept-encoding"),
        *_SECURITY,
    ]
    return _File(headers, body, compressed, tag)
