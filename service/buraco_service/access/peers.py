"""Who a call comes from, as far as limits are concerned: an address that its sender cannot choose freely."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

FORWARDED_HEADER: Final = "x-forwarded-for"
_REMEMBERED: Final = 4096
"""Of each kind: half a KiB each at most, 4 MiB together."""
_LONGEST: Final = 64
"""Characters of an address, a zone included; longer texts are none."""
# Whoever has one address of version 6 has as many as this leaves.
_PREFIX_6: Final = 64


def address_of(connection: str, metadata: Iterable[tuple[str, str | bytes]], proxies: int) -> str:
    """The caller's address: of the connection (as grpc names it), or what the outermost trusted proxy saw.

    `proxies` is how many proxies stand in front, each of which adds to `x-forwarded-for` where its caller is. What
    stands before that may be made up by the caller, and is not looked at. Addresses of version 6 count by their first
    64 bits.
    """
    if proxies:
        entries = [
            entry
            for key, value in metadata
            if key == FORWARDED_HEADER and isinstance(value, str)
            for entry in value.split(",")
        ]
        if len(entries) >= proxies:
            entry = entries[-proxies].strip()
            if len(entry) <= _LONGEST and (seen := _network(entry)) is not None:
                return seen
    return _of_connection(connection)


@lru_cache(_REMEMBERED)
def _of_connection(connection: str) -> str:
    kind, _, place = connection.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind  # a socket of this machine
    host = unquote(place).rpartition(":")[0].strip("[]")
    return _network(host) or host


@lru_cache(_REMEMBERED)
def _network(text: str) -> str | None:
    """An address in the form that limits count by; None for what is none."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, _PREFIX_6), strict=False))
    return str(address)
