from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc

from buraco.v1 import rules_service_pb2, table_service_pb2
from buraco_service.access.api_keys import ApiKey
from buraco_service.configuration.loading import load
from tests.service.announcing import Announcing
from tests.service.refusals import refused
from tests.service.table_server import PATIENCE, Metadata, Replica, create, get, join, public_view, serving, watch

SECRET = "a secret of sixteen bytes or more"
OTHER = "another secret of that kind"
LOBBY: Metadata = (("x-api-key", SECRET),)
RULES = rules_service_pb2.DESCRIPTOR.services_by_name["RulesService"]
TABLES = table_service_pb2.DESCRIPTOR.services_by_name["TableService"]


@pytest.fixture
async def replica(tmp_path: Path, log_stream: Announcing) -> AsyncIterator[Replica]:
    """A server with API keys."""
    keys = (ApiKey.of("lobby", SECRET.encode()), ApiKey.of("bots", OTHER.encode()))
    async with serving(tmp_path / "tables.db", api_keys=keys, reflection=True) as running:
        yield running


async def call(replica: Replica, service: Any, method: str, metadata: Metadata) -> Any:
    """A call with an empty request, which no method of the contract takes for an unknown key."""
    found = service.methods_by_name[method]
    request: Any = message_factory.GetMessageClass(found.input_type)()
    path = f"/{service.full_name}/{method}"
    channel: Any = replica.channel
    if found.server_streaming and found.client_streaming:
        return await channel.stream_stream(path)(iter([b""]), metadata=metadata, timeout=PATIENCE).read()
    if found.server_streaming:
        return await channel.unary_stream(path)(b"", metadata=metadata, timeout=PATIENCE).read()
    return await channel.unary_unary(path)(request.SerializeToString(), metadata=metadata, timeout=PATIENCE)


OPENING = ("CreateTable", "QuickJoin")
KEYED = [(RULES, method.name) for method in RULES.methods] + [(TABLES, name) for name in OPENING]
OPEN = [(TABLES, method.name) for method in TABLES.methods if method.name not in OPENING]


@pytest.mark.parametrize(("service", "method"), KEYED, ids=[name for _, name in KEYED])
async def test_calls_that_need_a_key(replica: Replica, service: Any, method: str) -> None:
    """Every call of RulesService, CreateTable and QuickJoin need a key of the server's, and no more than it."""
    assert (await refused(call(replica, service, method, ()))).short == ("UNAUTHENTICATED", "API_KEY_MISSING")
    for wrong in ((("x-api-key", "x" * 2000),), (("x-api-key", ""),), (*LOBBY, *LOBBY)):
        assert (await refused(call(replica, service, method, wrong))).short == ("UNAUTHENTICATED", "API_KEY_INVALID")
    if method == "ListRuleSets":
        assert await call(replica, service, method, LOBBY)
    else:
        assert (await refused(call(replica, service, method, LOBBY))).code is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(("service", "method"), OPEN, ids=[name for _, name in OPEN])
async def test_calls_that_need_no_key(replica: Replica, service: Any, method: str) -> None:
    """The other calls are for players, who have none; a wrong key is refused there, too."""
    if method == "ListTables":
        await call(replica, service, method, ())
    else:
        assert (await refused(call(replica, service, method, ()))).reason in ("REQUEST_INVALID", "TOKEN_MISSING")
    wrong = (("x-api-key", SECRET[:-1]),)
    assert (await refused(call(replica, service, method, wrong))).short == ("UNAUTHENTICATED", "API_KEY_INVALID")


async def test_table_of_a_key(replica: Replica, log_stream: Announcing) -> None:
    """A table made with a key is everybody's to play; the log has the key's name and never its secret."""
    table = await create(replica, metadata=LOBBY)
    await join(replica, table.id)
    await public_view(replica, table.id)
    await watch(replica, table.id).expect("state")
    assert (await refused(create(replica))).reason == "API_KEY_MISSING"
    assert (await refused(create(replica, metadata=(("x-api-key", "unknown key of a stranger"),)))).reason
    lines = [line for line in log_stream.lines("call") if line["method"].endswith("/CreateTable")]
    assert [line.get("caller") for line in lines] == ["lobby", None, None]
    assert [line.get("reason") for line in lines] == [None, "API_KEY_MISSING", "API_KEY_INVALID"]
    assert not any(text in log_stream.getvalue() for text in (SECRET, OTHER, "unknown key"))
    for reason in ("API_KEY_MISSING", "API_KEY_INVALID"):
        labels = {"reason": reason, "limit": ""}
        assert replica.metrics.registry.get_sample_value("buraco_refusals_total", labels) == 1


async def test_probes_need_no_key(replica: Replica) -> None:
    """Health is answered to everybody, whatever key comes along."""
    health: Any = health_pb2_grpc.HealthStub(replica.channel)
    for metadata in ((), (("x-api-key", "wrong"),)):
        assert (await health.Check(health_pb2.HealthCheckRequest(), metadata=metadata)).status


async def test_server_without_keys(tmp_path: Path) -> None:
    """Where there are no keys everybody may do everything, and a key that comes along is not looked at."""
    async with serving(tmp_path / "tables.db") as replica:
        table = await create(replica, metadata=LOBBY)
        assert (await get(replica, table.id)).id == table.id


def test_only_hashes_are_kept() -> None:
    """The settings hold no secret, in no form that could be read back."""
    settings = load({"BURACO_API_KEYS": f"lobby:{SECRET},bots:{OTHER}"}, {})
    assert [key.name for key in settings.api_keys] == ["lobby", "bots"]
    assert SECRET not in repr(settings) + repr(settings.api_keys)
    assert SECRET.encode() not in settings.api_keys[0]
