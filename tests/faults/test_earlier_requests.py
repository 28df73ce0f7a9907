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
from buraco_service.requests import request_uuid
from buraco_service.stores.base import KEPT_REQUESTS, Commit
from buraco_service.tables import changes, earlier
from buraco_service.tables.entries import make_entry, serialise_entry
from buraco_service.tables.stored import parse_table, serialise_table
from tests.faults.earlier import places
from tests.service.refusals import refused
from tests.service.table_server import PATIENCE, Metadata, Player, Replica, bearing, join_raw, new_id, serving

REUSED = ("ALREADY_EXISTS", "REQUEST_ID_REUSED")


class Noted(NamedTuple):
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
        """The proof of the seat, as another token that its holder may have."""
        if self.seat is None or self.token_id is None:
            return ()
        return bearing(replica.tokens.issue(self.table_id, self.seat, self.token_id, time.time()))

    async def send(self, replica: Replica, method: str | None = None, **changes: Any) -> Any:
        """Send it, or another one under its id."""
        name = method or self.method
        request = ParseDict(self.request | changes, getattr(pb, f"{name}Request")(), ignore_unknown_fields=True)
        call = getattr(replica.tables, name)
        return await call(request, metadata=self.metadata(replica), timeout=PATIENCE)


NOTED = [Noted(**json.loads(line)) for line in places.DATABASE.with_suffix(".jsonl").read_text().splitlines()]
OF = {method: [noted for noted in NOTED if noted.method == method] for method in {noted.method for noted in NOTED}}


@pytest.fixture(params=["sqlite", "redis", "redis_cluster", "postgres"])
async def replica(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Replica]:
    """A server of this version on the tables of an earlier one."""
    if request.param == "sqlite":
        url = places.in_sqlite(tmp_path)
    elif request.param == "postgres":
        url = await places.in_postgres(request.getfixturevalue("postgres_server"))
    else:
        url = await places.in_redis(request.getfixturevalue(f"{request.param}_url"))
    async with serving(url) as running:
        yield running


async def _revisions(replica: Replica) -> dict[str, int]:
    return {stored.table_id: stored.revision for stored in await replica.store.list(None, 100, None)}


async def _moved(replica: Replica) -> list[str]:
    """The tables at which somebody could move, and has."""
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
    assert {noted.method for noted in NOTED} == {"CreateTable", "JoinTable", "SubmitMoves", "UndoMove", "LeaveTable"}
    for moved in (False, True):
        if moved:
            assert len(await _moved(replica)) > 3
        before = await _revisions(replica)
        for noted in NOTED:
            assert MessageToDict(await noted.send(replica)) == noted.answer
        assert await _revisions(replica) == before


async def test_repeats_on_the_stream(replica: Replica) -> None:
    """What was lost with a call of an earlier version can be repeated on the stream."""
    noted = OF["SubmitMoves"][0]
    assert noted.seat is not None
    _, bearer = noted.metadata(replica)[0]
    player = Player(replica, noted.table_id, noted.seat, bearer.removeprefix("Bearer "))
    stream = await player.play()
    await stream.expect("state")
    request_id = noted.request["requestId"]
    moves = [move_from_pb(ParseDict(move, move_pb2.Move())) for move in noted.request["moves"]]
    await stream.submit(*moves, request_id=request_id, revision=int(noted.request["revision"]))
    assert (await stream.accepted(request_id)).revision == int(noted.answer["revision"])
    await stream.submit(*moves, *moves, request_id=request_id)
    assert (await stream.denied(request_id)).reason == REUSED[1]


