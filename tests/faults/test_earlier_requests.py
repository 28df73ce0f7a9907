"""Requests that an earlier version has answered, sent again to this one."""

from __future__ import annotations

import json
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

from buraco.v1 import move_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.moves import move_from_pb
from buraco_service.requests import normalise_uuid
from buraco_service.stores.base import KEPT_ANSWERS, Commit
from buraco_service.tables import changes, earlier
from buraco_service.tables.entries import make_entry, serialise_entry
from buraco_service.tables.stored import parse_table, serialise_table
from tests.faults.earlier import places
from tests.service.refusals import refused
from tests.service.table_server import PATIENCE, Metadata, Player, Replica, bearing, join_raw, new_id, serving

REUSED = ("ALREADY_EXISTS", "REQUEST_ID_REUSED")


class PastRequest(NamedTuple):
    """A request and the answer that the earlier version gave."""

    method: str
    request: dict[str, Any]
    answer: dict[str, Any]
    seat: int | None
    token_id: str | None

    @property
    def table_id(self) -> str:
        """The table that it changed."""
        found: str = self.request.get("tableId") or self.answer["table"]["id"]
        return found

    def metadata(self, replica: Replica) -> Metadata:
        """Return a token of the seat, another than was used for the request."""
        if self.seat is None or self.token_id is None:
            return ()
        return bearing(replica.tokens.issue(self.table_id, self.seat, self.token_id, time.time()))

    async def send(self, replica: Replica, method: str | None = None, **changes: Any) -> Any:
        """Send the request again, or another one under its id."""
        name = method or self.method
        request = ParseDict(self.request | changes, getattr(pb, f"{name}Request")(), ignore_unknown_fields=True)
        call = getattr(replica.tables, name)
        return await call(request, metadata=self.metadata(replica), timeout=PATIENCE)


METHODS = {"CreateTable", "JoinTable", "SubmitMoves", "UndoMove", "LeaveTable"}
_LINES = places.DATABASE.with_suffix(".jsonl").read_text().splitlines()
PAST_REQUESTS = [PastRequest(**json.loads(line)) for line in _LINES]
BY_METHOD = {method: [past for past in PAST_REQUESTS if past.method == method] for method in METHODS}


@pytest.fixture(params=["sqlite", "redis", "redis_cluster", "postgres"])
async def replica(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Replica]:
    """A server of this version on the tables of an earlier one."""
    if request.param == "sqlite":
        url = places.copy_to_sqlite(tmp_path)
    elif request.param == "postgres":
        url = await places.write_to_postgres(request.getfixturevalue("postgres_server"))
    else:
        url = await places.write_to_redis(request.getfixturevalue(f"{request.param}_url"))
    async with serving(url) as running:
        yield running


async def _revisions(replica: Replica) -> dict[str, int]:
    return {stored.table_id: stored.revision for stored in await replica.store.list_tables(None, 100, None)}


async def _move_everywhere(replica: Replica) -> list[str]:
    """Make a move at each table where that is possible, and return their ids."""
    moved = []
    for table_id in await _revisions(replica):
        table = await replica.table(table_id)
        assert table.request_ids_bound_since == 0
        if table.deal is None or table.result is not None:
            continue
        seat = table.deal.seat_to_move
        if not table.seats[seat].token_id:
            continue
        token = replica.tokens.issue(table_id, seat, table.seats[seat].token_id, time.time())
        player = Player(replica, table_id, seat, token)
        await player.submit(move_from_pb(random.Random(5).choice((await player.legal()).moves)))
        assert (await replica.table(table_id)).request_ids_bound_since == table.revision + 1
        moved.append(table_id)
    return moved


async def test_repeats(replica: Replica) -> None:
    """The same request gets the first answer and changes nothing, before this version's first change and after it."""
    assert {past.method for past in PAST_REQUESTS} == METHODS
    for moved in (False, True):
        if moved:
            assert len(await _move_everywhere(replica)) > 3
        before = await _revisions(replica)
        for past in PAST_REQUESTS:
            assert MessageToDict(await past.send(replica)) == past.answer
        assert await _revisions(replica) == before


async def test_repeats_on_the_stream(replica: Replica) -> None:
    """A call that an earlier version answered can be repeated on the stream."""
    past = BY_METHOD["SubmitMoves"][0]
    assert past.seat is not None
    _, bearer = past.metadata(replica)[0]
    player = Player(replica, past.table_id, past.seat, bearer.removeprefix("Bearer "))
    stream = await player.play()
    await stream.expect("state")
    request_id = past.request["requestId"]
    moves = [move_from_pb(ParseDict(move, move_pb2.Move())) for move in past.request["moves"]]
    await stream.submit(*moves, request_id=request_id, revision=int(past.request["revision"]))
    assert (await stream.accepted(request_id)).revision == int(past.answer["revision"])
    await stream.submit(*moves, *moves, request_id=request_id)
    assert (await stream.denied(request_id)).reason == REUSED[1]


