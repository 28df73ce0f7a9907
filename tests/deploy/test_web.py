"""deploy/envoy/web.yaml: a page in a browser plays, watches and gets errors, over gRPC-Web."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Generator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from google.protobuf.message import Message

from buraco.v1 import table_service_pb2 as pb
from buraco_bots.local_server import local_server
from tests.abuse.frames import NOT_UTF8, connected
from tests.deploy.programs import DEPLOY, Missing, envoy
from tests.deploy.proxy import running
from tests.servers.processes import free_port

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

ORIGIN: Final = "http://localhost:5173"
TRAILERS: Final = 0x80


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[int]:
    """The port of an Envoy with that configuration in front of a service."""
    try:
        envoy()
    except Missing as missing:
        pytest.fail(str(missing))
    found = free_port()
    configuration: dict[str, Any] = yaml.safe_load((DEPLOY / "envoy" / "web.yaml").read_text())
    resources = configuration["static_resources"]
    resources["listeners"][0]["address"]["socket_address"]["port_value"] = found
    (service,) = resources["clusters"][0]["load_assignment"]["endpoints"][0]["lb_endpoints"]
    with local_server() as server:
        service["endpoint"]["address"]["socket_address"]["port_value"] = int(server.address.rpartition(":")[2])
        written = tmp_path / "web.yaml"
        written.write_text(yaml.safe_dump(configuration))
        async with running(written, found):
            yield found


class Call:
    """A call as a page makes it: HTTP/1.1, the answers in frames, the trailers of gRPC in the last of them."""

    def __init__(self, port: int, method: str, request: Message, token: str | None = None) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=30)
        body = request.SerializeToString()
        headers = {"content-type": "application/grpc-web+proto", "x-grpc-web": "1", "origin": ORIGIN}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        self._connection.request(
            "POST", f"/buraco.v1.TableService/{method}", b"\0" + len(body).to_bytes(4) + body, headers
        )
        self.response: HTTPResponse = self._connection.getresponse()
        self.trailers: dict[str, str] = {}

    def frames(self) -> Generator[bytes]:
        """Yield the answers. Then `trailers` are known."""
        with contextlib.closing(self._connection):
            while head := self.response.read(5):
                frame = self.response.read(int.from_bytes(head[1:]))
                if head[0] & TRAILERS:
                    lines = frame.decode().strip().split("\r\n")
                    self.trailers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
                else:
                    yield frame


def call(port: int, method: str, request: Message, token: str | None = None) -> bytes:
    """Return the answer of a call that succeeds."""
    made = Call(port, method, request, token)
    (frame,) = made.frames()
    assert made.trailers["grpc-status"] == "0"
    return frame


def _rid() -> str:
    return str(uuid.uuid4())


def _join(port: int, table_id: str, name: str) -> str:
    request = pb.JoinTableRequest(table_id=table_id, player_name=name, request_id=_rid())
    return pb.JoinTableResponse.FromString(call(port, "JoinTable", request)).token


def _play(port: int) -> None:
    create = pb.CreateTableRequest(rule_set_id="burraco", seats=2, request_id=_rid())
    table_id = pb.CreateTableResponse.FromString(call(port, "CreateTable", create)).table.id
    tokens = [_join(port, table_id, name) for name in ("Ada", "Blaise")]
    watch = Call(port, "WatchTable", pb.WatchTableRequest(table_id=table_id), tokens[0])
    updates = watch.frames()
    state = pb.WatchTableResponse.FromString(next(updates)).state
    assert len(state.view.hand) == 11
    turn = tokens[state.view.seat_to_move]
    listing = call(port, "ListLegalMoves", pb.TableServiceListLegalMovesRequest(table_id=table_id), turn)
    moves = pb.TableServiceListLegalMovesResponse.FromString(listing).moves
    submit = pb.SubmitMovesRequest(table_id=table_id, moves=moves[:1], request_id=_rid())
    accepted = pb.SubmitMovesResponse.FromString(call(port, "SubmitMoves", submit, turn))
    assert pb.WatchTableResponse.FromString(next(updates)).events.revision == accepted.revision
    updates.close()

    refused = Call(port, "SubmitMoves", pb.SubmitMovesRequest(table_id=table_id, moves=moves[:1], request_id=_rid()))
    assert list(refused.frames()) == []
    told = refused.trailers or dict(refused.response.getheaders())
    assert told["grpc-status"] == "16"
    assert "grpc-status-details-bin" in told
    assert refused.response.getheader("access-control-allow-origin") == ORIGIN
    assert "grpc-status-details-bin" in (refused.response.getheader("access-control-expose-headers") or "")


async def test_a_page_plays_and_watches(port: int) -> None:
    """Calls, a stream of updates and the details of an error reach a page of an origin that is allowed."""
    await asyncio.to_thread(_play, port)


@pytest.mark.parametrize(("origin", "allowed"), [(ORIGIN, ORIGIN), ("http://elsewhere.example", None)])
async def test_pages_of_other_origins_are_kept_out(port: int, origin: str, allowed: str | None) -> None:
    """A preflight request allows only pages of these origins."""

    def ask() -> str | None:
        with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            headers = {
                "origin": origin,
                "access-control-request-method": "POST",
                "access-control-request-headers": "authorization,content-type,x-grpc-web",
            }
            connection.request("OPTIONS", "/buraco.v1.TableService/GetTable", headers=headers)
            return connection.getresponse().getheader("access-control-allow-origin")

    assert await asyncio.to_thread(ask) == allowed


async def test_paths_that_are_no_text_are_not_passed_on(port: int) -> None:
    """Envoy itself answers a path with bytes that no method name has; it does not reach the service."""
    passed_on = b"x-envoy-upstream-service-time"
    async with connected(f"127.0.0.1:{port}") as hostile, asyncio.timeout(30):
        for path in (NOT_UTF8, b"/buraco.v1.TableService/\xff", b"/buraco.v1.\xc3\x28/GetTable", b"/buraco.v1.A/B/C"):
            end = await hostile.end(await hostile.call(path, end=True))
            assert passed_on not in end.headers
        end = await hostile.end(await hostile.call(b"/buraco.v1.TableService/Nothing", end=True))
        assert passed_on in end.headers
