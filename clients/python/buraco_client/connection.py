"""The stubs and settings that all calls and streams of a client share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from buraco.v1.rules_service_pb2_grpc import RulesServiceStub
    from buraco.v1.table_service_pb2_grpc import TableServiceStub
    from buraco_client.streams import StreamSettings
    from buraco_client.unary import Caller, Metadata


@dataclass(frozen=True, slots=True)
class Connection:
    """The stubs on one channel, with the settings of calls and streams."""

    rules: RulesServiceStub
    tables: TableServiceStub
    call: Caller
    """Makes unary calls, with a deadline and repeats."""
    streams: StreamSettings
    metadata: Metadata = field(default=(), repr=False)
    """Sent with every stream; `call` adds it to calls by itself."""
