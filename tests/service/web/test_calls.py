from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from connectrpc.errors import ConnectError

from buraco.v1 import table_service_pb2 as pb
from buraco_service.access.api_keys import ApiKey
from tests.service.announcing import Announcing
from tests.service.table_server import QUIET, RULE_SET, Replica, new_id, serving, start
from tests.service.web.http import (
    KINDS,
    TABLES,
    Caller,
    Failed,
    ask,
    ask_grpc_web,
    ask_json,
    connect_failed,
    curl,
    failed,
    frame,
    frames,
    grpc_web_failed,
    leave,
    read_details,
    web_address,
)

NOWHERE = "0" * 32
CREATE = {"ruleSetId": RULE_SET, "seats": 2}


@pytest.fixture
async def replica(tmp_path: Path, log_stream: Announcing) -> AsyncIterator[Replica]:
    """A server with a web port."""
    async with serving(tmp_path / "tables.db", web_port=0) as running:
        yield running


async def connect_refused(call: Any) -> Failed:
    """The error that a call by connectrpc's client ends with."""
    with pytest.raises(ConnectError) as caught:
        await call
    return connect_failed(caught.value)


def web_calls(replica: Replica, protocol: str) -> float:
    """How many calls came by a protocol."""
    return replica.metrics.registry.get_sample_value("buraco_web_calls_total", {"protocol": protocol}) or 0.0


def handled(replica: Replica, method: str, code: str, service: str = TABLES, kind: str = "UNARY") -> float:
    """How many calls of a method ended with a code."""
    labels = {"grpc_type": kind, "grpc_service": service, "grpc_method": method, "grpc_code": code}
    return replica.metrics.registry.get_sample_value("grpc_server_handled_total", labels) or 0.0


async def test_curl_calls_with_json(replica: Replica) -> None:
    """With JSON curl gets an answer in JSON, by the names of the contract in lowerCamelCase."""
    url = f"http://{web_address(replica)}"
    json_header = ("--header", "content-type: application/json")
    listed = json.loads(await curl(*json_header, "--data", "{}", f"{url}/buraco.v1.RulesService/ListRuleSets"))
    assert RULE_SET in [rules["id"] for rules in listed["ruleSets"]]
    body = json.dumps({**CREATE, "requestId": new_id()})
    table = json.loads(await curl(*json_header, "--data", body, f"{url}/{TABLES}/CreateTable"))["table"]
    assert table["state"] == "TABLE_STATE_WAITING"
    assert (await replica.table(table["id"])).id == table["id"]


async def test_curl_is_shown_errors(replica: Replica) -> None:
    """An error in JSON has a code, the problems of all fields and an ErrorInfo; HTTP has a status of its own."""
    response = await ask_json(web_address(replica), "CreateTable", {"seats": 3})
    assert response.status == 400
    assert failed(response).code == "invalid_argument"
    assert failed(response).reason == "REQUEST_INVALID"
    assert "seats: 2 or 4, not 3" in failed(response).message
    assert "google.rpc.BadRequest" in [detail["type"] for detail in response.json["details"]]
    assert handled(replica, "CreateTable", "INVALID_ARGUMENT") == 1


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"7", b'{"seats": "x"}', b'{"seats": 1e400}', b"\xff", b"[" * 60_000]
)
async def test_json_that_is_no_request(replica: Replica, body: bytes) -> None:
    """A body that is no request in JSON is refused as any other malformed request, and counted."""
    response = await ask(web_address(replica), f"/{TABLES}/CreateTable", body, "POST", content_type="application/json")
    assert (response.status, failed(response).reason) == (400, "REQUEST_INVALID")
    assert handled(replica, "CreateTable", "INVALID_ARGUMENT") == 1


async def test_unknown_fields_of_json_are_ignored(replica: Replica) -> None:
    """A field that this version does not know is ignored, as in a serialised message."""
    request = {**CREATE, "requestId": new_id(), "fieldOfTomorrow": 1}
    assert (await ask_json(web_address(replica), "CreateTable", request)).status == 200


@pytest.mark.parametrize("kind", KINDS)
async def test_a_player_plays_by_each_protocol(replica: Replica, kind: str) -> None:
    """By each protocol a player sees its cards, plays, and watches every change, its own view behind it."""
    caller = Caller(web_address(replica), kind)
    players = await start(replica)
    table_id, mover = players[0].table_id, players[(await players[0].view()).seat_to_move]
    watch = caller.watch(pb.WatchTableRequest(table_id=table_id, views=True), mover.token)
    state = (await anext(watch)).state
    assert len(state.view.hand) == 11
    listing = pb.TableServiceListLegalMovesRequest(table_id=table_id)
    moves = (await caller.call("ListLegalMoves", listing, mover.token)).moves
    submit = pb.SubmitMovesRequest(table_id=table_id, moves=moves[:1], request_id=new_id())
    accepted = await caller.call("SubmitMoves", submit, mover.token)
    assert (await anext(watch)).events.revision == accepted.revision
    assert (await anext(watch)).view.view == (await mover.view())
    again = await caller.call("SubmitMoves", submit, mover.token)
    assert again == accepted
    assert web_calls(replica, kind) == 4
    await leave(watch)


