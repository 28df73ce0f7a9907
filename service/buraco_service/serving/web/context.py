"""The context of a call over the web port, with the interface of grpc.aio's as far as servicers and `Calls` use it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Never

import grpc
import grpc.aio
from connectrpc.code import Code
from connectrpc.errors import ConnectError, ErrorDetail
from google.rpc import status_pb2
from protobuf.wkt import Any as AnyDetail

from buraco_service import errors
from buraco_service.serving.methods import Metadata

_CODES = {"CANCELLED": Code.CANCELED}


class Aborted(ConnectError, grpc.aio.AbortError):
    """The call has ended with a status: for `Calls` as over gRPC, for connectrpc the error that it serialises."""


class Handover:
    """Messages from the task that makes them to the one that sends them: each waits until the one before was taken."""

    def __init__(self) -> None:
        self._message: Any = None
        self._is_full = asyncio.Event()
        self._is_free = asyncio.Event()
        self._is_free.set()
        self._is_closed = False

    async def put(self, message: Any) -> None:
        """Pass a message on, as soon as there is room for one."""
        await self._is_free.wait()
        self._is_free.clear()
        self._message = message
        self._is_full.set()

    def close(self) -> None:
        """End the iteration behind the last message."""
        self._is_closed = True
        self._is_full.set()

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the messages until `close`."""
        while True:
            await self._is_full.wait()
            if self._is_free.is_set():
                return
            message, self._message = self._message, None
            if not self._is_closed:
                self._is_full.clear()
            self._is_free.set()
            yield message


class WebContext(grpc.aio.ServicerContext[Any, Any]):
    """The context of one call. `peer` is the caller's address as grpc names it."""

    def __init__(self, metadata: Metadata, peer: str) -> None:
        self._metadata = metadata
        self._peer = peer
        self._code: grpc.StatusCode | None = None
        self._trailing: tuple[tuple[str, str | bytes], ...] = ()
        self._answer: MutableMapping[str, str] = {}
        self._due = math.inf
        self.aborted: BaseException | None = None
        """What `abort` has raised."""
        self.messages = Handover()
        """What the handler of a stream writes."""

    def begin(self, answer: MutableMapping[str, str], timeout: float | None) -> None:
        """Note where the protocol takes trailing metadata from, and how many seconds the caller waits."""
        self._answer = answer
        if timeout is not None:
            self._due = asyncio.get_running_loop().time() + timeout

    async def read(self) -> Any:
        """Return that no message comes: streams of requests are not served here."""
        return grpc.aio.EOF

    async def write(self, message: Any) -> None:
        """Send a message of a stream, as soon as the one before is on its way."""
        await self.messages.put(message)

    async def abort(
        self,
        code: grpc.StatusCode,
        details: str = "",
        trailing_metadata: grpc.aio.Metadata | Sequence[tuple[str, str | bytes]] = (),
    ) -> Never:
        """End the call with a status. Its ErrorInfo and the like are in the trailing metadata."""
        self._code = code
        self.set_trailing_metadata(trailing_metadata)
        name = code.name
        found = next((value for key, value in self._trailing if key == errors.DETAILS_KEY), b"")
        assert isinstance(found, bytes), "the details are serialised"
        self.aborted = Aborted(_CODES.get(name) or Code(name.lower()), details, _details(found))
        raise self.aborted

    async def abort_with_status(self, status: Any) -> Never:
        """End the call with a status given as one."""
        await self.abort(status.code, status.details, status.trailing_metadata)

    async def send_initial_metadata(self, initial_metadata: Any) -> None:
        """Refuse to: nothing here sends any."""
        raise NotImplementedError

    def set_trailing_metadata(self, trailing_metadata: Any) -> None:
        """Set what is sent behind the last message. Details of errors go with the error itself."""
        self._trailing = tuple(trailing_metadata)
        self._answer.update({key: value for key, value in self._trailing if isinstance(value, str)})

    def trailing_metadata(self) -> Any:
        """Return what was set."""
        return self._trailing

    def invocation_metadata(self) -> Any:
        """Return the headers of the call."""
        return self._metadata

    def set_code(self, code: grpc.StatusCode) -> None:
        """Refuse to: servicers raise errors."""
        raise NotImplementedError

    def code(self) -> Any:
        """Return the status that the call was ended with; None for OK."""
        return self._code

    def set_details(self, details: str) -> None:
        """Refuse to: servicers raise errors."""
        raise NotImplementedError

    def set_compression(self, compression: grpc.Compression) -> None:
        """Do nothing: answers are not compressed."""

    def disable_next_message_compression(self) -> None:
        """Do nothing: answers are not compressed."""

    def peer(self) -> str:
        """Return the address of the connection."""
        return self._peer

    def peer_identities(self) -> Iterable[bytes] | None:
        """Return None: callers are not identified by certificates."""
        return None

    def peer_identity_key(self) -> str | None:
        """Return None, likewise."""
        return None

    def auth_context(self) -> Mapping[str, Iterable[bytes]]:
        """Return nothing, likewise."""
        return {}

    def time_remaining(self) -> float:
        """Return the seconds until the caller's deadline, 0 once that is over, infinity without one."""
        return max(0.0, self._due - asyncio.get_running_loop().time())


def _details(serialised: bytes) -> list[ErrorDetail]:
    """Return the details of an error: connectrpc takes an Any of its own kind only."""
    status = status_pb2.Status.FromString(serialised)
    return [ErrorDetail(AnyDetail(type_url=detail.type_url, value=detail.value)) for detail in status.details]