async def test_other_requests(replica: Replica) -> None:
    """Another request is refused, as far as it can be recognised, before this version's first change and after it."""
    for moved in (False, True):
        if moved:
            await _move_everywhere(replica)
        before = await _revisions(replica)
        others = []
        for past in BY_METHOD["CreateTable"]:
            differing: list[dict[str, Any]] = [
                {"stake": "7"},
                {"targetScore": 7},
                {"seed": "A" * 43 + "="},
                {"seed": None},
            ]
            others += [past.send(replica, **change) for change in differing]
            joining = {"tableId": past.table_id, "playerName": "Zoë 0"}
            others.append(past.send(replica, "JoinTable", **joining))
        for past in BY_METHOD["JoinTable"]:
            elsewhere = (past.answer.get("seat", 0) + 1) % 4
            others += [past.send(replica, **change) for change in ({"playerName": "Ada"}, {"seat": elsewhere})]
        for past in BY_METHOD["SubmitMoves"]:
            # To a player who has left, any request is refused for that.
            if (await replica.table(past.table_id)).seats[past.seat or 0].token_id != past.token_id:
                continue
            differing = [{"moves": past.request["moves"] * 2}, {"moves": [{"drawStock": {}}] * 2}]
            others += [past.send(replica, **change) for change in differing]
            others.append(past.send(replica, revision=str(int(past.request["revision"]) + 1)))
            others += [past.send(replica, method) for method in ("UndoMove", "LeaveTable")]
            others.append(past.send(replica, "JoinTable", playerName="Zoë 0"))
        for past in BY_METHOD["UndoMove"]:
            others += [past.send(replica, revision="1"), past.send(replica, "SubmitMoves", moves=[{"drawStock": {}}])]
        for other in others:
            assert (await refused(other)).short == REUSED
        assert await _revisions(replica) == before


async def test_new_requests(replica: Replica) -> None:
    """New requests at those tables are bound as at all others."""
    table_id = BY_METHOD["JoinTable"][0].table_id
    joining = {"player_name": "Ada", "request_id": new_id()}
    first = await join_raw(replica, table_id, **joining)
    before = await _revisions(replica)
    assert await join_raw(replica, table_id, **joining) == first
    assert (await refused(join_raw(replica, table_id, **joining | {"player_name": "Bo"}))).short == REUSED
    assert await _revisions(replica) == before


async def test_request_at_an_earlier_replica(replica: Replica) -> None:
    """A request that an earlier version's replica carries out while this one has a cached copy is not repeated."""
    past = BY_METHOD["JoinTable"][0]
    table = await replica.table(past.table_id)
    await past.send(replica)
    request_id = new_id()
    change = changes.join(table, None, "Ada", b"", "token", table.updated_at)
    answer = pb.JoinTableResponse(seat=1, token="token")
    answer.table.seats.add(player_name="Zoë 0")
    answer.table.seats.add(seat=1, player_name="Ada")
    await replica.store.commit(
        Commit(
            *(table.id, table.revision, serialise_table(change.table._replace(request_ids_bound_since=0)), "waiting"),
            *(
                table.updated_at,
                serialise_entry(make_entry(change), change),
                f"join:{normalise_uuid(request_id)}",
                answer.SerializeToString(),
            ),
        )
    )
    before = await _revisions(replica)
    assert (await join_raw(replica, table.id, request_id=request_id)).seat == 1
    assert (await refused(join_raw(replica, table.id, request_id=request_id, player_name="Bo"))).short == REUSED
    assert await _revisions(replica) == before


async def test_dropped_entry(replica: Replica) -> None:
    """If the log entry with the moves has been dropped, the request is taken for the same."""
    past = BY_METHOD["SubmitMoves"][0]
    stored = await replica.store.load(past.table_id)
    revision = stored.revision
    for _ in range(64):
        revision = await replica.store.commit(
            Commit(
                *(stored.table_id, revision, stored.state, stored.status, stored.updated_at, b"", None, b""),
                keep_log_after=revision,
            )
        )
    draw: list[dict[str, Any]] = [{"drawStock": {}}] * 2
    assert MessageToDict(await past.send(replica, moves=draw)) == past.answer
    assert (await refused(past.send(replica, moves=draw, revision="2"))).short == REUSED


@pytest.mark.parametrize(
    ("since", "revision", "expected"),
    [
        (0, 10_000, True),
        (1, 1, False),
        (1, 400, False),
        (2, 2, True),
        (40, 40 + KEPT_ANSWERS, True),
        (40, 41 + KEPT_ANSWERS, False),
    ],
)
def test_how_long_they_are_asked_for(since: int, revision: int, expected: bool) -> None:
    """Tables of this version have no such answers, and others have them until they would be dropped."""
    table = parse_table(places.load_tables()[0].state, revision)
    assert earlier.has_earlier_answers(table._replace(request_ids_bound_since=since)) is expected
