"""The types of ASGI, as far as they are needed here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Scope: TypeAlias = MutableMapping[str, Any]
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]


async def respond(send: Send, status: int, headers: Headers = (), body: bytes = b"") -> None:
    """Send a whole response."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def find_header(scope: Scope, name: bytes) -> bytes | None:
    """Return the value of a header of the request, the first if there are several; None without one."""
    headers: Headers = scope["headers"]
    return next((value for key, value in headers if key == name), None)
