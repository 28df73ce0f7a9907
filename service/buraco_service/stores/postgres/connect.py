"""From a PostgreSQL URL to a connection, and from the driver's errors to the store's."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import asyncpg
from asyncpg import Connection

from buraco_service.stores.base import StoreError, StoreIncompatible, StoreUnavailable, StoreUrlError

CONNECT_SECONDS = 5.0
"""How long connecting may take unless the URL says `connect_timeout`."""

STATEMENT_SECONDS = 10
"""After which the server gives a statement up, unless its settings for the role or the database say otherwise."""

CALL_SECONDS = 12.0
"""After which a connection is given up that has not answered: later than the server should."""

# The parameters of libpq that the driver knows, and two that are the server's.
_PARAMETERS = frozenset(
    {"host", "port", "dbname", "user", "password", "passfile", "service", "target_session_attrs"}
    | {"sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl", "sslnegotiation"}
    | {"ssl_min_protocol_version", "ssl_max_protocol_version", "krbsrvname", "gsslib"}
    | {"application_name", "options", "connect_timeout"}
)

_FILES = frozenset({"sslcert", "sslkey", "sslrootcert", "sslcrl"})

# Classes of SQLSTATE: connection exception, authorisation, no such database, transaction rollback, insufficient
# resources, object in use or locked, operator intervention (shutdown, timeouts), system error, internal error.
_AWAY = ("08", "28", "3D", "40", "53", "55", "57", "58", "XX")
_READ_ONLY = "25006"
# Syntax or access rule (no such function, no permission), no such schema, no such prepared statement (a pooler).
_FOREIGN = ("42", "3F", "26")
_RETRIED = {"40001", "40P01"}
# The session is over (shutdown, crash of another session, database dropped, idle for too long), or with a server that
# has become a standby: another host of the URL may be the one to turn to.
_ENDING = ("08", "57P", _READ_ONLY)


_BEGIN_SESSION = f"""
SELECT pg_backend_pid(),
    CASE current_setting('statement_timeout') WHEN '0'
    THEN set_config('statement_timeout', '{STATEMENT_SECONDS}s', false) END
"""


class Session(Connection):
    """A connection that knows the server's process behind it, also by way of a pooler (which makes a number up)."""

    __slots__ = ("backend_pid",)
    backend_pid: int


@dataclass(frozen=True, slots=True)
class Target:
    """Where to connect to."""

    dsn: str = field(repr=False)
    """A URL for the driver, password included."""
    timeout: float
    """Seconds that connecting may take."""
    name: str
    """What the server is told who it is."""
    files: tuple[str, ...] = ()
    """Certificates and keys that the URL names."""


def parse(rest: str) -> Target:
    """The target of `postgresql://` and the rest. Raises StoreUrlError, which never quotes the URL."""
    if "#" in rest:
        raise StoreUrlError("a postgresql URL has no fragment (in a name or password, write %23 for #)")
    try:
        url = urlsplit(f"postgresql://{rest}")
        parameters = dict(parse_qsl(url.query, keep_blank_values=True, strict_parsing=True)) if url.query else {}
    except ValueError:
        raise StoreUrlError("a postgresql URL is postgresql://user:password@host:port/database?name=value") from None
    unknown = sorted(parameters.keys() - _PARAMETERS)
    if unknown and "@" in url.query:
        raise StoreUrlError("a postgresql URL cannot have these parameters (in a password, write %3F for ?)")
    if unknown:
        raise StoreUrlError(f"a postgresql URL cannot have the parameter {unknown[0]!r} here")
    files = {parameter: parameters[parameter] for parameter in sorted(_FILES & parameters.keys())}
    for parameter, file in files.items():
        if not Path(file).is_file():
            raise StoreUrlError(f"{parameter} in the postgresql URL names {file}, which is no file")
    name = parameters.pop("application_name", "buraco")
    try:
        timeout = float(parameters.pop("connect_timeout", CONNECT_SECONDS))
    except ValueError:
        timeout = -1.0
    if not 0 < timeout <= 60:
        raise StoreUrlError("connect_timeout in a postgresql URL has to be a number of seconds up to 60")
    return Target(url._replace(query=urlencode(parameters)).geturl(), timeout, name, tuple(files.values()))


