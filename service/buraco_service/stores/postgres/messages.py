"""The messages beside the tables of the PostgreSQL store, each call one round trip."""

from __future__ import annotations

from asyncpg import Connection

from buraco_service.stores.base import MessageKnown, TableNotFound, TooManyMessages
from buraco_service.stores.limits import clamp
from buraco_service.stores.messages import KEPT_MESSAGES, NewMessage, StoredMessage


async def append_message(db: Connection, message: NewMessage) -> int:
    """Append a message and return its number. Raise TableNotFound, MessageKnown or TooManyMessages."""
    row = await db.fetchrow(
        "SELECT outcome, message, first_payload, oldest_at"
        " FROM buraco.append_message_1($1, $2, $3, $4, $5, $6, $7, $8)",
        *(message.table_id, message.request_id, message.sender, message.now, message.payload),
        *(message.most, message.since, KEPT_MESSAGES),
    )
    assert row is not None
    outcome, number, first_payload, oldest_at = row
    if outcome == "missing":
        raise TableNotFound(message.table_id)
    if outcome == "known":
        raise MessageKnown(StoredMessage(number, first_payload))
    if outcome == "many":
        raise TooManyMessages(oldest_at)
    return int(number)


async def read_messages(db: Connection, table_id: str, after: int, limit: int) -> list[StoredMessage]:
    """Return the first `limit` messages after a number, in order. Raise TableNotFound."""
    rows = await db.fetch(
        "SELECT kept.message, kept.payload FROM buraco.tables LEFT JOIN LATERAL ("
        " SELECT message, payload FROM buraco.messages WHERE number = tables.number AND message > $2"
        " ORDER BY message LIMIT $3"
        ") AS kept ON true WHERE table_id = $1 ORDER BY kept.message",
        *(table_id, clamp(after, 0), limit),
    )
    if not rows:
        raise TableNotFound(table_id)
    return [StoredMessage(number, payload) for number, payload in rows if number is not None]
