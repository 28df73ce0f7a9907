"""Messages of players to their table, or to the partner alone.

They are a log of their own: a message makes no revision, and no move reads or writes any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from buraco.v1 import table_service_pb2 as pb
from buraco_codec.fields import has_unknown_fields
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.stores.base import MessageKnown, TableNotFound, TooManyMessages
from buraco_service.stores.messages import KEPT_MESSAGES, NewMessage, StoredMessage
from buraco_service.tables.changes import verify_seat
from buraco_service.tables.idempotency import Request, answer_of_any
from buraco_service.tables.spectating import visible_until
from buraco_service.tables.state import ChatMode, TableValue
from buraco_service.tables.stored_timing import from_timestamp, to_timestamp
from buraco_service.tables.tables import Tables

MAX_MESSAGES: Final = 5
"""Of a seat, in WINDOW_SECONDS."""
WINDOW_SECONDS: Final = 10.0


class Chat:
    """The use cases. `allowed` bounds what tables allow."""

    def __init__(self, tables: Tables, allowed: ChatMode = ChatMode.ALL) -> None:
        self._tables = tables
        self._repository = tables.repository
        self._allowed = allowed

    async def send(
        self, table_id: str, claims: SeatClaims, content: pb.ChatMessage, request_id: str
    ) -> pb.SendChatResponse:
        """Send a message for the token's seat: text or phrase, and audience, of `content`.

        A repeat gets the first message. Raise CHAT_OFF, PHRASES_ONLY, NO_PARTNER, LIMIT_REACHED, REQUEST_ID_REUSED,
        SEAT_NOT_YOURS or TABLE_NOT_FOUND.
        """
        table = await self._repository.get(table_id)
        seat = verify_seat(table, claims)
        # A message is looked for by this alone where the store is not asked for it.
        request = Request.of("chat", request_id, claims.token_id, request_id.encode(), content.SerializeToString())
        try:
            _check_mode(max(self._allowed, table.options.chat), content)
            readers = [] if content.audience == pb.CHAT_AUDIENCE_TABLE else _partners(table, seat)
        except errors.ApiError:
            for stored in await self._read(table_id, 0):
                if request.answer_in(stored.payload) is not None:
                    return _response(stored)
            raise
        now = self._tables.clock()
        message = pb.ChatMessage(sent_at=to_timestamp(now), seat=seat, player_name=table.seats[seat].player_name)
        message.MergeFrom(content)
        kept = pb.StoredMessage(message=message, reader_token_ids=readers)
        payload = request.bind(kept.SerializeToString())
        since = max(0.0, now - WINDOW_SECONDS)
        new = NewMessage(table_id, request_id, seat, now, payload, MAX_MESSAGES, since)
        try:
            number = await self._repository.store.append_message(new)
        except TableNotFound:
            raise errors.table_not_found(table_id) from None
        except MessageKnown as known:
            if request.answer_in(known.stored.payload) is None:
                raise errors.request_id_reused() from None
            return _response(known.stored)
        except TooManyMessages as many:
            text = f"a player may send {MAX_MESSAGES} messages in {WINDOW_SECONDS:g} seconds"
            wait = min(max(many.oldest_at - since, 0.001), WINDOW_SECONDS)
            raise errors.limit_reached("chat_rate", MAX_MESSAGES, text, wait) from None
        self._tables.metrics.count_message("phrase" if content.phrase else "text")
        return _response(StoredMessage(number, payload))

    async def list_messages(
        self, table: TableValue, claims: SeatClaims | None, after: int, limit: int
    ) -> pb.ListChatResponse:
        """Return the first `limit` kept messages after a number that the token's holder, or everybody, may read."""
        token_id = None if claims is None else claims.token_id
        until = visible_until(table, claims, self._tables.clock())
        found = list(readable(before(await self._read(table.id, after), until), token_id))
        return pb.ListChatResponse(messages=found[:limit], more=len(found) > limit)

    async def _read(self, table_id: str, after: int) -> list[StoredMessage]:
        try:
            return await self._repository.store.read_messages(table_id, after, KEPT_MESSAGES)
        except TableNotFound:
            raise errors.table_not_found(table_id) from None


def readable(messages: Iterable[StoredMessage], token_id: str | None) -> Iterator[pb.ChatMessage]:
    """Yield those messages that the holder of a seat token may read, or everybody (None).

    A message to the partner is for the two who had the seats when it was sent. Raise TABLE_TOO_NEW for a message whose
    readers this version cannot know.
    """
    for stored in messages:
        kept = _parse(stored)
        if kept.message.audience == pb.CHAT_AUDIENCE_TABLE or (
            kept.message.audience == pb.CHAT_AUDIENCE_PARTNER and token_id and token_id in kept.reader_token_ids
        ):
            kept.message.number = stored.number
            yield kept.message


def before(messages: Iterable[StoredMessage], until: float | None) -> Iterator[StoredMessage]:
    """Yield the messages up to the first that was sent after a time (None: all)."""
    for stored in messages:
        if until is not None and sent_at(stored) > until:
            return
        yield stored


def sent_at(stored: StoredMessage) -> float:
    """Return when a message was sent, in seconds since the epoch."""
    return from_timestamp(_parse(stored).message.sent_at)


def _parse(stored: StoredMessage) -> pb.StoredMessage:
    kept = pb.StoredMessage.FromString(answer_of_any(stored.payload))
    if has_unknown_fields(kept):
        raise errors.table_too_new()
    return kept


def _response(stored: StoredMessage) -> pb.SendChatResponse:
    message = _parse(stored).message
    message.number = stored.number
    return pb.SendChatResponse(message=message)


def _check_mode(mode: ChatMode, content: pb.ChatMessage) -> None:
    if mode is ChatMode.OFF:
        raise errors.failed_precondition("CHAT_OFF", "there is no chat at this table")
    if mode is ChatMode.PHRASES and not content.phrase:
        raise errors.failed_precondition("PHRASES_ONLY", "only phrases may be sent at this table")


def _partners(table: TableValue, seat: int) -> list[str]:
    """Return the token ids of a seat and its partner. Raise NO_PARTNER if nobody is there."""
    held = [table.seats[number].token_id for number in range(seat & 1, len(table.seats), 2)]
    if len(held) < 2 or not all(held):
        raise errors.failed_precondition("NO_PARTNER", "there is no partner to read the message")
    return held
