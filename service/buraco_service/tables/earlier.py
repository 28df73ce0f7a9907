"""Answers that earlier versions stored: under keys of method, caller and id, and without a fingerprint.

They are looked up at tables that such a version has written, as long as the store keeps them.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from buraco.v1 import table_pb2, table_service_pb2
from buraco_codec.moves import move_to_pb
from buraco_rules import Move
from buraco_service.stores.base import KEPT_ANSWERS, AlreadyAnswered, HistoryGone, Store, StoredAnswer
from buraco_service.tables.entries import parse_moves
from buraco_service.tables.idempotency import Request, is_bound
from buraco_service.tables.state import TableValue
from buraco_service.tables.stored import table_to_pb

_BY_SEAT: Final = ("submit", "undo", "leave")


def has_earlier_answers(table: TableValue) -> bool:
    """Return True if a store may still keep answers of an earlier version to requests at the table."""
    since = table.request_ids_bound_since
    return since != 1 and (not since or table.revision <= since + KEPT_ANSWERS)


async def check_new(
    store: Store, table: TableValue, request: Request, is_same: Callable[[StoredAnswer], Awaitable[bool]] | None
) -> None:
    """Raise AlreadyAnswered if the request's id was used at the table, whichever version served it.

    An answer that an earlier version stored is raised as bound to this request if method and caller are the same and
    `is_same` holds of the content; None for a method that no earlier version has. Everything up to the table's revision
    is found, so that nothing can slip in before a commit on that revision.
    """
    found = await store.find_answer(table.id, *_keys(table, request))
    if found is None:
        return
    if is_same is not None:
        own = await store.find_answer(table.id, _key(request.method, request.caller, request.id))
        if own is not None and await is_same(own):
            found = StoredAnswer(own.revision, request.bind(own.answer))
    raise AlreadyAnswered(table.id, found)


def _key(method: str, token_id: str, request_id: str) -> str:
    """Return the key under which earlier versions stored the answer to a request."""
    return f"join:{request_id}" if method == "join" else f"{method}:{token_id}:{request_id}"


def _keys(table: TableValue, request: Request) -> set[str]:
    """Return all keys that may hold an answer to the id, of the caller and of those who hold seats."""
    tokens = {request.caller, *[seat.token_id for seat in table.seats]}
    by_seat = [_key(method, token, request.id) for method in _BY_SEAT for token in tokens]
    return {request.id, _key("join", "", request.id), *by_seat}


async def is_same_play(
    store: Store, table_id: str, moves: Sequence[Move], revision: int | None, first: StoredAnswer
) -> bool:
    """Return True if moves with this precondition may have got the answer, as far as the log still shows.

    Without moves it is an undo or a leave.
    """
    if revision is not None and revision != first.revision - 1:
        return False
    if not moves:
        return True
    try:
        (entry,) = await store.read_log(table_id, first.revision - 1, 1)
    except HistoryGone:
        return True
    return [move.move for move in parse_moves(entry.payload).moves] == [move_to_pb(move) for move in moves]


async def is_same_join(seat: int | None, player_name: str, first: StoredAnswer) -> bool:
    """Return True if such a join may have got the answer."""
    joined = table_pb2.StoredJoin.FromString(first.answer)
    return seat in (None, joined.seat) and joined.table.seats[joined.seat].player_name == player_name


def is_same_create(stored: bytes, table: TableValue) -> bool:
    """Return True if an earlier version may have stored this answer to the request that creates the table."""
    if is_bound(stored):
        return False
    created = table_service_pb2.CreateTableResponse.FromString(stored).table
    expected = table_to_pb(table)
    expected.id = created.id
    expected.created_at.CopyFrom(created.created_at)
    expected.updated_at.CopyFrom(created.updated_at)
    if not table.seeded_by_creator:
        expected.commitment = created.commitment
    return expected == created
