"""The web port as clients of three kinds see it: curl, pages with gRPC-Web, and connectrpc's own client."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from connectrpc.client import ConnectClient
from connectrpc.compat import google_protobuf_binary_codec, google_protobuf_json_codec
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.protocol import ProtocolType
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from buraco.v1 import rules_service_pb2, table_service_pb2
from tests.service.table_server import PATIENCE, Replica

TABLES: Final = "buraco.v1.TableService"
TRAILERS: Final = 0x80
_STREAMS: Final = ("WatchTable",)
_MODULES: Final = {TABLES: table_service_pb2, "buraco.v1.RulesService": rules_service_pb2}


class Failed(NamedTuple):
    """An error as a client sees it."""

    code: str
    reason: str
    message: str


class Response(NamedTuple):
    """An answer of HTTP, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


def web_address(replica: Replica) -> str:
    """Where a replica's web port is."""
    assert replica.server.web_address is not None
    return replica.server.web_address


async def ask(
    address: str, path: str, body: bytes | None = None, method: str | None = None, **headers: str
) -> Response:
    """What a request is answered with; `_` in the names of headers stands for `-`."""

    def wait() -> Response:
        with contextlib.closing(http.client.HTTPConnection(address, timeout=PATIENCE)) as connection:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method or ("GET" if body is None else "POST"), path, body, named)
            answer = connection.getresponse()
            return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    return await asyncio.to_thread(wait)


async def ask_json(address: str, method: str, request: Any, service: str = TABLES, **headers: str) -> Response:
    """A call as curl makes it."""
    body = json.dumps(request).encode()
    return await ask(address, f"/{service}/{method}", body, content_type="application/json", **headers)


async def curl(*arguments: str) -> str:
    """What curl prints."""
    process = await asyncio.create_subprocess_exec(
        *("curl", "--silent", "--show-error", "--max-time", str(int(PATIENCE)), *arguments),
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode()


def read_details(details: list[dict[str, str]]) -> str:
    """The reason that the details of a Connect error name."""
    for detail in details:
        if detail["type"] == "google.rpc.ErrorInfo":
            return error_details_pb2.ErrorInfo.FromString(base64.b64decode(detail["value"] + "===")).reason
    return ""


def failed(response: Response) -> Failed:
    """The error of a unary call by Connect."""
    error = response.json
    return Failed(error["code"], read_details(error.get("details", [])), error["message"])


def frame(message: bytes, flags: int = 0) -> bytes:
    """A message in a stream, and in any call by gRPC-Web."""
    return bytes([flags]) + len(message).to_bytes(4) + message


def frames(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages in a body, with their flags."""
    while body:
        length = int.from_bytes(body[1:5])
        yield body[0], body[5 : 5 + length]
        body = body[5 + length :]


def read_trailers(content: bytes) -> dict[str, str]:
    """The trailers of gRPC-Web."""
    lines = [line.partition(":") for line in content.decode().strip().split("\r\n")]
    return {name.strip(): value.strip() for name, _, value in lines}


async def ask_grpc_web(
    address: str, method: str, request: Message, service: str = TABLES, **headers: str
) -> tuple[list[bytes], dict[str, str]]:
    """The messages and the trailers of a call as a page makes it by gRPC-Web."""
    response = await ask(
        address,
        f"/{service}/{method}",
        frame(request.SerializeToString()),
        content_type="application/grpc-web+proto",
        x_grpc_web="1",
        **headers,
    )
    assert response.status == 200
    found = list(frames(response.body))
    messages = [message for flags, message in found if not flags & TRAILERS]
    trailers = next((read_trailers(message) for flags, message in found if flags & TRAILERS), dict(response.headers))
    return messages, trailers


def grpc_web_failed(trailers: Mapping[str, str]) -> Failed:
    """The error that trailers of gRPC-Web name."""
    status = status_pb2.Status.FromString(base64.b64decode(trailers["grpc-status-details-bin"] + "==="))
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert urllib.parse.unquote(trailers["grpc-message"]) == status.message
    return Failed(trailers["grpc-status"], info.reason, status.message)


class Kind(NamedTuple):
    """A kind of connectrpc's own client."""

    protocol: ProtocolType
    codec: Callable[[], Any]


KINDS: Final = {
    "connect": Kind(ProtocolType.CONNECT, google_protobuf_binary_codec),
    "connect_json": Kind(ProtocolType.CONNECT, google_protobuf_json_codec),
    "grpc_web": Kind(ProtocolType.GRPC_WEB, google_protobuf_binary_codec),
    "grpc_web_json": Kind(ProtocolType.GRPC_WEB, google_protobuf_json_codec),
}


class Caller:
    """connectrpc's own client."""

    def __init__(self, address: str, kind: str, scheme: str = "http") -> None:
        protocol, codec = KINDS[kind]
        self._client = ConnectClient(f"{scheme}://{address}", protocol=protocol, codec=codec())

    async def call(
        self, method: str, request: Message, token: str | None = None, service: str = TABLES, timeout: float = PATIENCE
    ) -> Any:
        """The answer of a unary call."""
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return await self._client.execute_unary(
            request=request, method=_method(service, method), headers=headers, timeout_ms=round(1000 * timeout)
        )

    def watch(
        self, request: Message, token: str | None = None, timeout: float = PATIENCE
    ) -> AsyncIterator[table_service_pb2.WatchTableResponse]:
        """WatchTable."""
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        found: AsyncIterator[table_service_pb2.WatchTableResponse] = self._client.execute_server_stream(
            request=request, method=_method(TABLES, "WatchTable"), headers=headers, timeout_ms=round(1000 * timeout)
        )
        return found


def connect_failed(error: ConnectError) -> Failed:
    """The error that connectrpc's client has raised."""
    infos = [detail for detail in error.details if detail.type_name == "google.rpc.ErrorInfo"]
    reason = error_details_pb2.ErrorInfo.FromString(infos[0].message_bytes).reason if infos else ""
    return Failed(error.code.value, reason, error.message)


async def leave(stream: Any) -> None:
    """End a stream. connectrpc's client reports that it was closed as an error of its own."""
    with contextlib.suppress(RuntimeError, ConnectError):
        await stream.aclose()


def _method(service: str, name: str) -> Any:
    descriptor = _MODULES[service].DESCRIPTOR.services_by_name[service.rpartition(".")[2]].methods_by_name[name]
    module: Any = _MODULES[service]
    return MethodInfo(
        name=name,
        service_name=service,
        input=getattr(module, descriptor.input_type.name),
        output=getattr(module, descriptor.output_type.name),
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=StreamType.SERVER_STREAM if name in _STREAMS else StreamType.UNARY,
    )
