from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from buraco.v1 import rules_service_pb2, table_pb2, table_service_pb2
from buraco_client import ApiKeyRejected, BuracoClient, Seat, Tls, TokenRejected
from tests.client.conftest import QUICK
from tests.client.playing import DRAW, Table, accepted, take
from tests.client.scripted import events, forever, refuse, send, state, turn

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.scripted import Script, Service, Step
    from tests.clock import LoopClock

VIEW = table_service_pb2.TableServiceGetViewResponse(revision=3)
LONG = 7 * 86_400
REVOKED = refuse(grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID")
EXPIRED = refuse(grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED")


def expiry(seconds: float) -> Timestamp:
    """So many seconds from now."""
    return Timestamp(seconds=int(time.time() + seconds))


def fresh(text: str, life: float = LONG) -> table_service_pb2.RenewTokenResponse:
    """The answer to a renewal."""
    return table_service_pb2.RenewTokenResponse(token=text, token_expires_at=expiry(life))


async def joined(client: BuracoClient, script: Script, life: float) -> Seat:
    """A seat whose token, "old", has so many seconds left."""
    table = table_pb2.Table(id="t", revision=2)
    answer = table_service_pb2.JoinTableResponse(token="old", table=table, token_expires_at=expiry(life))
    script.on("JoinTable", answer)
    return await client.join_table("t", "Ana")


def proofs(script: Script, method: str) -> list[Any]:
    """The tokens that the calls of a method came with."""
    return [metadata["authorization"] for metadata in script.metadata[method]]


async def test_token_is_renewed_in_time(client: BuracoClient, script: Script) -> None:
    """When half of a token's life is over the next call renews it first, and no call after it."""
    seat = await joined(client, script, 0)
    script.on("RenewToken", fresh("new"))
    script.on("GetView", VIEW, VIEW)
    await seat.get_view()
    await seat.get_view()
    assert proofs(script, "RenewToken") == ["Bearer old"]
    assert script.requests["RenewToken"][0].table_id == "t"
    assert proofs(script, "GetView") == ["Bearer new"] * 2
    assert seat.token == "new"
    assert seat.token_expires_at is not None
    assert seat.token_expires_at > time.time() + LONG - 60


async def test_young_token_is_left_alone(client: BuracoClient, script: Script) -> None:
    """A token with its life before it is not renewed, nor is one whose end is not known."""
    young, kept = await joined(client, script, LONG), client.restore_seat("t", 0, "kept")
    script.on("GetView", VIEW, VIEW)
    await young.get_view()
    await kept.get_view()
    assert script.requests["RenewToken"] == []
    assert proofs(script, "GetView") == ["Bearer old", "Bearer kept"]
    assert kept.token_expires_at is None


async def test_kept_token_with_its_end(client: BuracoClient, script: Script) -> None:
    """A token that was kept with its end is renewed like any other; one without, when asked for."""
    script.on("RenewToken", fresh("new"), fresh("newer"))
    script.on("GetView", VIEW)
    await client.restore_seat("t", 0, "kept", expires_at=time.time()).get_view()
    assert proofs(script, "GetView") == ["Bearer new"]
    seat = client.restore_seat("t", 0, "kept")
    await seat.renew()
    assert (seat.token, proofs(script, "RenewToken")) == ("newer", ["Bearer kept"] * 2)


async def test_failed_renewal_harms_nobody(client: BuracoClient, script: Script) -> None:
    """A renewal that fails lets the call go on with the old token, and is not tried with every call."""
    seat = await joined(client, script, 0)
    script.on("RenewToken", EXPIRED)
    script.on("GetView", VIEW, VIEW)
    await seat.get_view()
    await seat.get_view()
    assert proofs(script, "GetView") == ["Bearer old"] * 2
    assert len(script.requests["RenewToken"]) == 1


@pytest.mark.parametrize("over", [EXPIRED, REVOKED])
async def test_watch_outlives_its_token(client: BuracoClient, script: Script, over: Step) -> None:
    """A watch that the service ends for its old token, or that token's key, goes on with the new one."""

    async def first(request: Any, context: Any) -> None:
        await send(context, state(3))
        await seat.renew()
        await over(request, context)

    async def second(request: Any, context: Any) -> None:
        await send(context, events(4))
        await forever()

    seat = await joined(client, script, LONG)
    script.on("RenewToken", fresh("new"))
    script.on("WatchTable", first, second)
    async with seat.watch() as updates:
        assert [await anext(updates) for _ in range(2)] == [state(3), events(4)]
    assert proofs(script, "WatchTable") == ["Bearer old", "Bearer new"]


async def test_play_outlives_its_token(client: BuracoClient, script: Script, table: Table) -> None:
    """A play stream that the service ends for its old token goes on with the new one; no move is lost."""

    async def expires(context: Any) -> None:
        await table.ask(context)
        await EXPIRED(None, context)

    async def answers(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4))
        await forever()

    seat = await joined(client, script, LONG)
    script.on("RenewToken", fresh("new"))
    script.on("PlayTable", table.stream(state(3), turn(3), then=expires), table.stream(then=answers))
    async with seat.play() as session:
        assert await take(session, 2) == [state(3), turn(3)]
        await seat.renew()
        assert await session.submit([DRAW], 3) == 4
        assert await take(session, 1) == [events(4)]
    assert proofs(script, "PlayTable") == ["Bearer old", "Bearer new"]
    assert table.asked == [table.asked[0]] * 2


@pytest.mark.parametrize("way", ["WatchTable", "PlayTable"])
async def test_token_is_renewed_during_a_stream(
    service: Service, script: Script, table: Table, clock: LoopClock, way: str
) -> None:
    """A stream on which little happens renews the token as its heartbeats come."""

    async def beats(context: Any) -> None:
        clock.advance(600.0)
        while not script.requests["RenewToken"]:
            await send(context, table_service_pb2.Heartbeat(revision=3))
            await asyncio.sleep(0.02)
        await send(context, events(4))
        await forever()

    async def watched(request: Any, context: Any) -> None:
        await send(context, state(3))
        await beats(context)

    script.on("RenewToken", fresh("new"))
    script.on(way, watched if way == "WatchTable" else table.stream(state(3), then=beats))
    async with BuracoClient(service.target, heartbeat_timeout=LONG, reconnect_timeout=LONG, backoff=QUICK) as client:
        seat = client.restore_seat("t", 0, "old", expires_at=time.time() + 1000.0)
        async with seat.watch() if way == "WatchTable" else seat.play() as updates:
            assert [await anext(updates) for _ in range(2)] == [state(3), events(4)]
    assert proofs(script, way) == ["Bearer old"]
    assert seat.token == "new"


async def test_token_at_its_end(client: BuracoClient, script: Script) -> None:
    """A stream whose token has expired raises TokenRejected if there is no newer one."""
    script.on("WatchTable", EXPIRED)
    async with client.restore_seat("t", 0, "abc").watch() as updates:
        with pytest.raises(TokenRejected):
            await anext(updates)


async def test_api_key_goes_with_everything(service: Service, script: Script, table: Table) -> None:
    """A client's API key goes with its calls and streams; one that is refused is an error of its own."""

    async def first(request: Any, context: Any) -> None:
        await send(context, state(3))
        await forever()

    script.on("ListRuleSets", rules_service_pb2.ListRuleSetsResponse())
    script.on("WatchTable", first)
    script.on("PlayTable", table.stream(state(3)))
    script.on("CreateTable", refuse(grpc.StatusCode.UNAUTHENTICATED, "API_KEY_INVALID"))
    async with BuracoClient(service.target, backoff=QUICK, api_key="key of a test") as client:
        await client.rules.list_rule_sets()
        async with client.watch("t") as updates, client.restore_seat("t", 0, "abc").play() as session:
            await anext(updates)
            await anext(session)
        with pytest.raises(ApiKeyRejected):
            await client.create_table("open", 2)
    for method in ("ListRuleSets", "WatchTable", "PlayTable", "CreateTable"):
        assert script.metadata[method][0]["x-api-key"] == "key of a test"


async def test_tls_by_halves(tmp_path: Path) -> None:
    """A certificate without its key, files that are not there, and two ways at once are refused before any call."""
    with pytest.raises(ValueError, match="needs its key"):
        Tls(cert_file=tmp_path / "cert")
    with pytest.raises(FileNotFoundError):
        BuracoClient("localhost:1", tls=Tls(ca_file=tmp_path / "missing"))
    with pytest.raises(ValueError, match="not both"):
        BuracoClient("localhost:1", tls=Tls(), credentials=grpc.ssl_channel_credentials())
