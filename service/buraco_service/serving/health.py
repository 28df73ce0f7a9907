"""The standard health service: everything is SERVING until the server drains, and NOT_SERVING from then on.

Watchers share nothing: one that does not read delays neither the others nor the stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2 as pb
from grpc_health.v1 import health_pb2_grpc

_SERVING: Final = pb.HealthCheckResponse(status=pb.HealthCheckResponse.SERVING)
_NOT_SERVING: Final = pb.HealthCheckResponse(status=pb.HealthCheckResponse.NOT_SERVING)
_UNKNOWN: Final = pb.HealthCheckResponse(status=pb.HealthCheckResponse.SERVICE_UNKNOWN)

_Context = grpc.aio.ServicerContext[Any, Any]


class Health(health_pb2_grpc.HealthServicer):
    """The health of the server (under the name "") and of its services."""

    def __init__(self, services: Iterable[str]) -> None:
        self._names = ("", *services)
        self._draining = asyncio.Event()

    def drain(self) -> None:
        """Report NOT_SERVING from now on; watchers get it, and their streams end."""
        self._draining.set()

    async def Check(self, request: pb.HealthCheckRequest, context: _Context) -> pb.HealthCheckResponse:
        """Return the status of a service."""
        if request.service not in self._names:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return self._status()

    # Its messages are missing in the stubs.
    async def List(self, request: Any, context: _Context) -> Any:
        """Return the status of every service."""
        return pb.HealthListResponse(  # type: ignore[attr-defined]
            statuses=dict.fromkeys(self._names, self._status())
        )

    async def Watch(self, request: pb.HealthCheckRequest, context: _Context) -> AsyncIterator[pb.HealthCheckResponse]:
        """Yield the status of a service, and NOT_SERVING when the server drains."""
        known = request.service in self._names
        first = self._status() if known else _UNKNOWN
        yield first
        await self._draining.wait()
        if known and first is not _NOT_SERVING:
            yield _NOT_SERVING

    def _status(self) -> pb.HealthCheckResponse:
        return _NOT_SERVING if self._draining.is_set() else _SERVING
