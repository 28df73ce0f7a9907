"""The same calls by gRPC and by each protocol of the web port, in turn, at one server."""

import asyncio
import itertools
import statistics
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import grpc.aio
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message

from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc
from buraco_codec.moves import move_to_pb
from tests.bench.kept import kept
from tests.bench.processes import web_service_process
from tests.bench.scripted import Scripted
from tests.bench.service import IN_FLIGHT, Measured, Work, in_flight, measure, median_of

Metadata = tuple[tuple[str, str], ...]
Send = Callable[[str, Message, Metadata], Awaitable[object]]
"""Makes a call: its method, its request, its metadata."""


class Form(NamedTuple):
    """How a call is written over the web port."""

    content_type: str
    write: Callable[[Message], bytes]


def _framed(request: Message) -> bytes:
    data = request.SerializeToString()
    return b"\0" + len(data).to_bytes(4) + data


FORMS: Final = {
    "Connect": Form("application/proto", lambda request: request.SerializeToString()),
    "gRPC-Web": Form("application/grpc-web+proto", _framed),
    "JSON": Form("application/json", lambda request: MessageToJson(request, indent=None).encode()),
}


class Connection:
    """A connection of HTTP/1.1 for one call after the other, with as little work as possible on this side."""

    def __init__(self, address: str, form: Form) -> None:
        self._address = address
        self._form = form
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, method: str, request: Message, metadata: Metadata) -> bytes:
        """Make a call that succeeds; return the body of its answer."""
        if self._streams is None:
            host, _, port = self._address.rpartition(":")
            self._streams = await asyncio.open_connection(host, int(port))
        reader, writer = self._streams
        body = self._form.write(request)
        headers = [f"content-type: {self._form.content_type}", f"content-length: {len(body)}", "host: bench"]
        headers += [f"{key}: {value}" for key, value in metadata]
        head = "\r\n".join([f"POST /buraco.v1.TableService/{method} HTTP/1.1", *headers, "", ""])
        writer.write(head.encode() + body)
        answered = await reader.readuntil(b"\r\n\r\n")
        assert answered.startswith(b"HTTP/1.1 200 "), answered
        parts = []
        while size := int(await reader.readline(), 16):
            parts.append((await reader.readexactly(size + 2))[:-2])
        await reader.readline()
        return b"".join(parts)

    def close(self) -> None:
        """Close it."""
        if self._streams is not None:
            self._streams[1].close()


async def measure_web(seconds: float, rounds: int, store: str | None) -> None:
    """Print what calls come to by each protocol. No store named: a SQLite file."""
    stored = await kept(store or "sqlite:///new")
    print(f"web: {IN_FLIGHT} calls in flight, {stored}; ratios to gRPC's calls a second")
    print(f"  {'':26}{'calls/s':>9}{'µs CPU':>8}{'ratio':>7}")
    with web_service_process(store) as (address, web_address, pid):
        async with grpc.aio.insecure_channel(address) as channel:
            stub: Any = table_service_pb2_grpc.TableServiceStub(channel)
            connections: list[Connection] = []

            def senders(form: Form | None) -> list[Send]:
                if form is None:
                    return [
                        lambda method, request, metadata: getattr(stub, method)(request, metadata=metadata)
                    ] * IN_FLIGHT
                made = [Connection(web_address, form) for _ in range(IN_FLIGHT)]
                connections.extend(made)
                return [connection.send for connection in made]

            for name, begin in (("GetView", _look), ("SubmitMoves", _submit)):
                ways = {way: senders(form) for way, form in (("gRPC", None), *FORMS.items())}
                works = {way: await begin(stub, sending) for way, sending in ways.items()}
                await _compare(name, works, pid, seconds, rounds)
            for connection in connections:
                connection.close()
    print()


async def _compare(name: str, works: dict[str, Work], pid: int, seconds: float, rounds: int) -> None:
    measured: dict[str, list[Measured]] = {way: [] for way in works}
    for work in works.values():
        await work(0.5)
    for _, (way, work) in itertools.product(range(rounds), works.items()):
        measured[way].append(await measure(work, pid, seconds))
    for way, found in measured.items():
        ratio = statistics.median(ours.rate / theirs.rate for ours, theirs in zip(found, measured["gRPC"], strict=True))
        print(
            f"  {f'{name}, {way}':26}{median_of(found).rate:>9.0f}{median_of(found).cost:>8.0f}{ratio:>7.0%}",
            flush=True,
        )


async def _look(stub: Any, sending: list[Send]) -> Work:
    """Each looks at a table of its own."""

    async def caller(send: Send) -> Callable[[], Awaitable[None]]:
        table = await Scripted.open(stub)

        async def call() -> None:
            await send("GetView", pb.TableServiceGetViewRequest(table_id=table.id), table.bearer(0))

        return call

    return in_flight([await caller(send) for send in sending])


async def _submit(stub: Any, sending: list[Send]) -> Work:
    """Each plays one move a call at a table of its own."""

    async def caller(send: Send) -> Callable[[], Awaitable[None]]:
        table = await Scripted.open(stub)

        async def call() -> None:
            seat, move = table.next_move()
            request = pb.SubmitMovesRequest(table_id=table.id, moves=[move_to_pb(move)], request_id=str(uuid.uuid4()))
            await send("SubmitMoves", request, table.bearer(seat))

        return call

    return in_flight([await caller(send) for send in sending])
