from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import DrawStock, legal_moves
from buraco_service.stores.urls import open_store
from buraco_service.tables.views import table_view_bytes
from tests.service.refusals import refused
from tests.service.scripts import after_moves, dealt, plain_turn, plain_turns, short_rules, submitted
from tests.service.table_server import (
    END,
    Replica,
    Update,
    Updates,
    create,
    join,
    moves_to_pb,
    public_view,
    serving,
    shown_view,
    start,
    watch,
)
from tests.service.usecases import UseCases

SHORT = short_rules(2)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


async def take(updates: Updates, number: int) -> list[Update]:
    """The next so many messages."""
    return [await updates.next() for _ in range(number)]


def shape(updates: list[Update]) -> list[tuple[str, int]]:
    """What kinds of messages these are, and the revisions they are of."""
    return [
        (update.kind, update.message.table.revision if update.kind == "state" else update.message.revision)
        for update in updates
    ]


async def test_views_and_turns_follow_the_events(replica: Replica) -> None:
    """After the events of a change come the view, and the legal moves if the seat is to move, all of one revision."""
    players = await start(replica)
    deal = dealt()
    streams = [player.watch(views=True, legal_moves=True) for player in players]
    public = watch(replica, players[0].table_id, views=True)
    for seat, stream in enumerate(streams):
        opening: list[tuple[str, int]] = [("state", 3), *[("turn", 3)] * (seat == deal.seat_to_move)]
        assert shape(await take(stream, len(opening))) == opening
    await public.expect("state")
    for revision, turn in enumerate(plain_turns(dealt(), 4), 4):
        await players[turn.seat].submit(*turn.moves)
        deal = after_moves(deal, turn.moves)
        kinds = [("events", revision), ("view", revision), ("turn", revision)]
        for seat, stream in enumerate(streams):
            sent = await take(stream, 3 if seat == deal.seat_to_move else 2)
            assert shape(sent) == kinds[: len(sent)]
            assert sent[1].message.view == shown_view(deal, seat, present=(0, 1)) == await players[seat].view()
            if seat == deal.seat_to_move:
                assert sent[2].message.view == sent[1].message.view
                assert list(sent[2].message.moves) == moves_to_pb(legal_moves(deal))
        sent = await take(public, 2)
        assert shape(sent) == kinds[:2]
        assert sent[1].message == pb.ViewUpdate(revision=revision, view=shown_view(deal, None, present=(0, 1)))


async def test_answer_then_view_then_turn(replica: Replica) -> None:
    """On a two-way stream the answer to a move takes the place of the events; a refusal brings no view."""
    players = await start(replica)
    draw, discard = plain_turn(dealt()).moves
    stream = await players[dealt().seat_to_move].play(views=True, legal_moves=True)
    assert shape(await take(stream, 2)) == [("state", 3), ("turn", 3)]
    assert (await stream.accepted(await stream.submit(draw))).revision == 4
    assert shape(await take(stream, 2)) == [("view", 4), ("turn", 4)]
    assert (await stream.denied(await stream.submit(draw))).reason == "ALREADY_DRAWN"
    assert (await stream.accepted(await stream.submit(discard))).revision == 5
    assert shape(await take(stream, 1)) == [("view", 5)]


async def test_no_view_before_the_match(replica: Replica) -> None:
    """While a table waits there is nothing to see; the start brings the view."""
    table = await create(replica)
    early = await join(replica, table.id)
    stream = early.watch(views=True)
    await stream.expect("state")
    await join(replica, table.id, player_name="Bo")
    sent = await take(stream, 2)
    assert shape(sent) == [("events", 3), ("view", 3)]
    assert [seat.player_name for seat in sent[1].message.view.seats] == ["Ada", "Bo"]


async def test_resumed_stream_begins_with_the_newest_view(replica: Replica) -> None:
    """A resumed stream sends one view behind all that was missed, also if nothing was: the last may have been lost."""
    players = await start(replica)
    await submitted(players, plain_turns(dealt(), 3))
    mover = dealt().seat_to_move ^ 1
    for after in (3, 5, 6):
        for stream in (
            players[mover].watch(after, views=True, legal_moves=True),
            await players[mover].play(after, views=True, legal_moves=True),
        ):
            missed = [("events", revision) for revision in range(after + 1, 7)]
            assert shape(await take(stream, 8 - after)) == [*missed, ("view", 6), ("turn", 6)]
            stream.cancel()
    stream = players[mover].watch(7, views=True, legal_moves=True)
    await stream.expect("history_gone")
    assert shape(await take(stream, 2)) == [("state", 6), ("turn", 6)]


