"""A name server on loopback, whose answers can change while a client runs."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from typing import Final

_HEADER: Final = struct.Struct(">HHHHHH")
_ANSWERED: Final = 0x8580
"""Flags of an authoritative answer."""
_QUESTION_TAIL: Final = struct.Struct(">HH")
_ADDRESS: Final = struct.Struct(">HHHIH4s")
_SAME_NAME: Final = 0xC000 | _HEADER.size
"""A pointer to the name in the question."""
_A, _IN = 1, 1


def other_loopback_addresses() -> bool:
    """Return True if 127.0.0.2 and so on can be listened at."""
    try:
        socket.create_server(("127.0.0.2", 0)).close()
    except OSError:
        return False
    return True


class NameServer(asyncio.DatagramProtocol):
    """Answers every question for an address with the same IPv4 addresses (RFC 1035), and others with none."""

    def __init__(self) -> None:
        self.addresses: Sequence[str] = ()
        self._transport: asyncio.DatagramTransport | None = None

    def target(self, port: str) -> str:
        """Return the target for gRPC clients that stands for this port of all addresses."""
        assert self._transport is not None, "it serves"
        host, own = self._transport.get_extra_info("sockname")
        return f"dns://{host}:{own}/replicas.test:{port}"

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        """Keep the transport."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer a question."""
        assert self._transport is not None
        end = data.index(0, _HEADER.size) + 1 + _QUESTION_TAIL.size
        kind, _ = _QUESTION_TAIL.unpack(data[end - _QUESTION_TAIL.size : end])
        found = [
            _ADDRESS.pack(_SAME_NAME, _A, _IN, 0, 4, socket.inet_aton(address))
            for address in self.addresses
            if kind == _A
        ]
        header = _HEADER.pack(_HEADER.unpack_from(data)[0], _ANSWERED, 1, len(found), 0, 0)
        self._transport.sendto(b"".join([header, data[_HEADER.size : end], *found]), addr)


@contextlib.asynccontextmanager
async def names() -> AsyncIterator[NameServer]:
    """Run a name server."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 0))
    try:
        yield server
    finally:
        transport.close()
