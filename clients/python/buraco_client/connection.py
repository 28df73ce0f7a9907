"""What everything that talks to the service shares."""

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
    """The stubs on one channel, and how calls and streams over it behave."""

    rules: RulesServiceStub
    tables: TableServiceStub
    call: Caller
    streams: StreamSettings
    metadata: Metadata = field(default=(), repr=False)
    """What goes with every stream; calls bring it along by themselves."""
