"""Spectators: shut out, or later than the players, through every call that needs no seat."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import LayMeld
from buraco_service.stores.base import HistoryGone
from buraco_service.tables.entries import parse_entry
from buraco_service.tables.spectating import Spectators
from buraco_service.tables.state import Stakes
from buraco_service.tables.stored import table_to_pb
from tests.service.chatting import Clock, listed, send
from tests.service.endings import resign
from tests.service.refusals import refused
from tests.service.scripts import deals_played, dealt, plain_turns, played, short_rules, turns
from tests.service.table_server import (
    END,
    PATIENCE,
    Player,
    Replica,
    Update,
    Updates,
    bearing,
    create,
    get,
    public_view,
    records,
    serving,
    shown_view,
    start,
    watch,
)
from tests.service.usecases import UseCases

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from buraco_service.tables.state import TableValue

DELAY = 60
RULES = short_rules(6)
NOBODY = table_pb2.TableOptions(spectators=table_pb2.SPECTATOR_POLICY_NONE)
LATER = table_pb2.TableOptions(spectator_delay=Duration(seconds=DELAY))
NEEDS_NO_SEAT = {
    "CreateTable",
    "GetTable",
    "ListTables",
    "JoinTable",
    "SignInAsGuest",
    "QuickJoin",
    "RemovePlayer",
    "GetView",
    "WatchTable",
    "GetRecord",
    "ListChat",
}
"""Calls that nobody needs a seat for. The first seven show `Table` at most, the others are tried here."""


@pytest.fixture
def clock() -> Clock:
    """The time of the replica."""
    return Clock()


@pytest.fixture
async def replica(tmp_path: Path, clock: Clock) -> AsyncIterator[Replica]:
    """A replica on a file, by the clock."""
    async with serving(tmp_path / "store.db", clock=clock) as running:
        yield running


async def start_short(replica: Replica, target: int = 500, **fields: Any) -> list[Player]:
    """A match of short deals."""
    return await start(replica, rule_set=rule_set_to_pb(RULES), target_score=target, **fields)


async def test_every_call_without_a_seat_is_known(replica: Replica) -> None:
    """All other calls are refused without a token, so that none shows a table to spectators unnoticed."""
    for method in pb.DESCRIPTOR.services_by_name["TableService"].methods:
        if method.name in NEEDS_NO_SEAT:
            continue
        request = pb.PlayTableRequest() if method.client_streaming else _request(method.name)
        call = getattr(replica.tables, method.name)
        answer = call(iter([request]), timeout=PATIENCE) if method.client_streaming else call(request, timeout=PATIENCE)
        assert (await refused(answer.read() if method.client_streaming else answer)).reason == "TOKEN_MISSING"


def _request(method: str) -> Any:
    """A request that has nothing wrong but that no token comes with it."""
    name = pb.DESCRIPTOR.services_by_name["TableService"].methods_by_name[method].input_type.name
    request = getattr(pb, name)()
    names = {field.name for field in request.DESCRIPTOR.fields}
    request.table_id = "0" * 32
    if "request_id" in names:
        request.request_id = "0" * 32
    if method == "SubmitMoves":
        request.moves.add().draw_stock.SetInParent()
    elif method == "SendChat":
        request.text = "Hello"
    elif method == "ConfirmScore":
        request.deal_number = 1
    elif method == "ArrangeMeld":
        request.cards.extend([1, 2, 3])
    return request


async def test_nobody_may_watch(replica: Replica) -> None:
    """Without the token of a seat, views, streams, records and chat are refused; the lists still show the table."""
    ada, bo = await start_short(replica, target=0, options=NOBODY)
    other, _ = await start(replica)
    await send(ada, "Hello")
    steps = list(played(dealt(RULES), random.Random(1)))
    for turn in turns(steps):
        await (ada, bo)[turn.seat].submit(*turn.moves)
    table_id = ada.table_id

    def calls(metadata: Any) -> list[Any]:
        tables = replica.tables
        return [
            tables.GetView(pb.TableServiceGetViewRequest(table_id=table_id), metadata=metadata),
            tables.GetRecord(pb.GetRecordRequest(table_id=table_id), metadata=metadata),
            tables.ListChat(pb.ListChatRequest(table_id=table_id), metadata=metadata),
        ]

    for metadata, reason in (
        ((), "SPECTATORS_NOT_ALLOWED"),
        (other.metadata, "SEAT_NOT_YOURS"),
        (bearing("no token"), "TOKEN_INVALID"),
    ):
        streams = [watch(replica, table_id, after, metadata) for after in (None, 1)]
        for call in [*calls(metadata), *[stream.next() for stream in streams]]:
            refusal = await refused(call)
            assert refusal.reason == reason
            assert (refusal.code is grpc.StatusCode.PERMISSION_DENIED) == (reason != "TOKEN_INVALID")
    view, record, chat = [await call for call in calls(bo.metadata)]
    assert len(view.view.hand) == len(steps[-1].after.hands[bo.seat])
    assert len(record.deals) == 1
    assert [message.text for message in chat.messages] == ["Hello"]
    assert (await get(replica, table_id)).state == table_pb2.TABLE_STATE_FINISHED
    assert table_id in [table.id for table in (await replica.tables.ListTables(pb.ListTablesRequest())).tables]


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({"spectator_delay": Duration(seconds=3601)}, "spectator_delay"),
        ({"spectator_delay": Duration(seconds=-1)}, "spectator_delay"),
        ({"spectator_delay": Duration(seconds=1, nanos=1000)}, "spectator_delay"),
        ({"spectator_delay": Duration(seconds=1), "spectators": table_pb2.SPECTATOR_POLICY_NONE}, "spectator_delay"),
        ({"spectators": 3}, "spectators"),
    ],
)
async def test_options_that_cannot_be(replica: Replica, fields: dict[str, Any], at_fault: str) -> None:
    """The delay is up to an hour in whole seconds, where spectators are allowed."""
    refusal = await refused(create(replica, options=table_pb2.TableOptions(**fields)))
    assert list(refusal.fields) == [f"options.{at_fault}"]


async def test_spectators_see_the_past(replica: Replica, clock: Clock) -> None:
    """At any time a spectator sees view, records and chat as they were then, over deals with undone plays."""
    players = await start_short(replica, target=100_000, options=LATER)
    table_id = players[0].table_id
    history: list[tuple[float, TableValue]] = [(clock.now, await replica.table(table_id))]
    sent: list[float] = []

    async def note() -> None:
        history.append((clock.now, await replica.table(table_id)))
        if len(history) % 5 == 0:
            await send(players[0], f"message {len(sent)}")
            sent.append(clock.now)
        clock.now += 7
        await compare()

    async def compare() -> None:
        seen = await public_view(replica, table_id)
        before = [table for at, table in history if at <= clock.now - DELAY]
        if not before:
            assert seen.revision == 1
            return
        assert seen.revision == before[-1].revision
        deal = before[-1].deal
        assert deal is not None
        assert seen.view == shown_view(deal, None)
        done = deal.match.deal_number - (not deal.ending)
        answer = await records(replica, table_id, page_size=50)
        assert answer.HasField("cut_off") == (before[-1].result is not None)
        assert [record.deal_number for record in answer.deals] == list(range(1, done + 1))
        chat = (await listed(replica, table_id, page_size=200)).messages
        assert len(chat) == len([at for at in sent if at <= clock.now - DELAY])

    rng = random.Random(3)
    for steps in deals_played(dealt(RULES, target=100_000), rng):
        for step in steps[:10] if steps[0].before.match.deal_number == 4 else steps:
            await players[step.seat].submit(step.move)
            await note()
            if isinstance(step.move, LayMeld) and not step.after.ending and step.after.seat_to_move == step.seat:
                await players[step.seat].undo()
                await note()
                await players[step.seat].submit(step.move)
                await note()
        if steps[0].before.match.deal_number == 4:
            break
    await resign(players[0])
    await note()
    assert any(table.reversals for _, table in history)
    for _ in range(12):
        clock.now += 6
        await compare()
    assert (await public_view(replica, table_id)).revision == history[-1][1].revision
    async with serving(replica.settings.store, clock=lambda: history[len(history) // 2][0] + DELAY) as other:
        cold = await public_view(other, table_id)
        half = history[len(history) // 2][1]
        assert cold.revision == half.revision
        assert half.deal is not None
        assert cold.view == shown_view(half.deal, None)


async def test_past_of_a_timed_table(replica: Replica, clock: Clock) -> None:
    """What the clock plays and deals is in the past that spectators see, too; the past shows no clocks."""
    options = table_pb2.TableOptions(
        turn_time=Duration(seconds=5),
        confirmation_time=Duration(seconds=5),
        absent_after_turns=100,
        spectator_delay=Duration(seconds=DELAY),
    )
    players = await start_short(replica, target=100_000, options=options)
    table_id = players[0].table_id
    history = [(clock.now, await replica.table(table_id))]
    endings = 0
    for _ in range(40):
        clock.now += 7
        assert await replica.deadlines.look() == 1
        history.append((clock.now, await replica.table(table_id)))
        seen = await public_view(replica, table_id)
        before = [table for at, table in history if at <= clock.now - DELAY]
        if before:
            deal = before[-1].deal
            assert deal is not None
            assert (seen.revision, seen.view) == (before[-1].revision, shown_view(deal, None))
            endings += bool(deal.ending)
    assert endings > 1


async def test_past_of_a_settled_table(replica: Replica) -> None:
    """Before the end of a match its past has neither the result nor that the stakes are settled."""
    players = await start_short(replica, options=LATER)
    await resign(players[0])
    table = (await replica.table(players[0].table_id))._replace(stakes=Stakes(60, settled=True))
    assert table_to_pb(table).stakes_settled
    past = table_to_pb(await Spectators(UseCases(replica.store).tables).at(table, table.revision - 1))
    assert past.state == table_pb2.TABLE_STATE_PLAYING
    assert not past.HasField("result")
    assert not past.stakes_settled
    assert not past.rematch_table_id


async def test_players_see_at_once(replica: Replica) -> None:
    """The delay is for spectators alone."""
    players = await start_short(replica, options=LATER)
    table = await replica.table(players[0].table_id)
    assert table.deal is not None
    for player in players:
        answer = await player.look()
        assert (answer.revision, answer.view) == (table.revision, shown_view(table.deal, player.seat))
    stream = players[0].watch()
    assert (await stream.expect("state")).table.revision == table.revision
    stream.cancel()


async def test_what_is_too_early_changes_nothing(replica: Replica, clock: Clock) -> None:
    """Whatever players do later than the delay allows, spectators get the same of it through every call."""
    tables = [await start_short(replica, options=LATER) for _ in range(3)]
    script = list(plain_turns(dealt(RULES, target=500), 3))
    for players in tables:
        for turn in script[:2]:
            await players[turn.seat].submit(*turn.moves)
        await send(players[0], "early")
    clock.now += DELAY
    _, moved, ended = tables
    clock.now += 1
    mover = moved[script[2].seat]
    await mover.submit(*script[2].moves)
    await send(moved[1], "late")
    await resign(ended[0])
    await send(ended[1], "late")
    clock.now += DELAY - 2
    answers = [await _public_answers(replica, players[0].table_id) for players in tables]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]
    clock.now += 2
    answers = [await _public_answers(replica, players[0].table_id) for players in tables]
    assert answers[0] != answers[1]
    assert answers[0] != answers[2]


async def _public_answers(replica: Replica, table_id: str) -> list[Any]:
    """All that a spectator gets of the cards and messages of a table now, without its id."""
    found: list[Any] = [
        await public_view(replica, table_id),
        await records(replica, table_id),
        await listed(replica, table_id),
    ]
    for after in (None, 1, 3, 1000):
        stream = watch(replica, table_id, after, views=True, chat=True)
        while (update := await _next_within(stream, 0.2)) is not None and update is not END:
            found.append(update)
    for answer in found:
        if isinstance(answer, Update) and answer.kind == "state":
            assert answer.message.table.id == table_id
            answer.message.table.id = ""
            answer.message.table.rematch_table_id = ""
    return found


async def _next_within(stream: Updates, seconds: float) -> Update | None:
    """The next message; None if none comes in time, and the stream is over then."""
    try:
        return await asyncio.wait_for(stream.next(), seconds)
    except TimeoutError:
        stream.cancel()
        return None


@pytest.mark.parametrize("url", ["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
async def test_stream_comes_later(request: pytest.FixtureRequest, url: str) -> None:
    """A spectator's stream has each change, view and message once, in order, and none before its time; then it ends."""
    store_url = str(request.getfixturevalue(url))
    options = table_pb2.TableOptions(spectator_delay=Duration(seconds=1))
    async with serving(store_url) as here, serving(store_url) as there:
        players = await start_short(here, options=options)
        table_id = players[0].table_id
        stream = watch(there, table_id, views=True, chat=True)
        first = await stream.expect("state")
        assert first.table.state == table_pb2.TABLE_STATE_WAITING
        assert not first.HasField("view")
        arrived: list[tuple[float, Update]] = []

        async def follow() -> None:
            while (update := await stream.next()) is not END:
                arrived.append((time.time(), update))

        following = asyncio.create_task(follow())
        for turn in plain_turns(dealt(RULES, target=500), 4):
            await players[turn.seat].submit(turn.moves[0])
            await asyncio.sleep(0.1)
            await players[turn.seat].submit(*turn.moves[1:])
            await send(players[turn.seat], f"turn of {turn.seat}")
        late = watch(there, table_id, first.table.revision, chat=True)
        await resign(players[0])
        await asyncio.wait_for(following, PATIENCE)
        log = await here.store.read_log(table_id, 0, 100)
        times = {entry.revision: parse_entry(entry.revision, entry.payload).created_at for entry in log}
        events = [(at, update.message) for at, update in arrived if update.kind == "events"]
        revisions = [message.revision for _, message in events]
        assert revisions == list(range(first.table.revision + 1, len(log) + 1))
        assert events[-1][1].events[-1].HasField("match_ended")
        for at, message in events:
            assert at >= times[message.revision] + 1
        for at, update in arrived:
            if update.kind == "view":
                assert at >= times[update.message.revision] + 1
        messages = [(at, update.message) for at, update in arrived if update.kind == "chat"]
        assert [message.number for _, message in messages] == [1, 2, 3, 4]
        for at, message in messages:
            assert at >= message.sent_at.ToNanoseconds() / 1e9 + 1
        kinds = [update.kind for update in await asyncio.wait_for(late.rest(), PATIENCE)]
        assert (kinds.count("events"), kinds.count("chat")) == (len(events), 4)


