from __future__ import annotations

import ast
import asyncio
import importlib
import io
import json
import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

import buraco_service
from buraco_service.observing import logs
from buraco_service.observing.current_call import CallContext, current_call
from tests.service.announcing import Announcing


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _configuration() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    context = current_call.set(None)
    yield
    current_call.reset(context)
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """The JSON lines written so far."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def call(table_id: str | None = None) -> CallContext:
    """The context of a call."""
    made = CallContext("/buraco.v1.TableService/GetTable")
    made.request_id = "req-1"
    made.table_id = table_id
    return made


def test_json_lines() -> None:
    """Away from a terminal a line is one JSON object with event, values, level and time."""
    stream = io.StringIO()
    logs.configure("info", "auto", stream=stream)
    logs.get_logger(server="a").info("serving", address="127.0.0.1:1")
    (line,) = lines(stream)
    timestamp = line.pop("timestamp")
    assert line == {"event": "serving", "server": "a", "address": "127.0.0.1:1", "level": "info"}
    assert timestamp.endswith("Z")


def test_workers_lines() -> None:
    """Every line of a worker carries its number, those about calls included."""
    stream = io.StringIO()
    logs.configure("info", "json", stream=stream, worker=3)
    logs.get_logger().info("serving")
    logs.get_call_logger()(call("t-1"), "OK", 0.5, None)
    logging.getLogger("library").warning("something")
    logs.get_logger().info("about another", worker=4)
    assert [line["worker"] for line in lines(stream)] == [3, 3, 3, 4]


class Pieces(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def write(self, text: str) -> int:
        self.pieces.append(text)
        return super().write(text)


async def test_workers_lines_stay_whole() -> None:
    """A worker writes whole lines, no more at a time than a pipe takes in one piece; a longer line is written alone."""
    stream = Pieces()
    logs.configure("info", "json", stream=stream, worker=1)
    log = logs.get_logger()
    for number in range(100):
        log.info("serving", count=number, value="ä" * (5000 if number == 50 else 20))
    logs.flush()
    assert [line["count"] for line in lines(stream)] == list(range(100))
    assert len(stream.pieces) < 20
    assert all(piece.endswith("\n") for piece in stream.pieces)
    assert [len(piece.splitlines()) for piece in stream.pieces if len(piece.encode()) > 4096] == [1]


def test_console_lines() -> None:
    """At a terminal, or when asked to, lines are for a person."""
    terminal, asked = Terminal(), io.StringIO()
    wanted: list[tuple[io.StringIO, logs.Format]] = [(terminal, "auto"), (asked, "console")]
    for stream, form in wanted:
        logs.configure("info", form, stream=stream)
        logs.get_logger().info("serving", address="127.0.0.1:1")
        logs.get_call_logger()(call(), "OK", 0.5, None)
    assert "serving" in asked.getvalue()
    assert "address=127.0.0.1:1" in asked.getvalue()
    assert "GetTable" in asked.getvalue()
    assert "\x1b[" in terminal.getvalue()
    assert "\x1b[" not in asked.getvalue()


def test_level() -> None:
    """Lines below the level are not written, calls being at info."""
    stream = io.StringIO()
    logs.configure("warning", "json", stream=stream)
    log = logs.get_logger()
    log.info("quiet")
    logs.get_call_logger()(call(), "OK", 0.5, None)
    logging.getLogger("library").info("quiet")
    log.warning("loud")
    assert [line["event"] for line in lines(stream)] == ["loud"]


def test_lines_of_a_call() -> None:
    """Lines logged during a call carry its request id, and its table once it is known."""
    stream = io.StringIO()
    logs.configure("info", "json", stream=stream)
    context = call()
    current_call.set(context)
    logs.get_logger().info("before")
    context.table_id = "t1"
    logs.get_logger().info("after")
    logging.getLogger("library").warning("foreign")
    before, after, foreign = lines(stream)
    assert before["request_id"] == after["request_id"] == foreign["request_id"] == "req-1"
    assert "table_id" not in before
    assert after["table_id"] == foreign["table_id"] == "t1"


@pytest.mark.parametrize("table_ids", ["plain", "hashed"])
@pytest.mark.parametrize("reason", [None, 'odd "reason"'])
def test_line_at_the_end_of_a_call(table_ids: logs.TableIds, reason: str | None) -> None:
    """The line about a call is the same as structlog would write."""
    stream = io.StringIO()
    logs.configure("info", "json", table_ids, stream=stream)
    context = call("tä ble\n")
    logs.get_call_logger()(context, "NOT_FOUND", 0.0012345678, reason)
    current_call.set(context)
    values = {} if reason is None else {"reason": reason}
    logs.get_logger().info("call", method=context.method, code="NOT_FOUND", seconds=0.001235, **values)
    quick, general = lines(stream)
    assert len(quick.pop("timestamp")) == len(general.pop("timestamp"))
    assert quick == general
    assert (quick["table_id"] == "tä ble\n") is (table_ids == "plain")


def test_hashed_table_ids() -> None:
    """Hashed ids are equal for equal tables, differ for others and hide the id wherever it is logged."""
    stream = io.StringIO()
    logs.configure("info", "json", "hashed", stream=stream)
    for table_id in ("t1", "t1", "t2"):
        logs.get_logger().info("loaded", table_id=table_id)
    first, second, third = (line["table_id"] for line in lines(stream))
    assert first == second != third
    assert first == logs.hash_table_id("t1")
    assert "t1" not in stream.getvalue()


@pytest.mark.parametrize(
    "name", ["token", "authorization", "seed", "hand", "snapshot", "signing_keys", "view", "dealt", "x"]
)
def test_values_under_other_keys_are_redacted(name: str) -> None:
    """A secret that is passed to a logger is not written: only values under listed keys are."""
    stream = io.StringIO()
    logs.configure("debug", "json", stream=stream)
    logs.get_logger().warning("oops", **{name: "As Kd Jo"})
    (line,) = lines(stream)
    assert line[name] == "redacted"


def test_keys_that_the_service_logs_are_listed() -> None:
    """Every key under which the service passes a value to a logger is listed: none of them is redacted."""
    names = set()
    for file in Path(buraco_service.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and re.search(r"\b_?logs?\b", ast.unparse(node.func)):
                names |= {keyword.arg for keyword in node.keywords if keyword.arg is not None}
    assert {"cause", "address", "exit", "server"} <= names
    assert names <= logs._LOGGED_KEYS


def test_standard_library() -> None:
    """Libraries' lines are written in the same form, with the name of their logger."""
    stream = io.StringIO()
    logs.configure("info", "json", stream=stream)
    logging.getLogger("library.part").warning("cannot do %s", "this")
    logging.getLogger("grpc._cython").info("chatter")
    (line,) = lines(stream)
    assert (line["event"], line["logger"], line["level"]) == ("cannot do this", "library.part", "warning")