@pytest.mark.parametrize("kind", KINDS)
async def test_errors_have_their_reason_by_each_protocol(replica: Replica, kind: str) -> None:
    """By each protocol a refused call has code, message and ErrorInfo, also where a stream ends with it."""
    caller = Caller(web_address(replica), kind)
    unknown = ("not_found", "TABLE_UNKNOWN", "there is no such table")
    assert await connect_refused(caller.call("GetTable", pb.GetTableRequest(table_id=NOWHERE))) == unknown
    assert await connect_refused(anext(caller.watch(pb.WatchTableRequest(table_id=NOWHERE)))) == unknown
    missing = await connect_refused(caller.call("RenewToken", pb.RenewTokenRequest(table_id=NOWHERE)))
    assert (missing.code, missing.reason) == ("unauthenticated", "TOKEN_MISSING")


async def test_grpc_web_in_frames(replica: Replica) -> None:
    """By gRPC-Web the answer is a frame, and the status is in trailers behind it."""
    request = pb.CreateTableRequest(rule_set_id=RULE_SET, seats=2, request_id=new_id())
    (answer,), trailers = await ask_grpc_web(web_address(replica), "CreateTable", request)
    assert pb.CreateTableResponse.FromString(answer).table.seats[0].player_name == ""
    assert trailers["grpc-status"] == "0"
    messages, trailers = await ask_grpc_web(web_address(replica), "GetTable", pb.GetTableRequest(table_id=NOWHERE))
    assert messages == []
    assert grpc_web_failed(trailers) == ("5", "TABLE_UNKNOWN", "there is no such table")


async def test_play_table_is_for_grpc_only(replica: Replica) -> None:
    """A two-way stream is refused before its messages are read, with what to use instead."""
    path = f"/{TABLES}/PlayTable"
    response = await ask(web_address(replica), path, b"never read", content_type="application/connect+json")
    ((flags, end),) = frames(response.body)
    error = json.loads(end)["error"]
    assert (flags, error["code"], read_details(error["details"])) == (2, "unimplemented", "NEEDS_GRPC")
    assert "WatchTable and SubmitMoves" in error["message"]
    _, trailers = await ask_grpc_web(web_address(replica), "PlayTable", pb.PlayTableRequest())
    assert grpc_web_failed(trailers).reason == "NEEDS_GRPC"
    assert handled(replica, "PlayTable", "UNIMPLEMENTED", kind="BIDI_STREAM") == 2


@pytest.mark.parametrize(
    ("path", "method", "content_type", "status"),
    [
        (f"/{TABLES}/GetTable", "GET", "application/json", 405),
        (f"/{TABLES}/GetTable", "POST", "text/plain", 415),
        (f"/{TABLES}/GetTable", "POST", "application/grpc", 415),
        (f"/{TABLES}/GetTable", "POST", "application/grpc-web-text", 415),
        (f"/{TABLES}/WatchTable", "POST", "application/json", 415),
        (f"/{TABLES}/Nothing", "POST", "application/json", 404),
        ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "POST", "application/connect+proto", 404),
        ("/", "GET", "", 404),
    ],
)
async def test_requests_that_are_no_calls(
    replica: Replica, path: str, method: str, content_type: str, status: int
) -> None:
    """What is no call is refused by HTTP's own statuses, and counted as a call of an unknown method."""
    response = await ask(web_address(replica), path, b"{}", method, content_type=content_type)
    assert response.status == status
    labels = dict.fromkeys(("grpc_type", "grpc_service", "grpc_method"), "unknown")
    labels["grpc_code"] = "UNIMPLEMENTED"
    assert replica.metrics.registry.get_sample_value("grpc_server_handled_total", labels) == 1


async def test_health_answers(replica: Replica) -> None:
    """Health is asked with JSON, too."""
    response = await ask_json(web_address(replica), "Check", {}, "grpc.health.v1.Health")
    assert response.json == {"status": "SERVING"}


