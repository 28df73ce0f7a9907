"""The arguments that every store accepts, checked in one place so that all stores refuse the same ones."""

from __future__ import annotations

from collections.abc import Sequence

from buraco_service.stores.base import Commit, NewTable, TableNotFound
from buraco_service.stores.messages import KEPT_MESSAGES, NewMessage

MAX_ID_LENGTH = 200
"""Characters in a table id, a request id or an owner; at least one."""

MAX_STATUS_LENGTH = 32
"""Characters in a status; at least one."""

MAX_PAYLOAD = 16 * 1024 * 1024
"""Bytes in a state, a log entry, an answer or a record."""

MAX_NUMBER = 2**31 - 1
"""The highest revision and deal number."""

MAX_PAGE = 10_000
"""The highest `limit` of a call."""

MAX_SECONDS = 1e11
"""The first time that is too late, in seconds since the epoch."""

SECONDS_PER_HOUR = 3600


def is_text(value: str, longest: int) -> bool:
    """Return True if every store can keep this text: not empty, not too long, without NUL and lone surrogates."""
    if not 0 < len(value) <= longest or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def is_id(value: str) -> bool:
    """Return True if a table, a request or an owner can have this id."""
    return is_text(value, MAX_ID_LENGTH)


def hour_of(seconds: float) -> int:
    """Return the full hours since the epoch, which stores keep in an index of tables to expire.

    With hours instead of seconds, few commits change the index.
    """
    return int(seconds // SECONDS_PER_HOUR)


def clamp(number: int, lowest: int) -> int:
    """Return the number, or the nearest that a store can compare with, from `lowest` to MAX_NUMBER."""
    return min(max(number, lowest), MAX_NUMBER)


def valid_request_ids(table_id: str, request_ids: Sequence[str]) -> list[str]:
    """Return those ids that a request can have; none if no table can have the table id."""
    return list(filter(is_id, request_ids)) if is_id(table_id) else []


def validate_table_id(table_id: str) -> None:
    """Raise TableNotFound for an id that no table can have."""
    if not is_id(table_id):
        raise TableNotFound(table_id)


def validate_limit(limit: int) -> None:
    """Raise ValueError unless 1 <= limit <= MAX_PAGE."""
    if not 1 <= limit <= MAX_PAGE:
        raise ValueError(f"limit has to be 1 to {MAX_PAGE}, not {limit}")


def validate_page(table_id: str, limit: int) -> None:
    """Raise as `validate_limit` and `validate_table_id`."""
    validate_limit(limit)
    validate_table_id(table_id)


def validate_list(status: str | None, limit: int, after: str | None) -> None:
    """Raise ValueError for arguments of `Store.list_tables` that are out of range. Every id is after an empty one."""
    validate_limit(limit)
    if status is not None:
        validate_status(status)
    if after and not is_id(after):
        raise ValueError("not an id for a table")


def validate_expire(updated_before: float, limit: int) -> None:
    """Raise ValueError for arguments of `Store.expire` that are out of range."""
    _validate_time(updated_before)
    validate_limit(limit)


def validate_due(now: float, limit: int) -> None:
    """Raise ValueError for arguments of `Store.due` that are out of range."""
    _validate_time(now)
    validate_limit(limit)


def validate_account(account_id: str, *keys: str) -> None:
    """Raise ValueError for an account or a key of an entry that cannot be."""
    if not all(map(is_id, (account_id, *keys))):
        raise ValueError("not an id for an account, or a key for an entry")


def validate_entries(account_id: str, limit: int) -> None:
    """Raise ValueError for arguments of `Ledger.entries` that are out of range; any number is valid."""
    validate_account(account_id)
    validate_limit(limit)


def validate_append(account_id: str, key: str, payload: bytes) -> None:
    """Raise ValueError for arguments of `Ledger.append` that are out of range; a number that cannot be is not next."""
    validate_account(account_id, key)
    _validate_payload("the entry", payload)


def validate_status(status: str) -> None:
    """Raise ValueError for a text that can be no status."""
    if not is_text(status, MAX_STATUS_LENGTH):
        raise ValueError("not a status")


def validate_owned(owner: str, status: str) -> None:
    """Raise ValueError for arguments of `Store.count_owned` that are out of range."""
    if not is_id(owner):
        raise ValueError("not a name for an owner")
    validate_status(status)


def validate_create(table: NewTable) -> None:
    """Raise ValueError for a field that is out of range."""
    if not is_id(table.table_id):
        raise ValueError("not an id for a table")
    if table.owner is not None and not is_id(table.owner):
        raise ValueError("not a name for an owner")
    _validate_write(table)


def validate_commit(commit: Commit) -> None:
    """Raise ValueError for a field that is out of range, TableNotFound for an id that no table can have.

    Any expected revision is valid: one that cannot be is a conflict.
    """
    _validate_write(commit)
    for number, payload in commit.records:
        if not 0 <= number <= MAX_NUMBER:
            raise ValueError(f"a deal number has to be 0 to {MAX_NUMBER}, not {number}")
        _validate_payload("a record", payload)
    validate_table_id(commit.table_id)


def validate_message(message: NewMessage) -> None:
    """Raise ValueError for a field that is out of range, TableNotFound for an id that no table can have."""
    if not is_id(message.request_id):
        raise ValueError("not an id for a request")
    if not 0 <= message.sender <= MAX_NUMBER:
        raise ValueError(f"a sender has to be 0 to {MAX_NUMBER}, not {message.sender}")
    if not 1 <= message.most <= KEPT_MESSAGES:
        raise ValueError(f"from 1 to {KEPT_MESSAGES} messages can be counted, not {message.most}")
    _validate_time(message.now)
    _validate_payload("the message", message.payload)
    validate_table_id(message.table_id)


def _validate_write(write: NewTable | Commit) -> None:
    validate_status(write.status)
    if write.request_id is not None and not is_id(write.request_id):
        raise ValueError("not an id for a request")
    _validate_time(write.now)
    if write.due_at is not None:
        _validate_time(write.due_at)
    _validate_payload("the state", write.state)
    _validate_payload("the log entry", write.entry)
    _validate_payload("the answer", write.answer)


def _validate_time(seconds: float) -> None:
    if not 0 <= seconds < MAX_SECONDS:
        raise ValueError(f"not a time in seconds since the epoch: {seconds}")


def _validate_payload(name: str, payload: bytes) -> None:
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"{name} has {len(payload)} bytes, more than {MAX_PAYLOAD}")