@pytest.mark.parametrize("url", ["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
async def test_stream_that_begins_later(request: pytest.FixtureRequest, url: str) -> None:
    """A spectator who comes while others watch gets the changes that wait for their time, also if no other follows."""
    store_url = str(request.getfixturevalue(url))
    options = table_pb2.TableOptions(spectator_delay=Duration(seconds=2))
    async with serving(store_url) as here:
        players = await start_short(here, options=options)
        revision = (await get(here, players[0].table_id)).revision
        watching = players[0].watch()
        await watching.expect("state")
        # Whatever wakes every watcher once when the first subscribes has passed.
        await asyncio.sleep(0.3)
        stream = watch(here, players[0].table_id)
        assert (await stream.expect("state")).table.revision < revision
        while (await asyncio.wait_for(stream.expect("events"), 5)).revision < revision:
            pass


@pytest.mark.parametrize("options", [LATER, table_pb2.TableOptions()], ids=["delay", "none"])
async def test_log_of_the_match(replica: Replica, clock: Clock, options: table_pb2.TableOptions) -> None:
    """Where spectators lag the whole log stays, and entries have their times; elsewhere it goes and has none."""
    players = await start_short(replica, target=100_000, options=options)
    table_id = players[0].table_id
    for steps in deals_played(dealt(RULES, target=100_000), random.Random(3)):
        for step in steps:
            clock.now += 1
            await players[step.seat].submit(step.move)
        if steps[-1].after.match.deal_number == 8:
            break
    newest = (await get(replica, table_id)).revision
    if options is LATER:
        log = await replica.store.read_log(table_id, 0, 10_000)
        assert len(log) == newest
        times = [parse_entry(entry.revision, entry.payload).created_at for entry in log[1:]]
        assert times == sorted(times)
        assert times[0] > 0
    else:
        with pytest.raises(HistoryGone):
            await replica.store.read_log(table_id, 0, 10_000)
        (entry,) = await replica.store.read_log(table_id, newest - 1, 1)
        assert parse_entry(entry.revision, entry.payload).created_at == 0
