"""RulesService on a real server, and ways to spoil a message."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import grpc
import grpc.aio
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from buraco.v1 import card_pb2, event_pb2, rules_service_pb2_grpc
from buraco_codec.events import event_bytes, redacted_event
from buraco_rules import PRESETS
from buraco_rules.events import Event
from buraco_service.access.api_keys import ApiKeys
from buraco_service.access.limits import Limits
from buraco_service.observing.metrics import Metrics
from buraco_service.serving.calls import Calls
from buraco_service.serving.grpc_server import GrpcServer
from buraco_service.serving.rules_servicer import RulesServicer


class Served(NamedTuple):
    """A running server: a client of it, and its metrics."""

    stub: rules_service_pb2_grpc.RulesServiceStub
    metrics: Metrics


@asynccontextmanager
async def serving() -> AsyncIterator[Served]:
    """Serve RulesService at a free port of the loopback."""
    metrics = Metrics([preset.id for preset in PRESETS], "test")
    server: Any = GrpcServer(Calls(metrics, Limits(), ApiKeys()), (("grpc.so_reuseport", 0),))
    rules_service_pb2_grpc.add_RulesServiceServicer_to_server(RulesServicer(metrics), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Served(rules_service_pb2_grpc.RulesServiceStub(channel), metrics)
    finally:
        await server.stop(None)


def event_to_pb(event: Event) -> event_pb2.Event:
    """What happened, as a message of its own."""
    return event_pb2.Event.FromString(event_bytes(event))


def redacted(event: event_pb2.Event, seat: int | None) -> event_pb2.Event:
    """An event as the player at a seat may see it, or everybody (None)."""
    return event_pb2.Event.FromString(redacted_event(event.SerializeToString(), seat))


def cards_in(message: Message) -> Counter[int]:
    """Every card that a message holds, at any depth."""
    found: Counter[int] = Counter()
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for part in value if field.is_repeated else (value,):
                found += cards_in(part)
        elif field.enum_type is card_pb2.Card.DESCRIPTOR:
            found.update(value if field.is_repeated else (value,))
    return found


_NUMBERS = (0, 1, 2, 3, 4, 5, 7, 11, 14, 15, 53, 54, 99, 1000, 2**31 - 1)


def spoil(message: Message, rng: random.Random) -> str:
    """Change one thing somewhere in a message; the name of the field that was changed."""
    holder, field = rng.choice(list(_places(message)))
    name = str(field.name)
    if field.is_repeated:
        values = getattr(holder, name)
        what = rng.choice(("drop", "double", "swap", "change", "empty"))
        if what == "empty" or not values:
            holder.ClearField(name)
        elif what == "drop":
            del values[rng.randrange(len(values))]
        elif what == "double":
            values.append(rng.choice(list(values)))
        elif what == "swap" or field.type == FieldDescriptor.TYPE_MESSAGE:
            kept = list(values)
            rng.shuffle(kept)
            kept = [_copy(value) if isinstance(value, Message) else value for value in kept]
            del values[:]
            values.extend(kept)
        else:
            values[rng.randrange(len(values))] = _number(field, rng)
    elif field.type == FieldDescriptor.TYPE_MESSAGE or rng.random() < 0.1:
        holder.ClearField(name)
    elif field.type == FieldDescriptor.TYPE_BOOL:
        setattr(holder, name, not getattr(holder, name))
    elif field.type == FieldDescriptor.TYPE_STRING:
        setattr(holder, name, rng.choice(("", "open", "x" * 200, "a\nb", "house-rules")))
    else:
        setattr(holder, name, _number(field, rng))
    return name


def _places(message: Message) -> Iterator[tuple[Message, Any]]:
    for field in message.DESCRIPTOR.fields:
        yield message, field
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            value = getattr(message, field.name)
            parts = value if field.is_repeated else [value] if message.HasField(field.name) else []
            for part in parts:
                yield from _places(part)


def _number(field: Any, rng: random.Random) -> int:
    number = rng.choice(_NUMBERS)
    signed = field.type in (FieldDescriptor.TYPE_ENUM, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_INT32)
    return -number if signed and rng.random() < 0.2 else number


def _copy(message: Message) -> Message:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy
