"""The address that limits count a caller by: one that it cannot choose freely."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

FORWARDED_HEADER: Final = "x-forwarded-for"
_MAX_CACHED: Final = 4096
"""Addresses of each kind: half a KiB each at most, 4 MiB together."""
_MAX_LENGTH: Final = 64
"""Characters of an address, a zone included; longer texts are none."""
_IPV6_PREFIX: Final = 64
"""Who has one address of version 6 has all with the same first bits."""


def find_address(connection: str, metadata: Iterable[tuple[str, str | bytes]], proxies: int) -> str:
    """Return the caller's address: that of the connection (as grpc names it), or what the outermost proxy saw.

    `proxies` is the number of trusted proxies in front, each of which adds its caller's address to `x-forwarded-for`.
    Entries before these may be made up by the caller and are ignored. Addresses of version 6 count by their first 64
    bits.

    >>> find_address("ipv4:192.0.2.7:50123", (), 0)
    '192.0.2.7'
    >>> find_address("ipv4:192.0.2.7:50123", [("x-forwarded-for", "made up, 2001:db8::1")], 1)
    '2001:db8::/64'
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
            if len(entry) <= _MAX_LENGTH and (seen := _network(entry)) is not None:
                return seen
    return _of_connection(connection)


@lru_cache(_MAX_CACHED)
def _of_connection(connection: str) -> str:
    kind, _, place = connection.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind  # a socket of this machine
    host = unquote(place).rpartition(":")[0].strip("[]")
    return _network(host) or host


@lru_cache(_MAX_CACHED)
def _network(text: str) -> str | None:
    """Return an address in the form that limits count by; None for a text that is none."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
    return str(address)