async def test_deadlines_end_streams(replica: Replica) -> None:
    """A stream whose caller waits no longer ends with DEADLINE_EXCEEDED, by each protocol, and is counted as such."""
    watch = pb.WatchTableRequest(table_id=(await start(replica))[0].table_id)
    path, body = f"/{TABLES}/WatchTable", frame(watch.SerializeToString())
    headers = {"content_type": "application/connect+proto", "connect_timeout_ms": "300"}
    *_, (flags, end) = frames((await ask(web_address(replica), path, body, **headers)).body)
    assert (flags, json.loads(end)["error"]["code"]) == (2, "deadline_exceeded")
    _, trailers = await ask_grpc_web(web_address(replica), "WatchTable", watch, grpc_timeout="300m")
    assert trailers["grpc-status"] == "4"
    assert handled(replica, "WatchTable", "DEADLINE_EXCEEDED", kind="SERVER_STREAM") == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"connect_timeout_ms": "soon"},
        {"connect_timeout_ms": "99999999999"},
        {"grpc_timeout": "1w"},
        {"connect_protocol_version": "2"},
        {"content_encoding": "%"},
    ],
)
async def test_malformed_headers_of_a_protocol(replica: Replica, headers: dict[str, str]) -> None:
    """Headers of the protocol that nobody can understand are refused with a reason."""
    response = await ask_json(web_address(replica), "GetTable", {}, **headers)
    assert (response.status, failed(response).reason) == (400, "REQUEST_INVALID")
    assert handled(replica, "GetTable", "INVALID_ARGUMENT") == 1


async def test_request_ids(replica: Replica, log_stream: Announcing) -> None:
    """The id that a caller gives comes back, and is in the log with the protocol; errors always have one."""
    response = await ask_json(web_address(replica), "ListTables", {}, x_request_id="mine")
    assert response.headers["x-request-id"] == "mine"
    await log_stream.wait_for(lambda: bool(log_stream.lines("call")))
    (line,) = log_stream.lines("call")
    assert (line["request_id"], line["protocol"], line["code"]) == ("mine", "connect_json", "OK")
    refusal = await ask_json(web_address(replica), "GetTable", {})
    assert refusal.headers["x-request-id"]
    _, trailers = await ask_grpc_web(web_address(replica), "ListTables", pb.ListTablesRequest(), x_request_id="other")
    assert trailers["x-request-id"] == "other"


async def test_compressed_requests(replica: Replica) -> None:
    """Requests may be compressed by gzip, and nothing else; answers are not compressed."""
    path, body = f"/{TABLES}/ListTables", gzip.compress(b"{}")
    given = {"content_type": "application/json", "accept_encoding": "gzip"}
    response = await ask(web_address(replica), path, body, content_encoding="gzip", **given)
    assert (response.status, response.json) == (200, {})
    response = await ask(web_address(replica), path, body, content_encoding="br", **given)
    assert (response.status, failed(response).reason) == (501, "REQUEST_INVALID")
    response = await ask(web_address(replica), path, b"no gzip", content_encoding="gzip", **given)
    assert (response.status, failed(response).reason) == (400, "REQUEST_INVALID")


async def test_limits_and_keys_are_those_of_grpc(tmp_path: Path) -> None:
    """API keys are asked for, and calls of both ports count together for a peer."""
    keys = (ApiKey.of("lobby", b"a secret of the lobby"),)
    async with serving(tmp_path / "tables.db", web_port=0, api_keys=keys, max_peer_watches=1) as replica:
        address = web_address(replica)
        request = {**CREATE, "requestId": new_id()}
        response = await ask_json(address, "CreateTable", request)
        assert (response.status, failed(response).reason) == (401, "API_KEY_MISSING")
        response = await ask_json(address, "CreateTable", request, x_api_key="a secret of the lobby")
        assert response.status == 200
        table_id = response.json["table"]["id"]
        over_grpc = replica.tables.WatchTable(pb.WatchTableRequest(table_id=table_id), timeout=QUIET)
        await over_grpc.read()
        refusal = await connect_refused(
            anext(Caller(address, "connect").watch(pb.WatchTableRequest(table_id=table_id)))
        )
        assert (refusal.code, refusal.reason) == ("resource_exhausted", "LIMIT_REACHED")
        over_grpc.cancel()


async def test_a_watcher_that_leaves_is_counted_out(replica: Replica, log_stream: Announcing) -> None:
    """When a page is closed its stream ends at once, as CANCELLED, and its watch with it."""
    table_id = (await start(replica))[0].table_id
    reader, writer = await asyncio.open_connection(*web_address(replica).split(":"))
    body = frame(json.dumps({"tableId": table_id}).encode())
    head = f"POST /{TABLES}/WatchTable HTTP/1.1\r\nhost: x\r\ncontent-type: application/connect+json\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    await reader.readuntil(b'"state"')
    watches = "buraco_watches"
    assert replica.metrics.registry.get_sample_value(watches) == 1
    writer.close()
    await log_stream.wait_for(lambda: handled(replica, "WatchTable", "CANCELLED", kind="SERVER_STREAM") == 1)
    assert replica.metrics.registry.get_sample_value(watches) == 0