CORE: Any = importlib.import_module("grpc._cython.cygrpc")
HELLO = CORE.SendInitialMetadataOperation((), 0)
MESSAGE = CORE.SendMessageOperation(b"", 0)
STATUS = CORE.SendStatusFromServerOperation((), 0, b"", 0)


def batch_fails(
    *operations: object, logger: str = CORE.__name__, words: str = "ExecuteBatchError raised in core"
) -> None:
    """Log what grpc logs when its core could not complete operations of a stream."""
    try:
        raise CORE.ExecuteBatchError(f'Failed "execute_batch": {operations}')
    except CORE.ExecuteBatchError:
        text = f"{words} by servicer method [/buraco.v1.TableService/PlayTable]"
        logging.getLogger(logger).exception(text)


@pytest.mark.parametrize("operations", [(STATUS,), (HELLO, STATUS)], ids=["after messages", "first of all"])
@pytest.mark.parametrize("level", ["debug", "info", "error"])
def test_a_status_that_could_not_be_sent(level: logs.Level, operations: tuple[object, ...]) -> None:
    """That a stream's status could not be sent to a client that left is logged at debug level only."""
    stream = io.StringIO()
    logs.configure(level, "json", stream=stream)
    batch_fails(*operations)
    logs.flush()
    found = [(line["level"], line["logger"], line["exception"].rpartition("Error: ")[2]) for line in lines(stream)]
    assert found == ([("debug", CORE.__name__, f'Failed "execute_batch": {operations}')] if level == "debug" else [])