@pytest.mark.parametrize("play", [False, True])
async def test_last_view_before_the_end(replica: Replica, play: bool) -> None:
    """The end of the match has a view too, the last message of the stream."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT))
    stream = await players[0].play(views=True) if play else players[0].watch(views=True)
    await stream.expect("state")
    await submitted(players, plain_turns(dealt(SHORT), 2))
    kinds = [("events", 4), ("view", 4), ("events", 5), ("view", 5)]
    sent = await take(stream, 2)
    # The second turn may have come before the first was seen.
    expected = kinds if sent[1].kind == "view" else [kinds[0], *kinds[2:]]
    sent += await take(stream, len(expected) - 2)
    assert shape(sent) == expected
    assert sent[-1].message.view.ending
    assert await stream.next() == END
    resumed = players[0].watch(5, views=True)
    assert shape(await resumed.rest()) == [("view", 5)]


async def test_legal_moves_need_a_seat(replica: Replica) -> None:
    """Without a token nobody's legal moves can be asked for."""
    players = await start(replica)
    refusal = await refused(watch(replica, players[0].table_id, legal_moves=True).next())
    assert refusal.short == ("UNAUTHENTICATED", "TOKEN_MISSING")


async def test_views_end_with_the_seat(replica: Replica) -> None:
    """Whoever gave the seat back is sent no view of the hand that another player has by then."""
    players = await start(replica)
    seat = dealt().seat_to_move
    stream = players[seat].watch(views=True, legal_moves=True)
    await take(stream, 2)
    await players[seat].leave()
    substitute = await join(replica, players[0].table_id, player_name="Sub")
    await substitute.submit(DrawStock())
    assert (await refused(stream.next())).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


async def test_slow_reader_gets_the_newest_view_alone(tmp_path: Path) -> None:
    """A watcher that does not read gets every change later, but the newest view only."""
    store = await open_store(f"sqlite:///{tmp_path / 'tables.db'}")
    replica = UseCases(store)
    table_id, claims = await replica.start()
    async with (
        replica.feeds.open(table_id, None, views=True) as feed,
        aclosing(replica.feeds.follow(feed, None)) as updates,
    ):
        await anext(updates)
        await replica.play_singly(claims, list(plain_turns(dealt(), 2)))
        sent = [pb.WatchTableResponse.FromString(await anext(updates)) for _ in range(5)]
        kinds = [message.WhichOneof("update") for message in sent]
        assert kinds == ["events"] * 4 + ["view"]
        assert sent[-1].view.revision == sent[-2].events.revision == 7
    await store.close()


async def test_watchers_share_a_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many watch at a replica, each change is read once for their views, and each view is made once."""
    path = tmp_path / "tables.db"
    async with serving(path) as here, serving(path) as there:
        players = await start(here)
        table_id = players[0].table_id
        publics = [watch(there, table_id, views=True) for _ in range(5)]
        privates = [players[0].at(there).watch(views=True) for _ in range(3)]
        for stream in (*publics, *privates):
            await stream.expect("state")
        made: list[int | None] = []
        loaded: list[str] = []
        load = there.store.load

        def counted(table: Any, seat: int | None, now: float, moves: Any, present: Any) -> bytes | None:
            made.append(seat)
            return table_view_bytes(table, seat, now, moves, present)

        async def load_counted(table_id: str) -> Any:
            loaded.append(table_id)
            return await load(table_id)

        monkeypatch.setattr("buraco_service.tables.repository.table_view_bytes", counted)
        monkeypatch.setattr(there.store, "load", load_counted)
        await submitted(players, plain_turns(dealt(), 1))
        expected = (await public_view(here, table_id)).view
        expected.seats[0].present = True  # by the streams there, of which nobody has told this replica
        for stream in publics:
            assert shape(sent := await take(stream, 2)) == [("events", 4), ("view", 4)]
            assert sent[1].message.view == expected
        for stream in privates:
            assert shape(await take(stream, 2)) == [("events", 4), ("view", 4)]
        assert loaded == [table_id]
        # One more for everybody was made by `public_view`, at the other replica.
        assert sorted(made, key=str) == [0, None, None]
