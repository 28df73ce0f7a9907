"""The entries of an account: pure functions from the newest entry to the next, or an error that says why not."""

from enum import IntEnum
from typing import Final, NamedTuple

from buraco.v1 import account_service_pb2
from buraco_rules import Problem
from buraco_service import errors

HOUSE: Final = "the house"
"""The account that bots stake from. It may be overdrawn. No player has this id: it has a space."""
MAX_BALANCE: Final = 10**18


class EntryKind(IntEnum):
    """What an entry does; the numbers are those of `buraco.v1.EntryKind`."""

    GRANT = 1
    HOLD = 2
    RELEASE = 3
    SETTLEMENT = 4


class Entry(NamedTuple):
    """An entry, and the account after it. Numbers of credits; `created_at` in seconds since the epoch."""

    number: int = 0
    kind: EntryKind = EntryKind.GRANT
    amount: int = 0
    """How the balance changed."""
    held_amount: int = 0
    """How the held credits changed."""
    balance: int = 0
    held: int = 0
    created_at: float = 0.0
    table_id: str = ""
    note: str = ""
    granted_by: str = ""
    """The name of an API key."""

    @property
    def available(self) -> int:
        """Return the credits that can be staked."""
        return self.balance - self.held

    def is_same(self, other: "Entry") -> bool:
        """Return True if a repeat of what made this entry makes the other."""
        return self._content == other._content

    @property
    def _content(self) -> tuple[EntryKind, int, str, str, str]:
        return self.kind, self.amount, self.table_id, self.note, self.granted_by


NOTHING: Final = Entry()
"""In place of the newest entry of an account that has none."""


class HoldEnded(Exception):
    """The hold was released or settled before it was made. No caller gets this as an error."""


def grant(before: Entry, amount: int, now: float, note: str = "", granted_by: str = "") -> Entry:
    """Return the entry that gives credits, or takes them.

    Raise CREDIT_TOO_LOW if fewer than these are available, INVALID_ARGUMENT for more than an account can have.
    """
    if before.balance + amount > MAX_BALANCE:
        raise errors.invalid_argument([Problem("amount", f"no account can have more than {MAX_BALANCE} credits")])
    if amount < 0 and before.available + amount < 0:
        raise credit_too_low(before.available, -amount)
    after = _next(before, EntryKind.GRANT, amount, 0, now)
    return after._replace(note=note, granted_by=granted_by)


def hold(before: Entry, stake: int, now: float, table_id: str, *, may_overdraw: bool) -> Entry:
    """Return the entry that holds a stake. Raise CREDIT_TOO_LOW unless it is available or may be overdrawn."""
    if before.available < stake and not may_overdraw:
        raise credit_too_low(before.available, stake)
    return _next(before, EntryKind.HOLD, 0, stake, now)._replace(table_id=table_id)


def end_hold(before: Entry, held: int, payout: int, now: float, table_id: str) -> Entry:
    """Return the entry that ends a hold of so many credits with what the match paid: a release if that is 0."""
    kind = EntryKind.SETTLEMENT if payout else EntryKind.RELEASE
    return _next(before, kind, payout, -held, now)._replace(table_id=table_id)


def credit_too_low(available: int, needed: int) -> errors.ApiError:
    """Return the error CREDIT_TOO_LOW (FAILED_PRECONDITION)."""
    message = f"the account has {available} credits available, and {needed} are needed"
    return errors.failed_precondition("CREDIT_TOO_LOW", message, {"available": str(available), "needed": str(needed)})


def serialise_entry(entry: Entry) -> bytes:
    """Return the StoredAccountEntry that a store keeps."""
    stored = account_service_pb2.StoredAccountEntry(entry=entry_to_pb(entry), granted_by=entry.granted_by)
    return stored.SerializeToString()


def parse_entry(payload: bytes) -> Entry:
    """Return the entry of a StoredAccountEntry."""
    stored = account_service_pb2.StoredAccountEntry.FromString(payload)
    entry = stored.entry
    return Entry(
        number=entry.number,
        kind=EntryKind(entry.kind),
        amount=entry.amount,
        held_amount=entry.held_amount,
        balance=entry.balance,
        held=entry.held,
        created_at=entry.created_at.seconds + entry.created_at.nanos / 1e9,
        table_id=entry.table_id,
        note=entry.note,
        granted_by=stored.granted_by,
    )


def entry_to_pb(entry: Entry) -> account_service_pb2.AccountEntry:
    """Return what the owner of the account may see of an entry."""
    message = account_service_pb2.AccountEntry(
        number=entry.number,
        kind=account_service_pb2.EntryKind.ValueType(entry.kind),
        amount=entry.amount,
        held_amount=entry.held_amount,
        balance=entry.balance,
        held=entry.held,
        table_id=entry.table_id,
        note=entry.note,
    )
    message.created_at.FromMicroseconds(round(entry.created_at * 1e6))
    return message


def account_to_pb(player_id: str, newest: Entry) -> account_service_pb2.Account:
    """Return an account after its newest entry."""
    return account_service_pb2.Account(
        player_id=player_id, balance=newest.balance, held=newest.held, available=newest.available
    )


def _next(before: Entry, kind: EntryKind, amount: int, held_amount: int, now: float) -> Entry:
    return Entry(
        number=before.number + 1,
        kind=kind,
        amount=amount,
        held_amount=held_amount,
        balance=before.balance + amount,
        held=before.held + held_amount,
        created_at=max(now, before.created_at),
    )
