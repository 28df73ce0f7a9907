"""The arguments every store accepts, so that all backends refuse the same ones."""

from __future__ import annotations

from collections.abc import Sequence

from buraco_service.stores.base import Commit, NewTable, TableNotFound

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

_END_OF_TIME = 1e11


def is_text(value: str, longest: int) -> bool:
    """Whether every backend can keep this text: not empty, not too long, no NUL, no lone surrogate."""
    if not 0 < len(value) <= longest or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def is_id(value: str) -> bool:
    """Whether a table or a request can have this id at all."""
    return is_text(value, MAX_ID_LENGTH)


def check_possible(table_id: str) -> None:
    """Raise TableNotFound for an id that no table can have."""
    if not is_id(table_id):
        raise TableNotFound(table_id)


def possible_requests(table_id: str, request_ids: Sequence[str]) -> list[str]:
    """Return those ids that a request can have; none if no table can have the table id."""
    return list(filter(is_id, request_ids)) if is_id(table_id) else []


def check_page(limit: int) -> None:
    """Raise ValueError unless 1 <= limit <= MAX_PAGE."""
    if not 1 <= limit <= MAX_PAGE:
        raise ValueError(f"limit has to be 1 to {MAX_PAGE}, not {limit}")


def check_list(status: str | None, limit: int, after: str | None) -> None:
    """Raise ValueError when an argument of `list` is out of its range. An empty `after` stands before every id."""
    check_page(limit)
    if status is not None:
        check_status(status)
    if after and not is_id(after):
        raise ValueError("not an id for a table")


def check_status(status: str) -> None:
    """Raise ValueError when this can be no status."""
    if not is_text(status, MAX_STATUS_LENGTH):
        raise ValueError("not a status")


def check_owned(owner: str, status: str) -> None:
    """Raise ValueError when an argument of `owned` is out of its range."""
    if not is_id(owner):
        raise ValueError("not a name for an owner")
    check_status(status)


def check_time(seconds: float) -> None:
    """Raise ValueError unless these are seconds since the epoch that a store can order by."""
    if not 0 <= seconds < _END_OF_TIME:
        raise ValueError(f"not a time in seconds since the epoch: {seconds}")


def check_create(table: NewTable) -> None:
    """Raise ValueError when a field of the table is out of its range."""
    if not is_id(table.table_id):
        raise ValueError("not an id for a table")
    if table.owner is not None and not is_id(table.owner):
        raise ValueError("not a name for an owner")
    _check_written(table)


def check_commit(commit: Commit) -> None:
    """Raise ValueError when a field of the commit is out of its range. Its table and revision are not looked at."""
    _check_written(commit)
    for number, payload in commit.records:
        if not 0 <= number <= MAX_NUMBER:
            raise ValueError(f"a deal number has to be 0 to {MAX_NUMBER}, not {number}")
        _check_payload("a record", payload)


def _check_written(step: NewTable | Commit) -> None:
    check_status(step.status)
    if step.request_id is not None and not is_id(step.request_id):
        raise ValueError("not an id for a request")
    check_time(step.now)
    _check_payload("the state", step.state)
    _check_payload("the log entry", step.entry)
    _check_payload("the answer", step.answer)


def _check_payload(what: str, payload: bytes) -> None:
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"{what} has {len(payload)} bytes, more than {MAX_PAYLOAD}")
