"""Which pages may call: the origins of the setting, by CORS. Pages of the service's own origin need none of it."""

from __future__ import annotations

from collections.abc import Iterable

from buraco_service.serving.calls import REQUEST_ID_KEY
from buraco_service.serving.web.asgi import Headers, Scope, find_header

ANY = "*"
"""The setting that lets pages of every origin call."""

_ALLOWED_HEADERS = (
    *("authorization", "content-type", "content-encoding", "connect-protocol-version", "connect-timeout-ms"),
    *("connect-content-encoding", "grpc-timeout", "grpc-encoding", "x-grpc-web", "x-user-agent", REQUEST_ID_KEY),
)
"""Not x-api-key: a page cannot keep it secret."""
_EXPOSED_HEADERS = ("grpc-status", "grpc-message", "grpc-status-details-bin", REQUEST_ID_KEY)
_MAX_AGE_SECONDS = 7200

_VARY = (b"vary", b"origin")
_EXPOSE = (b"access-control-expose-headers", ",".join(_EXPOSED_HEADERS).encode())
_PREFLIGHT = (
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", ",".join(_ALLOWED_HEADERS).encode()),
    (b"access-control-max-age", str(_MAX_AGE_SECONDS).encode()),
)


class Origins:
    """The origins that are allowed. Calls carry their tokens in headers of their own, so no credentials are."""

    def __init__(self, origins: Iterable[str]) -> None:
        self._allowed = frozenset(origin.encode() for origin in origins)
        self._allows_any = ANY.encode() in self._allowed

    def headers(self, scope: Scope) -> Headers:
        """Return the headers of the response to a call: none where its origin is not allowed."""
        if not self._allowed:
            return ()
        if self._allows_any:
            return ((b"access-control-allow-origin", b"*"), _EXPOSE)
        origin = find_header(scope, b"origin")
        if origin not in self._allowed or origin is None:
            return (_VARY,)
        return ((b"access-control-allow-origin", origin), _EXPOSE, _VARY)

    def preflight_headers(self, scope: Scope) -> Headers:
        """Return the headers of the response to the question whether a page may call."""
        allowed = self.headers(scope)
        return (*allowed, *_PREFLIGHT) if len(allowed) > 1 else allowed