async def test_other_requests(replica: Replica) -> None:
    """Another request is refused, as far as it can be told, before this version's first change and after it."""
    for moved in (False, True):
        if moved:
            await _moved(replica)
        before = await _revisions(replica)
        others = []
        for noted in OF["CreateTable"]:
            differing: list[dict[str, Any]] = [
                {"stake": "7"},
                {"targetScore": 7},
                {"seed": "A" * 43 + "="},
                {"seed": None},
            ]
            others += [noted.send(replica, **change) for change in differing]
            joining = {"tableId": noted.table_id, "playerName": "Zoë 0"}
            others.append(noted.send(replica, "JoinTable", **joining))
        for noted in OF["JoinTable"]:
            elsewhere = (noted.answer.get("seat", 0) + 1) % 4
            others += [noted.send(replica, **change) for change in ({"playerName": "Ada"}, {"seat": elsewhere})]
        for noted in OF["SubmitMoves"]:
            # A player who has left is told that alone.
            if (await replica.table(noted.table_id)).seats[noted.seat or 0].token_id != noted.token_id:
                continue
            differing = [{"moves": noted.request["moves"] * 2}, {"moves": [{"drawStock": {}}] * 2}]
            others += [noted.send(replica, **change) for change in differing]
            others.append(noted.send(replica, revision=str(int(noted.request["revision"]) + 1)))
            others += [noted.send(replica, method) for method in ("UndoMove", "LeaveTable")]
            others.append(noted.send(replica, "JoinTable", playerName="Zoë 0"))
        for noted in OF["UndoMove"]:
            others += [noted.send(replica, revision="1"), noted.send(replica, "SubmitMoves", moves=[{"drawStock": {}}])]
        for other in others:
            assert (await refused(other)).short == REUSED
        assert await _revisions(replica) == before


async def test_new_requests(replica: Replica) -> None:
    """New requests at those tables are bound as at all others."""
    table_id = OF["JoinTable"][0].table_id
    joining = {"player_name": "Ada", "request_id": new_id()}
    first = await join_raw(replica, table_id, **joining)
    before = await _revisions(replica)
    assert await join_raw(replica, table_id, **joining) == first
    assert (await refused(join_raw(replica, table_id, **joining | {"player_name": "Bo"}))).short == REUSED
    assert await _revisions(replica) == before


async def test_request_at_an_earlier_replica(replica: Replica) -> None:
    """What an earlier version's replica does while this one has a copy of the table is not done once more."""
    noted = OF["JoinTable"][0]
    table = await replica.table(noted.table_id)
    await noted.send(replica)
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
                f"join:{request_uuid(request_id)}",
                answer.SerializeToString(),
            ),
        )
    )
    before = await _revisions(replica)
    assert (await join_raw(replica, table.id, request_id=request_id)).seat == 1
    assert (await refused(join_raw(replica, table.id, request_id=request_id, player_name="Bo"))).short == REUSED
    assert await _revisions(replica) == before


async def test_dropped_entry(replica: Replica) -> None:
    """Where the log does not tell any more which moves they were, the request is taken for the same."""
    noted = OF["SubmitMoves"][0]
    stored = await replica.store.load(noted.table_id)
    revision = stored.revision
    for _ in range(64):
        revision = await replica.store.commit(
            Commit(
                *(stored.table_id, revision, stored.state, stored.status, stored.updated_at, b"", None, b""),
                keep_log_after=revision,
            )
        )
    draw: list[dict[str, Any]] = [{"drawStock": {}}] * 2
    assert MessageToDict(await noted.send(replica, moves=draw)) == noted.answer
    assert (await refused(noted.send(replica, moves=draw, revision="2"))).short == REUSED


@pytest.mark.parametrize(
    ("since", "revision", "expected"),
    [
        (0, 10_000, True),
        (1, 1, False),
        (1, 400, False),
        (2, 2, True),
        (40, 40 + KEPT_REQUESTS, True),
        (40, 41 + KEPT_REQUESTS, False),
    ],
)
def test_how_long_they_are_asked_for(since: int, revision: int, expected: bool) -> None:
    """Tables of this version are never asked, and others until what was remembered would be forgotten."""
    table = parse_table(places.tables()[0].state, revision)
    assert earlier.has_earlier_answers(table._replace(request_ids_bound_since=since)) is expected
