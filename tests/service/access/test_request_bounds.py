"""That nothing in a request is without bounds, whatever fields the contract comes to have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor

from buraco.v1 import account_service_pb2, rules_service_pb2, table_service_pb2
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.snapshots import snapshot_to_pb
from tests.service.refusals import refused
from tests.service.scripts import dealt
from tests.service.table_server import Replica, serving

Way: TypeAlias = tuple[FieldDescriptor, ...]

METHODS: list[MethodDescriptor] = [
    method
    for service in (
        rules_service_pb2.DESCRIPTOR.services_by_name["RulesService"],
        table_service_pb2.DESCRIPTOR.services_by_name["TableService"],
        account_service_pb2.DESCRIPTOR.services_by_name["AccountService"],
    )
    for method in service.methods
    # What comes on a play stream is read by the functions that read the calls'.
    if not method.client_streaming
]
LARGE = 3000


def ways(message: Descriptor, before: Way = ()) -> Iterator[Way]:
    """The ways to every text, every list and all bytes within a message."""
    for field in message.fields:
        way = (*before, field)
        if field.is_repeated or field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            yield way
        if field.message_type is not None:
            yield from ways(field.message_type, way)


def shown(way: Way) -> str:
    """A way as the service names the fields at fault: the first of each list."""
    steps = [field.name + ("[0]" if field.is_repeated else "") for field in way[:-1]]
    return ".".join([*steps, way[-1].name])


def base(method: MethodDescriptor) -> Any:
    """A request that goes as deep as can be."""
    request: Any = message_factory.GetMessageClass(method.input_type)()
    names = method.input_type.fields_by_name
    if "snapshot" in names:
        request.snapshot.CopyFrom(snapshot_to_pb(dealt()))
    if "rule_set" in names:
        request.rule_set.CopyFrom(rule_set_to_pb(dealt().rules))
        request.rule_set.id = "house"
    if "player_id" in names:
        request.player_id = "ann"
    return request


def enlarge(message: Any, way: Way) -> None:
    """Makes what is at the end of the way far too large."""
    for field in way[:-1]:
        inner = getattr(message, field.name)
        if field.is_repeated:
            message = inner[0] if inner else inner.add()
        else:
            inner.SetInParent()
            message = inner
    last = way[-1]
    if last.is_repeated and last.message_type is not None:
        for _ in range(LARGE):
            getattr(message, last.name).add()
    elif last.is_repeated:
        text = last.type == FieldDescriptor.TYPE_STRING
        getattr(message, last.name).extend([str(number) for number in range(LARGE)] if text else [1] * LARGE)
    else:
        setattr(message, last.name, "x" * LARGE if last.type == FieldDescriptor.TYPE_STRING else b"x" * LARGE)


CASES = [(method, way) for method in METHODS for way in ways(method.input_type)]


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db", credits=True) as running:
        yield running


async def test_everything_has_bounds(replica: Replica) -> None:
    """Every text, list and byte string of every request is refused, by its name, when it is far too large."""
    unbounded = []
    for method, way in CASES:
        request = base(method)
        enlarge(request, way)
        path = f"/{method.containing_service.full_name}/{method.name}"
        channel: Any = replica.channel
        if method.server_streaming:
            call = channel.unary_stream(path)(request.SerializeToString()).read()
        else:
            call = channel.unary_unary(path)(request.SerializeToString())
        refusal = await refused(call)
        named = [field for field in refusal.fields if field == shown(way) or field.startswith(f"{shown(way)}[")]
        if refusal.code.name != "INVALID_ARGUMENT" or not named:
            unbounded.append((method.name, shown(way), refusal.short, list(refusal.fields)[:3]))
    assert unbounded == []
    assert len(CASES) > 50
