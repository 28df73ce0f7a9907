"""Chat: who may send what to whom, who reads it, and what reaches the streams."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_service.serving.chat_messages import MAX_BYTES, PHRASES
from tests.service.chatting import Clock, listed, send, texts
from tests.service.refusals import refused
from tests.service.table_server import (
    PATIENCE,
    Player,
    Replica,
    create,
    join,
    new_id,
    opened,
    serving,
    start,
    watch,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

TABLE, PARTNER = pb.CHAT_AUDIENCE_TABLE, pb.CHAT_AUDIENCE_PARTNER


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A replica on a file."""
    async with serving(tmp_path / "store.db") as running:
        yield running


@pytest.fixture(params=["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
def store_url(request: pytest.FixtureRequest) -> str:
    """An empty store of each kind."""
    return str(request.getfixturevalue(request.param))


async def test_message_is_sent_and_listed(replica: Replica) -> None:
    """A message has a number and its sender, and is there for players and spectators; the table is as before."""
    ada, bo = await start(replica)
    before = await replica.table(ada.table_id)
    first = await send(ada, "Hello  \n there")
    second = await send(bo, phrase="WELL_PLAYED")
    assert (first.number, first.seat, first.player_name, first.text) == (1, 0, "Ada", "Hello there")
    assert (second.number, second.seat, second.phrase, second.audience) == (2, 1, "WELL_PLAYED", TABLE)
    assert first.sent_at.seconds > 1_600_000_000
    for metadata in ((), ada.metadata, bo.metadata):
        answer = await listed(replica, ada.table_id, metadata)
        assert list(answer.messages) == [first, second]
        assert not answer.more
    assert await replica.table(ada.table_id) == before


async def test_messages_are_paged(replica: Replica) -> None:
    """Pages go on after the last number, and say whether there is more."""
    ada, bo = await start(replica)
    for number in range(3):
        await send(ada, f"a{number}")
        await send(bo, f"b{number}")
    page = await listed(replica, ada.table_id, page_size=4)
    assert [message.number for message in page.messages] == [1, 2, 3, 4]
    assert page.more
    page = await listed(replica, ada.table_id, page_size=4, after_message=4)
    assert [message.text for message in page.messages] == ["a2", "b2"]
    assert not page.more


async def test_repeat_gets_the_first_message(replica: Replica) -> None:
    """The same SendChat gets the first message, also when it would be refused by now; another one is refused."""
    players = await start(replica, seats=4)
    ada, _, cy, _ = players
    request_id = new_id()
    first = await send(ada, "psst", audience=PARTNER, request_id=request_id)
    assert await send(ada, "psst", audience=PARTNER, request_id=request_id) == first
    for other in ({"text": "other", "audience": PARTNER}, {"text": "psst"}, {"phrase": "YES", "audience": PARTNER}):
        refusal = await refused(send(ada, request_id=request_id, **other))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")
    assert (await refused(send(cy, "psst", audience=PARTNER, request_id=request_id))).reason == "REQUEST_ID_REUSED"
    await cy.leave()
    assert await send(ada, "psst", audience=PARTNER, request_id=request_id) == first
    assert (await refused(send(ada, "psst", audience=PARTNER))).reason == "NO_PARTNER"
    assert await texts(ada) == ["psst"]


async def test_partner_alone(replica: Replica) -> None:
    """A message to the partner is read by the two alone, and by nobody who takes their seats later."""
    ada, bo, cy, di = await start(replica, seats=4)
    await send(ada, "to all")
    await send(ada, "to you", audience=PARTNER)
    assert await texts(ada) == await texts(cy) == ["to all", "to you"]
    assert await texts(bo) == await texts(di) == ["to all"]
    assert [message.text for message in (await listed(replica, ada.table_id)).messages] == ["to all"]
    await cy.leave()
    assert (await refused(listed(replica, ada.table_id, cy.metadata))).reason == "SEAT_NOT_YOURS"
    eve = await join(replica, ada.table_id, player_name="Eve")
    assert eve.seat == cy.seat
    assert await texts(eve) == ["to all"]
    assert (await send(eve, "I see", audience=PARTNER)).number == 3
    assert await texts(ada) == ["to all", "to you", "I see"]


async def test_nobody_to_read_it(replica: Replica) -> None:
    """There is no partner at a table of two, nor while the seat is free."""
    ada, _ = await start(replica)
    refusal = await refused(send(ada, "psst", audience=PARTNER))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NO_PARTNER")
    table = await create(replica, seats=4)
    alone = await join(replica, table.id)
    assert (await refused(send(alone, "psst", audience=PARTNER))).reason == "NO_PARTNER"
    assert (await send(alone, "anybody here?")).number == 1


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({}, ["content"]),
        ({"text": ""}, ["text"]),
        ({"text": " \n\t\u2028 "}, ["text"]),
        ({"text": "x" * 501}, ["text"]),
        ({"text": "👨‍👩‍👧‍👦" * (MAX_BYTES // 25 + 1)}, ["text"]),
        ({"text": "\u202eabc"}, ["text"]),
        ({"text": "a\u200bb"}, ["text"]),
        ({"text": "a\0b"}, ["text"]),
        ({"text": "x" + "\u0301" * 9}, ["text"]),
        ({"phrase": ""}, ["phrase"]),
        ({"phrase": "HELLO_WORLD"}, ["phrase"]),
        ({"text": "x", "audience": 7}, ["audience"]),
        ({"text": "", "request_id": "x"}, ["text", "request_id"]),
        ({"text": "x", "table_id": "x"}, ["table_id"]),
    ],
)
async def test_messages_that_cannot_be_sent(replica: Replica, fields: dict[str, Any], at_fault: list[str]) -> None:
    """A message that cannot be shown or is none is refused with its fields, and nothing is kept; no text is quoted."""
    ada, _ = await start(replica)
    request = pb.SendChatRequest(**{"table_id": ada.table_id, "request_id": new_id()} | fields)
    refusal = await refused(replica.tables.SendChat(request, metadata=ada.metadata, timeout=PATIENCE))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert list(refusal.fields) == at_fault
    assert await texts(ada) == []


async def test_what_can_be_sent(replica: Replica) -> None:
    """500 characters as people count them, composed and with single blanks."""
    ada, _ = await start(replica)
    assert len((await send(ada, "ä" * 500)).text) == 500
    assert (await send(ada, "👩🏽‍🚀" * 500)).text == "👩🏽‍🚀" * 500
    assert (await send(ada, "  a\u0308\r\nb\u00a0 c ")).text == "ä b c"


async def test_all_phrases(replica: Replica) -> None:
    """Every phrase of the texts may be sent."""
    clock = Clock()
    async with serving(replica.settings.store, clock=clock) as other:
        ada, _ = await start(other)
        for phrase in PHRASES:
            assert (await send(ada, phrase=phrase)).phrase == phrase
            clock.now += 3


@pytest.mark.parametrize(
    ("setting", "mode", "text", "phrase"),
    [
        ("all", table_pb2.CHAT_MODE_UNSPECIFIED, "", ""),
        ("all", table_pb2.CHAT_MODE_ALL, "", ""),
        ("all", table_pb2.CHAT_MODE_PHRASES, "PHRASES_ONLY", ""),
        ("all", table_pb2.CHAT_MODE_OFF, "CHAT_OFF", "CHAT_OFF"),
        ("phrases", table_pb2.CHAT_MODE_ALL, "PHRASES_ONLY", ""),
        ("phrases", table_pb2.CHAT_MODE_OFF, "CHAT_OFF", "CHAT_OFF"),
        ("off", table_pb2.CHAT_MODE_ALL, "CHAT_OFF", "CHAT_OFF"),
    ],
)
async def test_modes(tmp_path: Path, setting: str, mode: table_pb2.ChatMode.ValueType, text: str, phrase: str) -> None:
    """The table says what may be sent, and the setting bounds it."""
    async with serving(tmp_path / "store.db", chat=setting) as replica:
        ada, _ = await start(replica, options=table_pb2.TableOptions(chat=mode))
        for fields, reason in (({"text": "Hello"}, text), ({"phrase": "HELLO"}, phrase)):
            if reason:
                refusal = await refused(send(ada, **fields))
                assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, reason)
            else:
                await send(ada, **fields)


async def test_unused_option_is_absent(replica: Replica) -> None:
    """A table that chooses what holds anyway is stored as one that chooses nothing; another shows its choice."""
    chosen = table_pb2.TableOptions(chat=table_pb2.CHAT_MODE_ALL, spectators=table_pb2.SPECTATOR_POLICY_ALLOWED)
    assert not (await create(replica, options=chosen)).HasField("options")
    chosen = table_pb2.TableOptions(chat=table_pb2.CHAT_MODE_OFF, spectators=table_pb2.SPECTATOR_POLICY_NONE)
    assert (await create(replica, options=chosen)).options == chosen


async def test_unknown_mode_is_refused(replica: Replica) -> None:
    """A mode that there is not is no option."""
    refusal = await refused(create(replica, options=table_pb2.TableOptions(chat=9)))  # type: ignore[arg-type]
    assert (refusal.code, list(refusal.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, ["options.chat"])


async def test_rate_of_a_seat(tmp_path: Path) -> None:
    """The sixth message of a seat in ten seconds is refused with the time to wait; others and repeats are not."""
    clock = Clock()
    async with serving(tmp_path / "store.db", clock=clock) as replica:
        ada, bo = await start(replica)
        last = ""
        for number in range(5):
            last = new_id()
            await send(ada, f"message {number}", request_id=last)
            clock.now += 1
        refusal = await refused(send(ada, "one more"))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
        assert (refusal.metadata["limit"], refusal.metadata["maximum"]) == ("chat_rate", "5")
        assert refusal.retry_after == pytest.approx(5.0, abs=0.01)
        assert (await send(ada, "message 4", request_id=last)).number == 5
        assert (await send(bo, "mine")).number == 6
        clock.now += 5.001
        assert (await send(ada, "one more")).number == 7
        assert (await refused(send(ada, "and one"))).reason == "LIMIT_REACHED"


async def test_seat_is_needed(replica: Replica) -> None:
    """Only who has a seat of the table may send, and unknown tables are not found."""
    ada, _ = await start(replica)
    other, _ = await start(replica)
    no_token = replica.tables.SendChat(pb.SendChatRequest(table_id=ada.table_id, text="x", request_id=new_id()))
    assert (await refused(no_token)).reason == "TOKEN_MISSING"
    assert (await refused(send(other._replace(table_id=ada.table_id), "x"))).reason == "SEAT_NOT_YOURS"
    assert (await refused(send(ada._replace(token="x"), "x"))).reason == "TOKEN_INVALID"
    assert (await refused(listed(replica, "0" * 32))).reason == "TABLE_UNKNOWN"
    assert (await refused(listed(replica, ada.table_id, page_size=201))).fields.keys() == {"page_size"}


async def test_streams_bring_messages(store_url: str) -> None:
    """Watchers and players, at any replica, get the kept messages with the opening, then each as sent, once."""
    async with serving(store_url) as here, serving(store_url) as there:
        players = await start(here, seats=4)
        ada, bo, cy, _ = players
        await send(ada, "first")
        await send(ada, "psst", audience=PARTNER)
        everybody = watch(there, ada.table_id, chat=True)
        seated = cy.at(there).watch(chat=True)
        playing = await bo.at(there).play(chat=True)
        own = await ada.play(chat=True)
        quiet = watch(there, ada.table_id)
        streams = {everybody: ["first"], playing: ["first"], seated: ["first", "psst"], own: ["first", "psst"]}
        for stream, kept in streams.items():
            await stream.expect("state")
            assert [(await stream.expect("chat")).text for _ in kept] == kept
        await quiet.expect("state")
        await send(bo, "second")
        await send(cy, "yes", audience=PARTNER)
        await send(ada, "third")
        for stream, kept in streams.items():
            expected = ["second", "yes", "third"] if len(kept) == 2 else ["second", "third"]
            messages = [await stream.expect("chat") for _ in expected]
            assert [message.text for message in messages] == expected
        resumed = cy.at(there).watch(after=await there.store.load_revision(ada.table_id), chat=True, after_message=3)
        assert [(await resumed.expect("chat")).text for _ in range(2)] == ["yes", "third"]
        await ada.leave()
        assert (await quiet.expect("events")).events[0].HasField("seat_changed")
        for stream in (everybody, seated, playing, own, resumed, quiet):
            stream.cancel()


async def test_message_amid_moves(store_url: str) -> None:
    """A message makes no move stale, and comes beside the moves of a stream."""
    async with serving(store_url) as here, serving(store_url) as there:
        ada, bo = await start(here)
        streams = await opened([ada, bo.at(there)], chat=True)
        mover = 0 if (await ada.legal()).moves else 1
        players = [ada, bo.at(there)]
        legal = await players[mover].legal()
        await send(players[1 - mover], "Your turn")
        assert (await streams[mover].expect("chat")).text == "Your turn"
        request_id = new_id()
        await streams[mover].send(
            submit=pb.PlaySubmit(moves=legal.moves[:1], revision=legal.revision, request_id=request_id)
        )
        await streams[mover].accepted(request_id)
        other = [await streams[1 - mover].next() for _ in range(2)]
        assert sorted(update.kind for update in other) == ["chat", "events"]
        for stream in streams:
            stream.cancel()


async def test_number_of_another_history(replica: Replica) -> None:
    """A stream after a number that the table has not come to brings all kept messages."""
    ada, _ = await start(replica)
    await send(ada, "Hello")
    stream = ada.watch(chat=True, after_message=77)
    await stream.expect("state")
    assert (await stream.expect("chat")).text == "Hello"
    stream.cancel()


async def test_replicas_number_without_gap(store_url: str) -> None:
    """Messages that two replicas take at once have each number once; a repeat at the other one gets the first."""
    async with serving(store_url) as here, serving(store_url) as there:
        players = await start(here, seats=4)
        requests = [(player, new_id()) for player in players for _ in range(4)]

        async def say(player: Player, request_id: str) -> pb.ChatMessage:
            return await send(player, f"by {player.seat}", request_id=request_id)

        both = [say(player.at(place), request_id) for player, request_id in requests for place in (here, there)]
        sent = await asyncio.gather(*both)
        assert sent[::2] == sent[1::2]
        assert sorted(message.number for message in sent[::2]) == list(range(1, len(requests) + 1))


async def test_left_player_reads_no_more(replica: Replica) -> None:
    """The stream of a player who leaves ends."""
    ada, bo = await start(replica)
    stream = ada.watch(chat=True)
    await stream.expect("state")
    await ada.leave()
    await send(bo, "gone?")
    refusal = await refused(stream.rest())
    assert refusal.reason == "SEAT_NOT_YOURS"


async def test_texts_stay_out_of_logs_and_metrics(replica: Replica, capfd: pytest.CaptureFixture[str]) -> None:
    """Messages are counted by kind, and their text is nowhere else than in the store."""
    secret = "zanzibar"
    ada, _ = await start(replica)
    await send(ada, secret)
    await send(ada, phrase="HELLO")
    await refused(send(ada, f"{secret}\u202e"))
    await refused(send(ada, secret, audience=PARTNER))
    value = replica.metrics.registry.get_sample_value
    assert value("buraco_chat_messages_total", {"kind": "text"}) == 1
    assert value("buraco_chat_messages_total", {"kind": "phrase"}) == 1
    assert secret not in "".join(capfd.readouterr())
    refusal = await refused(send(ada, f"{secret}\u202e"))
    assert secret not in refusal.message
