"""Structured logs on standard error: JSON for machines, coloured lines for a person at a terminal.

Lines that are logged during a call carry its request id, and its table once that is known. Tokens, seeds and
cards are never logged: nothing passes them to a logger, and should it happen all the same, only values under
listed names are written.

JSON lines below warning level are written in batches, a twentieth of a second late at most: a write gives the
processor to grpc's other threads, which costs a busy server more than making the line. Warnings and errors are
written at once, with all that came before them.

Where several processes write to one stream, each line tells its worker, and a write takes no more than the system
leaves in one piece, so that lines stay whole.
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
_DELAY = 0.05
# Bytes that a pipe takes without mixing them with another process's.
_WHOLE = select.PIPE_BUF
_WITHHELD = "withheld"
# Names whose values are written.
_SHOWN = frozenset(
    {"event", "level", "logger", "exc_info", "_from_structlog", "_record"}
    | {"address", "again_after", "appendfsync", "appendonly", "caller", "cause", "code", "count", "error_id", "grace"}
    | {"how", "loop", "maxmemory_policy", "method", "metrics_address", "reason", "request_id", "restart_after"}
    | {"seconds", "server", "setting", "store", "table_id", "tls", "trace_id", "value", "variable", "wanted", "what"}
    | {"worker", "worker_pid", "workers"}
)

# What grpc's own logger says when core could not do what a servicer's method asked for, and what that was.
_GRPC_CORE = "grpc._cython.cygrpc"
_BATCH_FAILED = "ExecuteBatchError raised in core by servicer method "
_STATUS, _MESSAGE = "SendStatusFromServerOperation", "SendMessageOperation"

# Logs the end of a call: the call, its status code's name, seconds, the reason of an error.
LogCall = Callable[[CallContext, str, float, str | None], None]


class _Lines:
    """Writes lines to a stream. It is both what structlog logs to and a stream for the standard library."""

    def __init__(self, stream: TextIO, batched: bool, shared: bool) -> None:
        self._stream = stream
        self._batched = batched
        # With other processes.
        self._shared = shared
        # Lines, or what makes them.
        self._pending: deque[str | Callable[[], str]] = deque()
        self._writing = threading.Lock()
        # The loop that has been asked to write what is pending.
        self._loop: asyncio.AbstractEventLoop | None = None

    def info(self, line: str | Callable[[], str]) -> None:
        """Writes a line soon if an event loop runs here to do it, else at once."""
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
            loop.call_later(_DELAY, self.flush)

    debug = info

    def warning(self, line: str) -> None:
        """Writes a line now, and those that wait before it."""
        self._pending.append(line)
        self.flush()

    error = critical = warning

    def write(self, text: str) -> None:
        """Takes what a handler of the standard library has rendered, line end included; it flushes next."""
        self._pending.append(text.removesuffix("\n"))

    def flush(self) -> None:
        """Writes what waits."""
        with self._writing:
            self._loop = None
            lines: list[str] = []
            while self._pending:
                line = self._pending.popleft()
                lines.append(line if isinstance(line, str) else line())
            if lines and not self._stream.closed:
                for text in _in_pieces(lines) if self._shared else ["\n".join(lines) + "\n"]:
                    self._stream.write(text)
                    self._stream.flush()


class _Output:
    """Where the logs of this process go now; `log_call` only if calls have a way of their own."""

    lines = _Lines(sys.stderr, batched=False, shared=False)
    log_call: LogCall | None = None
    shown_table_id: Callable[[str], str] = str


def configure(
    level: Level = "info",
    format: Format = "auto",
    table_ids: TableIds = "plain",
    stream: TextIO | None = None,
    worker: int | None = None,
) -> None:
    """Sends the logs of this process (structlog's and the standard library's) to a stream, else to stderr.

    With the format "auto" a terminal gets coloured lines, anything else JSON, one object a line. The number of
    a worker, if given, stands in every line; other processes may then write to the same stream.
    """
    target = sys.stderr if stream is None else stream
    console = format == "console" or (format == "auto" and target.isatty())
    flush()
    _Output.lines = lines = _Lines(target, batched=not console, shared=worker is not None)
    shared: list[Processor] = [_add_call, structlog.processors.add_log_level, _withhold]
    if table_ids == "hashed":
        shared.append(_hash_table_id)
    if worker is not None:
        shared.append(partial(_add_worker, worker))
    shared.append(structlog.processors.TimeStamper(fmt="iso"))
    rendering: list[Processor]
    if console:
        # The usual tracebacks show the values of variables, tokens and hidden cards among them.
        plain = structlog.dev.plain_traceback
        rendering = [structlog.dev.ConsoleRenderer(colors=target.isatty(), exception_formatter=plain)]
    else:
        rendering = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *_: lines,
        # Loggers that are used often are bound once by their owner. Caching the others would pin an older
        # configuration.
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(lines)
    handler.addFilter(partial(_lower_unheard_end, _LEVELS[level]))
    handler.addFilter(_no_broken_header)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS[level])
    # At debug level asyncio and grpc tell about every selector and every cancelled call.
    for chatty in ("asyncio", "grpc"):
        logging.getLogger(chatty).setLevel(max(_LEVELS[level], logging.WARNING))
    shown = hashed if table_ids == "hashed" else str
    _Output.shown_table_id = shown
    _Output.log_call = None if console else _json_call_log(lines, level, shown, worker)


def get_logger(**values: Any) -> FilteringBoundLogger:
    """A logger whose lines carry the values given."""
    logger: FilteringBoundLogger = structlog.get_logger(**values)
    return logger


def call_log() -> LogCall:
    """What logs the end of calls, at info level, as the logs are configured now."""
    if _Output.log_call is not None:
        return _Output.log_call
    log = get_logger().bind()

    def log_call(call: CallContext, code: str, seconds: float, reason: str | None) -> None:
        more = {} if reason is None else {"reason": reason}
        log.info("call", method=call.method, code=code, seconds=round(seconds, 6), **more)

    return log_call


def flush() -> None:
    """Writes what is still to be written."""
    _Output.lines.flush()


def shown_table_id(table_id: str) -> str:
    """The table id as the logs show it."""
    return _Output.shown_table_id(table_id)


@lru_cache(maxsize=1024)
def hashed(table_id: str) -> str:
    """The stand-in of a table id in logs: equal for equal ids, on every replica."""
    return hashlib.sha256(table_id.encode()).hexdigest()[:12]


def _json_call_log(lines: _Lines, level: Level, shown: Callable[[str], str], worker: int | None) -> LogCall:
    """Makes the same lines as the general way would, at a fifth of its cost, and not before they are written.

    Between two calls everything else passes through the processor's caches: making one line then takes ten
    times as long as making one of many.
    """
    second, prefix = 0, ""
    quote = encode_basestring_ascii
    constant = '"level": "info"' if worker is None else f'"level": "info", "worker": {worker}'

    def line(call: CallContext, code: str, seconds: float, reason: str | None, now: float) -> str:
        nonlocal second, prefix
        if int(now) != second:
            second = int(now)
            prefix = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        table = "" if call.table_id is None else f', "table_id": {quote(shown(call.table_id))}'
        who = "" if call.caller is None else f', "caller": {quote(call.caller)}'
        trace = "" if call.trace is None else f', "trace_id": "{call.trace.trace_id}"'
        why = "" if reason is None else f', "reason": {quote(reason)}'
        return (
            f'{{"event": "call", "method": {quote(call.method)}, "code": "{code}", "seconds": {seconds:.6f}{why}'
            f', "request_id": {quote(call.request_id)}{table}{who}{trace}, {constant}'
            f', "timestamp": "{prefix}.{int((now - second) * 1e6):06d}Z"}}'
        )

    def log_call(call: CallContext, code: str, seconds: float, reason: str | None) -> None:
        lines.info(partial(line, call, code, seconds, reason, time.time()))

    def log_nothing(call: CallContext, code: str, seconds: float, reason: str | None) -> None:
        pass

    return log_call if _LEVELS[level] <= logging.INFO else log_nothing


def _no_broken_header(record: logging.LogRecord) -> bool:
    """Return False for what grpc logs of a header that is no UTF-8: its bytes, which may be a secret, with a traceback.

    The call goes on without, and gets its own line.
    """
    return not (record.name == "grpc._cython.cygrpc" and str(record.msg).startswith("Invalid encoding"))


def _lower_unheard_end(least: int, record: logging.LogRecord) -> bool:
    """Makes a debug line of grpc's error that the status of a stream could not be sent; says whether it is written.

    A client that cancels its stream when it is told to reconnect may do so while the status is on its way, and when
    the server stops grpc does not always notice in time to keep quiet. Nobody was there any more: nothing is wrong.
    A message among what could not be sent is another matter: it may have been too large, which is a fault of ours. Of
    trailing metadata that it refuses to send grpc would say the same, but ours have fixed names and checked values.
    """
    if record.name != _GRPC_CORE or record.exc_info is None or not record.getMessage().startswith(_BATCH_FAILED):
        return True
    unsent = str(record.exc_info[1])
    if _STATUS not in unsent or _MESSAGE in unsent:
        return True
    record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return record.levelno >= least


def _in_pieces(lines: list[str]) -> Iterator[str]:
    """The lines, joined to texts that are written in one piece; longer lines stand alone."""
    piece, size = "", 0
    for line in lines:
        length = len(line.encode()) + 1
        if piece and size + length > _WHOLE:
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
        if call.trace is not None:
            event["trace_id"] = call.trace.trace_id
    return event


def _add_worker(worker: int, logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    event.setdefault("worker", worker)
    return event


def _withhold(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    for key in event.keys() - _SHOWN:
        event[key] = _WITHHELD
    return event


def _hash_table_id(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    table_id = event.get("table_id")
    if table_id is not None:
        event["table_id"] = hashed(str(table_id))
    return event


atexit.register(flush)
