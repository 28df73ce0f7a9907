"""Chat in the client: sending, listing in pages, and messages on streams that break."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client import BuracoClient, Update
from tests.client.playing import take as take_from_session
from tests.client.playing import unavailable
from tests.client.scripted import state
from tests.client.test_watch import stream, take

if TYPE_CHECKING:
    from tests.client.playing import Table
    from tests.client.scripted import Script

PARTNER, EVERYBODY = table_service_pb2.CHAT_AUDIENCE_PARTNER, table_service_pb2.CHAT_AUDIENCE_TABLE


def message(number: int) -> table_service_pb2.ChatMessage:
    """A message with this number."""
    return table_service_pb2.ChatMessage(number=number, text=f"message {number}")


def numbers(updates: list[Update]) -> list[int]:
    """The numbers of the messages among updates."""
    return [update.number for update in updates if isinstance(update, table_service_pb2.ChatMessage)]


async def test_sending(client: BuracoClient, script: Script) -> None:
    """A text or a phrase goes to the table or the partner, with the token and a request id; not both, and not none."""
    seat = client.restore_seat("t", 1, "secret")
    sent = table_service_pb2.SendChatResponse(message=message(4))
    script.on("SendChat", sent, sent)
    assert await seat.send_chat("Hello", request_id="mine") == message(4)
    await seat.send_chat(phrase="THANKS", to_partner=True)
    first, second = script.requests["SendChat"]
    assert (first.table_id, first.text, first.audience, first.request_id) == ("t", "Hello", EVERYBODY, "mine")
    assert (second.phrase, second.WhichOneof("content"), second.audience) == ("THANKS", "phrase", PARTNER)
    assert second.request_id
    assert script.metadata["SendChat"][0]["authorization"] == "Bearer secret"
    for text, phrase in (("", ""), ("Hello", "THANKS")):
        with pytest.raises(ValueError, match="a text or a phrase"):
            await seat.send_chat(text, phrase=phrase)


@pytest.mark.parametrize("seated", [False, True])
async def test_listing(client: BuracoClient, script: Script, seated: bool) -> None:
    """Pages follow each other from the last number."""
    script.on(
        "ListChat",
        table_service_pb2.ListChatResponse(messages=[message(3), message(5)], more=True),
        table_service_pb2.ListChatResponse(messages=[message(6)]),
    )
    holder = client.restore_seat("t", 1, "secret")
    listed = holder.list_chat(after_message=2, page_size=2) if seated else client.list_chat("t", after_message=2)
    assert [found.number async for found in listed] == [3, 5, 6]
    assert [request.after_message for request in script.requests["ListChat"]] == [2, 5]
    assert all(("authorization" in metadata) == seated for metadata in script.metadata["ListChat"])


async def test_record_for_a_seat(client: BuracoClient, script: Script) -> None:
    """A seat asks for records with its token."""
    script.on("GetRecord", table_service_pb2.GetRecordResponse(deals=[table_pb2.DealRecord(deal_number=1)]))
    seat = client.restore_seat("t", 1, "secret")
    assert [deal.deal_number async for deal in seat.get_record()] == [1]
    assert script.metadata["GetRecord"][0]["authorization"] == "Bearer secret"


async def test_messages_of_a_watch_that_breaks(client: BuracoClient, script: Script) -> None:
    """A watch that is opened again resumes after the last message, and yields none twice."""

    async def broken(request: object, context: object) -> None:
        await unavailable(context)

    script.on(
        "WatchTable",
        stream(state(2), message(4), message(7), then=broken),
        stream(message(7), message(8)),
    )
    async with client.watch("t", chat=True, after_message=3) as watch:
        assert numbers(await take(watch, 4)) == [4, 7, 8]
        assert watch.last_message == 8
    assert [request.after_message for request in script.requests["WatchTable"]] == [3, 7]
    assert all(request.chat for request in script.requests["WatchTable"])


async def test_messages_of_a_session_that_breaks(client: BuracoClient, script: Script, table: Table) -> None:
    """A play session resumes after the last message, and yields none twice."""
    script.on("PlayTable", table.stream(state(2), message(4), then=unavailable), table.stream(message(4), message(5)))
    async with client.restore_seat("t", 0, "secret").play(chat=True, after_message=3) as session:
        assert numbers(await take_from_session(session, 3)) == [4, 5]
    assert [(opened.chat, opened.after_message) for opened in table.opened] == [(True, 3), (True, 4)]