def test_other_errors_of_grpc_stay_errors() -> None:
    """Other failures of grpc's core, and other lines of its logger, stay errors."""
    stream = io.StringIO()
    logs.configure("info", "json", stream=stream)
    batch_fails(HELLO)
    batch_fails(MESSAGE)
    batch_fails(HELLO, MESSAGE, STATUS)
    batch_fails(STATUS, words="Unexpected [ExecuteBatchError] raised")
    batch_fails(STATUS, logger="library")
    logging.getLogger(CORE.__name__).error("ExecuteBatchError raised in core by servicer method [/odd]")
    assert [line["level"] for line in lines(stream)] == ["error"] * 6


def test_tracebacks_stay_in_their_line() -> None:
    """An exception is logged with its traceback, and still as one line."""
    stream = io.StringIO()
    logs.configure("info", "json", stream=stream)
    try:
        raise ValueError("broken")
    except ValueError as error:
        logs.get_logger().error("unforeseen", exc_info=error)
        logging.getLogger("library").exception("foreign")
    own, foreign = lines(stream)
    for line in (own, foreign):
        assert "test_logs.py" in line["exception"]
        assert line["exception"].endswith("ValueError: broken")


@pytest.mark.parametrize("format", ["json", "console"])
def test_tracebacks_show_no_values(format: logs.Format) -> None:
    """A traceback names the exception and the places, and shows the value of no variable on the way."""
    stream = io.StringIO()
    logs.configure("info", format, stream=stream)

    def fail(token: str) -> None:
        raise ValueError(len(token))

    for log in (logs.get_logger().exception, logging.getLogger("library").exception):
        try:
            fail("seen"[::-1] * 3)
        except ValueError:
            log("failed")
    logs.flush()
    assert stream.getvalue().count("ValueError: 12") == 2
    assert "neesnees" not in stream.getvalue()


def test_caller_of_a_call() -> None:
    """The lines of a call with an API key carry the key's name."""
    stream = io.StringIO()
    logs.configure("info", "json", stream=stream)
    made = call()
    made.caller = "lobby"
    current_call.set(made)
    logs.get_logger().info("something")
    logs.get_call_logger()(made, "OK", 0.001, None)
    logs.flush()
    assert [line["caller"] for line in lines(stream)] == ["lobby", "lobby"]


async def test_info_is_written_soon_and_warnings_at_once() -> None:
    """In a running loop info lines are written in batches; a warning writes all lines before it."""
    stream = Announcing()
    logs.configure("info", "json", stream=stream)
    log = logs.get_logger()
    log.info("one")
    assert stream.getvalue() == ""
    await asyncio.wait_for(stream.written.wait(), 60)
    assert [line["event"] for line in lines(stream)] == ["one"]
    log.info("two")
    log.warning("three")
    assert [line["event"] for line in lines(stream)] == ["one", "two", "three"]
    log.info("four")
    logging.getLogger("library").error("five")
    assert [line["event"] for line in lines(stream)][3:] == ["four", "five"]
    log.info("six")
    logs.flush()
    assert [line["event"] for line in lines(stream)][5:] == ["six"]


def test_lines_outlive_their_loop() -> None:
    """A line that was pending when its loop ended is written with the next one."""
    stream = io.StringIO()
    logs.configure("info", "json", stream=stream)

    async def main() -> None:
        logs.get_logger().info("first")

    asyncio.run(main())
    logs.get_logger().info("second")
    assert [line["event"] for line in lines(stream)] == ["first", "second"]


async def test_threads_lose_no_line() -> None:
    """Lines from several threads and the loop all arrive, each whole."""
    stream = io.StringIO()
    logs.configure("info", "json", stream=stream)

    def work(name: str) -> None:
        log = logs.get_logger()
        for number in range(300):
            (log.warning if number % 7 == 0 else log.info)("line", value=name, count=number)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    work("loop")
    for thread in threads:
        await asyncio.to_thread(thread.join)
    logs.flush()
    found = [(line["value"], line["count"]) for line in lines(stream)]
    assert len(found) == len(set(found)) == 1500
