"""The messages beside the tables of the Redis store, each call one script."""

from __future__ import annotations

from buraco_service.stores.base import MessageKnown, TableNotFound, TooManyMessages
from buraco_service.stores.limits import clamp
from buraco_service.stores.messages import KEPT_MESSAGES, NewMessage, StoredMessage
from buraco_service.stores.redis import scripts
from buraco_service.stores.redis.keys import TableKeys
from buraco_service.stores.redis.nodes import Nodes


async def append_message(nodes: Nodes, keys: TableKeys, message: NewMessage) -> int:
    """Append a message and return its number. Raise TableNotFound, MessageKnown or TooManyMessages."""
    answer = await nodes.run_script(
        keys.bucket,
        scripts.APPEND_MESSAGE,
        (keys.table, keys.messages),
        *(message.request_id, message.sender, repr(message.now), message.payload),
        *(message.most, repr(message.since), KEPT_MESSAGES, keys.channel),
    )
    match answer:
        case int():
            return answer
        case [b"known", number, payload]:
            raise MessageKnown(StoredMessage(number, payload))
        case [b"many", oldest_at]:
            raise TooManyMessages(float(oldest_at))
        case _:
            raise TableNotFound(message.table_id)


async def read_messages(nodes: Nodes, keys: TableKeys, table_id: str, after: int, limit: int) -> list[StoredMessage]:
    """Return the first `limit` messages after a number, in order. Raise TableNotFound."""
    outcome, *rest = await nodes.run_script(
        keys.bucket, scripts.READ_MESSAGES, (keys.table, keys.messages), clamp(after, 0), limit
    )
    if outcome == b"missing":
        raise TableNotFound(table_id)
    first, payloads = rest
    return [StoredMessage(number, payload) for number, payload in enumerate(payloads, first)]