async def connect(target: Target) -> Session:
    """A new connection.

    Raises StoreUnavailable when it cannot be had now, StoreUrlError when the URL cannot be right.
    """
    connection: Session | None = None
    try:
        async with asyncio.timeout(target.timeout):
            connection = await asyncpg.connect(
                target.dsn,
                timeout=target.timeout,
                connection_class=Session,
                max_cached_statement_lifetime=0,
                server_settings={"application_name": target.name},
            )
            if connection.get_settings().server_encoding != "UTF8":
                raise StoreIncompatible("the database's encoding has to be UTF8")
            # Not a parameter of the connection: poolers let few of them through.
            connection.backend_pid = await connection.fetchval(_BEGIN_SESSION)
    except BaseException as raised:
        error = of_call(raised, connection) if isinstance(raised, Exception) else None
        if connection is not None:
            connection.terminate()
        if type(error) is ValueError:
            raise StoreUrlError("the postgresql URL cannot be used: is the port a number?") from None
        if isinstance(error, ssl.SSLError) and target.files:
            named = f"{error.reason or error} ({', '.join(target.files)})"
            raise StoreUnavailable(f"PostgreSQL cannot be reached: {named}") from raised
        if error is not None:
            raise translated(error) from raised
        raise
    return connection


def translated(error: Exception) -> Exception:
    """The error as callers get to see it: trouble with the server is a StoreError, a mistake stays itself."""
    if isinstance(error, StoreError):
        return error
    made: StoreError
    if isinstance(error, asyncpg.PostgresError):
        code = error.sqlstate or ""
        # Details quote values, such as a whole row, and the error may be logged: nobody gets to see them.
        error.detail = None
        text = f"PostgreSQL: {error.message or str(error).partition(chr(10))[0]} ({code})"
        if code.startswith(_FOREIGN):
            made = StoreIncompatible(text)
        elif code.startswith(_AWAY) or code == _READ_ONLY:
            made = StoreUnavailable(text)
        else:
            return error
    elif isinstance(error, TimeoutError):
        made = StoreUnavailable("PostgreSQL did not answer in time")
    elif isinstance(error, asyncpg.ClientConfigurationError):
        made = StoreUrlError(f"the postgresql URL cannot be used: {error.args[0]}")
    elif isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        made = StoreUnavailable(f"PostgreSQL cannot be reached: {error.strerror or error}{where}")
    elif isinstance(error, ValueError):
        return error  # also of the driver's own: a value that it cannot send
    elif isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError):
        made = StoreUnavailable(f"PostgreSQL: {error}")
    else:
        return error
    made.__cause__ = error
    return made


def of_call(error: Exception, connection: Connection | None) -> Exception:
    """Return the error that a call on a connection raised, or StoreUnavailable for what its end made of the call.

    The driver may raise anything where its connection ends within a call; while that is open, it is a mistake.
    """
    if connection is None or not connection.is_closed():
        return error
    if isinstance(error, asyncpg.PostgresError) or not is_own(error):
        return error
    ended = StoreUnavailable("PostgreSQL: the connection ended within a call")
    ended.__cause__ = error
    return ended


def is_passing(error: Exception) -> bool:
    """Whether the server took the whole transaction back and says that trying again may help."""
    return isinstance(error, asyncpg.PostgresError) and error.sqlstate in _RETRIED


def is_end(error: Exception) -> bool:
    """Whether the connection is of no use any more."""
    if isinstance(error, asyncpg.PostgresError):
        return (error.sqlstate or "").startswith(_ENDING)
    return not is_own(error)


def is_own(error: Exception) -> bool:
    """Whether what was asked is to blame, and not the server or the way to it."""
    return not isinstance(translated(error), StoreError)
