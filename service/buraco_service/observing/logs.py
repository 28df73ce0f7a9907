"""Structured logs on standard error: JSON for machines, coloured lines for a person at a terminal.

Lines that are logged during a call carry its request id, and its table once that is known. Tokens, seeds and cards
are never passed to a logger; as a second guard, only values under listed keys are written.

JSON lines below warning level are written in batches, at most 50 ms late: a write lets grpc's other threads run, which
costs a busy server more than making the line. Warnings and errors are written at once, with all lines before them.

Workers write to one stream: each line carries its worker's number, and no write is larger than what the system
keeps in one piece, so that lines stay whole.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import logging
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from json.encoder import encode_basestring_ascii
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from buraco_service.observing.current_call import CallContext, current_call

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "json", "console"]
TableIds = Literal["plain", "hashed"]

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_BATCH_SECONDS = 0.05
_REDACTED = "redacted"
# The keys whose values are written. Whoever passes a new one to a logger adds it here.
_LOGGED_KEYS = frozenset(
    {"event", "level", "logger", "exc_info", "_from_structlog", "_record"}
    | {"address", "appendfsync", "appendonly", "caller", "cause", "code", "count", "error_id", "exit", "grace"}
    | {
        "loop",
        "maxmemory_policy",
        "method",
        "metrics_address",
        "protocol",
        "reason",
        "request_id",
        "restart_after",
        "seconds",
    }
    | {
        "server",
        "setting",
        "store",
        "table_id",
        "tls",
        "trace_id",
        "value",
        "variable",
        "wanted",
        "web_address",
        "what",
    }
    | {"worker", "worker_pid", "workers"}
)

# How grpc reports that it could not complete an operation of a call, and the operations as it names them.
_GRPC_CORE = "grpc._cython.cygrpc"
_BATCH_FAILED = "ExecuteBatchError raised in core by servicer method "
_STATUS, _MESSAGE = "SendStatusFromServerOperation", "SendMessageOperation"

# Logs the end of a call: the call, the name of its status code, its seconds, the reason of an error.
LogCall = Callable[[CallContext, str, float, str | None], None]


class _LineWriter:
    """Writes lines to a stream: the logger of structlog, and a stream for the standard library's handler.

    `shared` means that other processes write to the same stream.
    """

    def __init__(self, stream: TextIO, batched: bool, shared: bool) -> None:
        self._stream = stream
        self._batched = batched
        self._shared = shared
        # Lines, or functions that make them.
        self._pending: deque[str | Callable[[], str]] = deque()
        self._writing = threading.Lock()
        # The event loop that is going to call `flush`.
        self._loop: asyncio.AbstractEventLoop | None = None

    def info(self, line: str | Callable[[], str]) -> None:
        """Write a line with the next batch if an event loop runs here, else at once."""
        self._pending.append(line)
        if self._loop is not None and not self._loop.is_closed():
            return
        try:
            loop = asyncio.get_running_loop() if self._batched else None
        except RuntimeError:
            loop = None
        if loop is None:
            self.flush()
        else:
            self._loop = loop
            loop.call_later(_BATCH_SECONDS, self.flush)

    debug = info

    def warning(self, line: str) -> None:
        """Write a line now, and those that are pending before it."""
        self._pending.append(line)
        self.flush()

    error = critical = warning

    def write(self, text: str) -> None:
        """Take a line from a handler of the standard library, which flushes next."""
        self._pending.append(text.removesuffix("\n"))

    def flush(self) -> None:
        """Write all pending lines."""
        with self._writing:
            self._loop = None
            lines: list[str] = []
            while self._pending:
                line = self._pending.popleft()
                lines.append(line if isinstance(line, str) else line())
            if lines and not self._stream.closed:
                for text in _join_for_pipe(lines) if self._shared else ["\n".join(lines) + "\n"]:
                    self._stream.write(text)
                    self._stream.flush()


class _Output:
    """How this process logs now; `log_call` is None unless calls are logged by a faster way of their own."""

    lines = _LineWriter(sys.stderr, batched=False, shared=False)
    log_call: LogCall | None = None
    format_table_id: Callable[[str], str] = str


def configure(
    level: Level = "info",
    format: Format = "auto",
    table_ids: TableIds = "plain",
    stream: TextIO | None = None,
    worker: int | None = None,
) -> None:
    """Send the logs of this process, of structlog and the standard library, to a stream (None: standard error).

    The format "auto" writes coloured lines to a terminal and JSON, an object a line, to anything else. A worker's
    number is added to every line; other processes may then write to the same stream. Pending lines are written first,
    and the root logger's handlers replaced.
    """
    target = sys.stderr if stream is None else stream
    console = format == "console" or (format == "auto" and target.isatty())
    flush()
    _Output.lines = lines = _LineWriter(target, batched=not console, shared=worker is not None)
    _Output.format_table_id = hash_table_id if table_ids == "hashed" else str
    _Output.log_call = None if console else _create_json_call_logger(lines, level, _Output.format_table_id, worker)
    processors: list[Processor] = [_add_call, structlog.processors.add_log_level, _redact]
    if table_ids == "hashed":
        processors.append(_hash_table_id)
    if worker is not None:
        processors.append(partial(_add_worker, worker))
    processors.append(structlog.processors.TimeStamper(fmt="iso"))
    renderers: list[Processor]
    if console:
        # The usual tracebacks show the values of variables, tokens and hidden cards among them.
        plain = structlog.dev.plain_traceback
        renderers = [structlog.dev.ConsoleRenderer(colors=target.isatty(), exception_formatter=plain)]
    else:
        renderers = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    structlog.configure(
        processors=[*processors, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *_: lines,
        # A cached logger would keep an older configuration. Whoever logs often binds its logger once.
        cache_logger_on_first_use=False,
    )
    _configure_standard_library(_LEVELS[level], lines, processors, renderers)


def _configure_standard_library(
    level: int, lines: _LineWriter, processors: list[Processor], renderers: list[Processor]
) -> None:
    handler = logging.StreamHandler(lines)
    handler.addFilter(partial(_demote_unsent_status, level))
    handler.addFilter(_is_no_header_dump)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *processors],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # At debug level asyncio and grpc log every selector and every cancelled call.
    for name in ("asyncio", "grpc"):
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def get_logger(**values: Any) -> FilteringBoundLogger:
    """Return a logger whose lines carry the given values. Values under keys that are not listed here are redacted."""
    logger: FilteringBoundLogger = structlog.get_logger(**values)
    return logger


def get_call_logger() -> LogCall:
    """Return the function that logs the end of a call, at info level. Later changes by `configure` may not reach it."""
    if _Output.log_call is not None:
        return _Output.log_call
    log = get_logger().bind()

    def log_call(call: CallContext, code: str, seconds: float, reason: str | None) -> None:
        more = {} if reason is None else {"reason": reason}
        log.info("call", method=call.method, code=code, seconds=round(seconds, 6), **more)

    return log_call


def flush() -> None:
    """Write all pending lines."""
    _Output.lines.flush()


def format_table_id(table_id: str) -> str:
    """Return the table id as the logs show it: plain or hashed."""
    return _Output.format_table_id(table_id)


@lru_cache(maxsize=1024)
def hash_table_id(table_id: str) -> str:
    """Return what stands for a table id in hashed logs: 12 characters, the same on every replica."""
    return hashlib.sha256(table_id.encode()).hexdigest()[:12]


def _create_json_call_logger(
    lines: _LineWriter, level: Level, format_id: Callable[[str], str], worker: int | None
) -> LogCall:
    """Return a function that logs the same lines as structlog would, at a fifth of the cost.

    A line is only made when its batch is written: right after a call, with other data in the processor's caches,
    making it takes ten times as long.
    """
    second, prefix = 0, ""
    quote = encode_basestring_ascii
    constant = '"level": "info"' if worker is None else f'"level": "info", "worker": {worker}'

    def line(call: CallContext, code: str, seconds: float, reason: str | None, now: float) -> str:
        nonlocal second, prefix
        if int(now) != second:
            second = int(now)
            prefix = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        table = "" if call.table_id is None else f', "table_id": {quote(format_id(call.table_id))}'
        who = "" if call.caller is None else f', "caller": {quote(call.caller)}'
        protocol = "" if call.protocol is None else f', "protocol": {quote(call.protocol)}'
        trace = "" if call.trace is None else f', "trace_id": "{call.trace.trace_id}"'
        why = "" if reason is None else f', "reason": {quote(reason)}'
        return (
            f'{{"event": "call", "method": {quote(call.method)}, "code": "{code}", "seconds": {seconds:.6f}{why}'
            f', "request_id": {quote(call.request_id)}{table}{who}{protocol}{trace}, {constant}'
            f', "timestamp": "{prefix}.{int((now - second) * 1e6):06d}Z"}}'
        )

    def log_call(call: CallContext, code: str, seconds: float, reason: str | None) -> None:
        lines.info(partial(line, call, code, seconds, reason, time.time()))

    def log_nothing(call: CallContext, code: str, seconds: float, reason: str | None) -> None:
        pass

    return log_call if _LEVELS[level] <= logging.INFO else log_nothing


def _is_no_header_dump(record: logging.LogRecord) -> bool:
    """Return False for grpc's line about a header that is not UTF-8: it shows the bytes, which may be a secret.

    The call continues without the header and gets its own line.
    """
    return not (record.name == _GRPC_CORE and str(record.msg).startswith("Invalid encoding"))


def _demote_unsent_status(min_level: int, record: logging.LogRecord) -> bool:
    """Lower grpc's error that a stream's status could not be sent to debug; return True if it is still logged.

    It happens when a client cancels its stream, for example to reconnect, while the status is on its way: not an
    error. A message that could not be sent stays an error, since it may have been too large. grpc reports invalid
    trailing metadata in the same way, but ours have fixed names and checked values.
    """
    if record.name != _GRPC_CORE or record.exc_info is None or not record.getMessage().startswith(_BATCH_FAILED):
        return True
    unsent = str(record.exc_info[1])
    if _STATUS not in unsent or _MESSAGE in unsent:
        return True
    record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return record.levelno >= min_level


def _join_for_pipe(lines: list[str]) -> Iterator[str]:
    """Yield the lines joined to texts that a pipe takes in one piece; a longer line comes alone."""
    piece, size = "", 0
    for line in lines:
        length = len(line.encode()) + 1
        if piece and size + length > select.PIPE_BUF:
            yield piece
            piece, size = "", 0
        piece += line + "\n"
        size += length
    yield piece


def _add_call(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    call = current_call.get()
    if call is not None:
        event["request_id"] = call.request_id
        if call.table_id is not None:
            event.setdefault("table_id", call.table_id)
        if call.caller is not None:
            event["caller"] = call.caller
        if call.protocol is not None:
            event["protocol"] = call.protocol
        if call.trace is not None:
            event["trace_id"] = call.trace.trace_id
    return event


def _add_worker(worker: int, logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    event.setdefault("worker", worker)
    return event


def _redact(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    for key in event.keys() - _LOGGED_KEYS:
        event[key] = _REDACTED
    return event


def _hash_table_id(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    table_id = event.get("table_id")
    if table_id is not None:
        event["table_id"] = hash_table_id(str(table_id))
    return event


atexit.register(flush)
