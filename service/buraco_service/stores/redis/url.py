"""The URLs of the Redis store.

`redis://[user[:password]@]host[:port][,host[:port]…][/database][?parameter=value&…]`, or `rediss://` for TLS. The
parameters are `prefix`, `timeout` and `replicas` (see `Place`), with TLS also the files `ca`, `cert` and `key`. Of a
cluster name any nodes; of a master and its replicas name all, and the one that is the master now is used.
"""

from __future__ import annotations

import re
import ssl
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from buraco_service.stores.base import StoreUrlError

DEFAULT_PORT = 6379


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Place(NamedTuple):
    """What a URL says. Its representation omits the secrets."""

    addresses: tuple[Address, ...]
    username: str | None
    password: str | None
    database: int
    tls: ssl.SSLContext | None
    prefix: str
    """The beginning of every key; "buraco:" by default."""
    timeout: float
    """Seconds that a server may take to answer or to be reached, 0.1 to 600; 5 by default."""
    replicas: int
    """The number of replicas that must have a change before it is acknowledged; 0 by default."""

    def __repr__(self) -> str:
        return f"Place({', '.join(map(str, self.addresses))})"


def parse_url(rest: str, *, tls: bool) -> Place:
    """Parse the part of a URL after `://`, and with `tls` (`rediss://`) load the certificates that it names.

    Raise StoreUrlError, which never quotes what may be a password.
    """
    rest, _, query = rest.partition("?")
    authority, _, database = rest.partition("/")
    credentials, at, hosts = authority.rpartition("@")
    username, colon, password = credentials.partition(":")
    parameters = _parse_parameters(query)
    place = Place(
        addresses=tuple(_parse_address(host) for host in hosts.split(",")),
        username=unquote(username) or None,
        password=unquote(password) if at and colon else None,
        database=_parse_number("the database", database or "0", 0, 1_000_000),
        tls=_tls_context(parameters) if tls else None,
        prefix=parameters.pop("prefix", "buraco:"),
        timeout=_parse_seconds(parameters.pop("timeout", "5")),
        replicas=_parse_number("replicas", parameters.pop("replicas", "0"), 0, 100),
    )
    if not re.fullmatch(r"[A-Za-z0-9:._/-]{1,100}", place.prefix):
        raise StoreUrlError("the prefix has to be 1 to 100 letters, digits and : . _ / -")
    if place.username is not None and place.password is None:
        raise StoreUrlError("a redis URL with a user needs a password: write user:password@ or :password@")
    if parameters and "@" in query:
        raise StoreUrlError("a redis URL has no such parameters (in a password, write %3F for ?)")
    if parameters:
        raise StoreUrlError(f"a redis{'s' if tls else ''} URL has no parameter {min(parameters)!r}")
    return place


def _parse_parameters(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise StoreUrlError("a redis URL's parameters are written name=value&name=value") from None
    parameters = dict(pairs)
    if len(parameters) != len(pairs):
        raise StoreUrlError("a redis URL names a parameter twice")
    return parameters


def _parse_address(text: str) -> Address:
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%]+)\]|([^\[\]:@/\s]+))(?::(\d{1,5}))?", text)
    if match is None:
        raise StoreUrlError("a redis URL names hosts: write redis://host:port or redis://host:port,host:port")
    port = _parse_number("a port", match[3] or str(DEFAULT_PORT), 1, 65535)
    return Address(match[1] or match[2], port)


def _parse_number(name: str, text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise StoreUrlError(f"{name} in a redis URL has to be a number from {least} to {most}")
    return int(text)


def _parse_seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,3})?", text) or not 0.1 <= float(text) <= 600:
        raise StoreUrlError("the timeout in a redis URL has to be 0.1 to 600 seconds")
    return float(text)


def _tls_context(parameters: dict[str, str]) -> ssl.SSLContext:
    authority, cert, key = (parameters.pop(name, None) for name in ("ca", "cert", "key"))
    try:
        context = ssl.create_default_context(cafile=authority)
        if cert is not None:
            context.load_cert_chain(cert, key)
    except (OSError, ValueError) as error:
        files = ", ".join(filter(None, (authority, cert, key)))
        raise StoreUrlError(f"the certificates that the rediss URL names ({files}) cannot be used: {error}") from None
    if key is not None and cert is None:
        raise StoreUrlError("a rediss URL with a key needs its cert")
    return context
