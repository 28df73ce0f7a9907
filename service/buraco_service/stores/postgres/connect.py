"""Connections to PostgreSQL by URL, and what the driver's errors mean to the store."""

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
"""The time that connecting may take, unless the URL has `connect_timeout`."""

STATEMENT_SECONDS = 10
"""The time after which the server cancels a statement, unless the role or the database has a setting for this."""

CALL_SECONDS = 12.0
"""The time after which a connection that has not answered is terminated: later than the server should cancel."""

# The parameters of libpq that the driver knows, and two of the server.
_PARAMETERS = frozenset(
    {"host", "port", "dbname", "user", "password", "passfile", "service", "target_session_attrs"}
    | {"sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl", "sslnegotiation"}
    | {"ssl_min_protocol_version", "ssl_max_protocol_version", "krbsrvname", "gsslib"}
    | {"application_name", "options", "connect_timeout"}
)

_FILE_PARAMETERS = frozenset({"sslcert", "sslkey", "sslrootcert", "sslcrl"})

# Classes of SQLSTATE: connection exception, authorisation, no such database, transaction rollback, insufficient
# resources, object in use or locked, operator intervention (shutdown, timeouts), system error, internal error.
_UNAVAILABLE = ("08", "28", "3D", "40", "53", "55", "57", "58", "XX")
_READ_ONLY = "25006"
# Syntax or access rule (no such function, no permission), no such schema, no such prepared statement (a pooler).
_INCOMPATIBLE = ("42", "3F", "26")
_RETRYABLE = {"40001", "40P01"}
# The session has ended (shutdown, crash of another session, database dropped, idle for too long), or its server has
# become a standby, so that another host of the URL may be the primary.
_LOST = ("08", "57P", _READ_ONLY)


_BEGIN_SESSION = f"""
SELECT pg_backend_pid(),
    CASE current_setting('statement_timeout') WHEN '0'
    THEN set_config('statement_timeout', '{STATEMENT_SECONDS}s', false) END
"""


class Session(Connection):
    """A connection with the id of the server's process, which a pooler in between would hide from the driver."""

    __slots__ = ("backend_pid",)
    backend_pid: int


@dataclass(frozen=True, slots=True)
class Target:
    """What a URL says."""

    dsn: str = field(repr=False)
    """The URL for the driver, with the password."""
    timeout: float
    """Seconds that connecting may take."""
    application_name: str
    files: tuple[str, ...] = ()
    """Certificates and keys that the URL names."""


def parse_url(rest: str) -> Target:
    """Parse `postgresql://` and the rest. Raise StoreUrlError, also for files that are missing; it quotes no secret."""
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
    files = {parameter: parameters[parameter] for parameter in sorted(_FILE_PARAMETERS & parameters.keys())}
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
    """Open a connection, with STATEMENT_SECONDS as its limit unless the server sets another.

    Raise StoreUnavailable if that fails now, StoreUrlError if it never works with this URL, StoreIncompatible for a
    database that is not in UTF-8.
    """
    connection: Session | None = None
    try:
        async with asyncio.timeout(target.timeout):
            connection = await asyncpg.connect(
                target.dsn,
                timeout=target.timeout,
                connection_class=Session,
                max_cached_statement_lifetime=0,
                server_settings={"application_name": target.application_name},
            )
            if connection.get_settings().server_encoding != "UTF8":
                raise StoreIncompatible("the database's encoding has to be UTF8")
            # Not as a parameter of the connection, of which poolers pass few.
            connection.backend_pid = await connection.fetchval(_BEGIN_SESSION)
    except BaseException as raised:
        error = error_of_call(raised, connection) if isinstance(raised, Exception) else None
        if connection is not None:
            connection.terminate()
        if type(error) is ValueError:
            raise StoreUrlError("the postgresql URL cannot be used: is the port a number?") from None
        if isinstance(error, ssl.SSLError) and target.files:
            reason = f"{error.reason or error} ({', '.join(target.files)})"
            raise StoreUnavailable(f"PostgreSQL cannot be reached: {reason}") from raised
        if error is not None:
            raise as_store_error(error) from raised
        raise
    return connection


def as_store_error(error: Exception) -> Exception:
    """Return a StoreError for trouble with the server; a StoreError, or a programming error, unchanged."""
    store_error = _store_error(error)
    if store_error is None:
        return error
    if store_error is not error:
        store_error.__cause__ = error
    return store_error


def _store_error(error: Exception) -> StoreError | None:
    match error:
        case StoreError():
            return error
        case asyncpg.PostgresError():
            return _server_error(error)
        case TimeoutError():
            return StoreUnavailable("PostgreSQL did not answer in time")
        case asyncpg.ClientConfigurationError():
            return StoreUrlError(f"the postgresql URL cannot be used: {error.args[0]}")
        case OSError():
            where = f": {error.filename}" if error.filename else ""
            return StoreUnavailable(f"PostgreSQL cannot be reached: {error.strerror or error}{where}")
        case ValueError():
            return None  # also the driver's own, for a value that it cannot send
        case asyncpg.InterfaceError() | asyncpg.InternalClientError():
            return StoreUnavailable(f"PostgreSQL: {error}")
    return None


def _server_error(error: asyncpg.PostgresError) -> StoreError | None:
    code = error.sqlstate or ""
    # Details quote values, such as a whole row, and must not reach the log.
    error.detail = None
    text = f"PostgreSQL: {error.message or str(error).partition(chr(10))[0]} ({code})"
    if code.startswith(_INCOMPATIBLE):
        return StoreIncompatible(text)
    if code.startswith(_UNAVAILABLE) or code == _READ_ONLY:
        return StoreUnavailable(text)
    return None


def error_of_call(error: Exception, connection: Connection | None) -> Exception:
    """Return the error that a call on a connection raised, or StoreUnavailable if the connection ended meanwhile.

    The driver may raise anything if its connection ends within a call; otherwise that is a programming error.
    """
    if connection is None or not connection.is_closed():
        return error
    if isinstance(error, asyncpg.PostgresError) or not is_callers_error(error):
        return error
    ended = StoreUnavailable("PostgreSQL: the connection ended within a call")
    ended.__cause__ = error
    return ended


def is_retryable(error: Exception) -> bool:
    """Return True if the server rolled the whole transaction back and says that trying again may help."""
    return isinstance(error, asyncpg.PostgresError) and error.sqlstate in _RETRYABLE


def loses_connection(error: Exception) -> bool:
    """Return True if the connection cannot be used any more."""
    if isinstance(error, asyncpg.PostgresError):
        return (error.sqlstate or "").startswith(_LOST)
    return not is_callers_error(error)


def is_callers_error(error: Exception) -> bool:
    """Return True if the call is to blame, and not the server or the connection."""
    return _store_error(error) is None
