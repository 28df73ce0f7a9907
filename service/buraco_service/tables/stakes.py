"""Stakes that accounts hold for the seats of a table: pure functions from a table to what becomes of them.

A hold of the table's stake has a random key, which is in one of three places of the table:

- `reserved`: somebody is taking a seat, and the hold may have been made. After a while it is given up.
- a seat: the hold was made. It stays there when the player of a running match leaves.
- `releasing`: neither any more; it is to be released.

A key comes from `reserved` to a seat, and from either to `releasing`, never back. It is ended in its account (released
or settled) only once it is in `releasing`, or at a seat of a match that is over. As the account refuses a hold that was
ended before it was made, and a join commits only while its key is reserved and after it is held: a key at a seat is
held, whoever was slow or died, and each ends once. While any is left something is due at the table, and tables for
which something is due do not expire.
"""

import math
from typing import Final

from buraco_rules import MatchResult
from buraco_service.tables.changes import Change, TableEvent, deal_next, leave
from buraco_service.tables.cutting_off import cut_off_match
from buraco_service.tables.state import (
    HeldStake,
    MatchEnd,
    StakeHold,
    Stakes,
    TableState,
    TableValue,
    idle_until,
)

RESERVED_SECONDS: Final = 30.0
"""From a reservation until it is given up: longer than a join takes."""


def keep_stakes(before: TableValue, change: Change) -> Change:
    """Return a change of a table with all holds that were at its seats: every change goes through this, once.

    While the table waits, the hold of a seat that was given back is to be released; later it stays at the seat.
    """
    after, stakes = change.table, change.table.stakes
    if stakes is None or after.seats is before.seats:
        return change
    seats, releasing = list(after.seats), stakes.releasing
    for number, seat in enumerate(before.seats):
        if seat.stake is None or after.seats[number].stake is not None:
            continue
        if before.state is TableState.WAITING:
            releasing += (StakeHold(seat.stake.account_id, seat.stake.key),)
        else:
            seats[number] = seats[number]._replace(stake=seat.stake)
    table = after._replace(seats=tuple(seats), stakes=stakes._replace(releasing=releasing))
    return change._replace(table=table)


def needs_stake(table: TableValue) -> bool:
    """Return True if who takes a seat has to stake."""
    return table.stakes is not None and table.state is TableState.WAITING


def find_reserved(table: TableValue, account_id: str) -> StakeHold | None:
    """Return the hold that is reserved for an account; None if there is none."""
    reserved = () if table.stakes is None else table.stakes.reserved
    return next((hold for hold in reserved if hold.account_id == account_id), None)


def is_reserved(table: TableValue, hold: StakeHold) -> bool:
    """Return True if a hold is still reserved."""
    return table.stakes is not None and hold.key in [reserved.key for reserved in table.stakes.reserved]


def reserve(table: TableValue, account_id: str, key: str, now: float) -> Change | None:
    """Reserve a hold for an account; None if there is a reservation that is not half over, or no stake is needed.

    An older one stays, for as long as a new one.
    """
    stakes = table.stakes
    if stakes is None or not needs_stake(table):
        return None
    reserved = find_reserved(table, account_id)
    if reserved is None:
        kept, reserved = stakes.reserved, StakeHold(account_id, key)
    elif reserved.reserved_until < now + RESERVED_SECONDS / 2:
        kept = _without(stakes.reserved, reserved)
    else:
        return None
    reserved = reserved._replace(reserved_until=now + RESERVED_SECONDS)
    return _with_stakes(table, stakes._replace(reserved=(*kept, reserved)), now)


def reserve_or_keep(table: TableValue, account_id: str, key: str, now: float) -> Change:
    """Reserve a hold as `reserve` does, or change nothing but the revision where it need not. A stake is needed."""
    assert table.stakes is not None, "or no stake would be needed"
    return reserve(table, account_id, key, now) or _with_stakes(table, table.stakes, now)


def take_reserved(change: Change, hold: StakeHold, credit: int) -> Change:
    """Return a join with a hold, which is reserved, at the seat that is taken."""
    after, stakes = change.table, change.table.stakes
    assert stakes is not None, "or nothing would be reserved"
    reserved = tuple([other for other in stakes.reserved if other.key != hold.key])
    seat = after.seats[change.seat]._replace(stake=HeldStake(hold.account_id, hold.key, credit))
    seats = (*after.seats[: change.seat], seat, *after.seats[change.seat + 1 :])
    return change._replace(table=after._replace(seats=seats, stakes=stakes._replace(reserved=reserved)))


def give_up(table: TableValue, key: str, now: float) -> Change | None:
    """Give a reservation up; None if there is none with this key."""
    stakes = table.stakes
    given_up = [] if stakes is None else [hold for hold in stakes.reserved if hold.key == key]
    return _give_up(table, given_up, now)


def give_up_overdue(table: TableValue, now: float) -> Change | None:
    """Give up the reservations that are over; None if none is."""
    reserved = () if table.stakes is None else table.stakes.reserved
    return _give_up(table, [hold for hold in reserved if hold.reserved_until <= now], now)


def close_idle(table: TableValue, now: float) -> Change | None:
    """Free the seats of a waiting table, or abort the match, if nobody has touched it for long; None if not.

    So the stakes are given back before the table expires.
    """
    until = idle_until(table)
    if until is None or until > now:
        return None
    if table.deal is not None and table.deal.ending:
        # Its score is shown, and nobody confirms it: the next deal gets as much time again.
        after, dealt = deal_next(table.advanced(now), table.deal)
        return Change(after, 0, [dealt])
    if table.deal is not None:
        return cut_off_match(table, table.deal.seat_to_move, [], MatchEnd.ABORTED, None, now)
    after, events = table, list[TableEvent]()
    for number, seat in enumerate(table.seats):
        if seat.token_id:
            after, _, left, *_ = leave(after, number, now)
            events += left
    return Change(after._replace(revision=table.revision + 1), 0, events)


def payouts_to_settle(table: TableValue) -> list[tuple[StakeHold, int]]:
    """Return the holds at the seats of a match that is over, each with what the match paid; none once settled."""
    if table.stakes is None or table.stakes.settled or table.state is not TableState.FINISHED:
        return []
    assert isinstance(table.result, MatchResult), "a table that is finished has a result"
    held = [
        (StakeHold(seat.stake.account_id, seat.stake.key), paid)
        for seat, paid in zip(table.seats, table.payouts, strict=True)
        if seat.stake is not None
    ]
    assert not sum([paid for _, paid in held]), "what some win others have lost"
    return held


def note_ended(table: TableValue, ended: dict[str, int], now: float) -> Change | None:
    """Note that accounts have ended holds, which leaves them with so many credits each, by key; None if it is noted.

    The stakes of a match that is over are settled when those of all seats are ended.
    """
    stakes = table.stakes
    if stakes is None:
        return None
    releasing = tuple([hold for hold in stakes.releasing if hold.key not in ended])
    open_keys = {hold.key for hold, _ in payouts_to_settle(table)}
    is_settled = table.state is TableState.FINISHED and not stakes.settled and open_keys <= ended.keys()
    if releasing == stakes.releasing and not is_settled:
        return None
    after = _with_stakes(table, stakes._replace(releasing=releasing, settled=stakes.settled or is_settled), now)
    if not is_settled:
        return after
    seats = [
        seat if seat.stake is None else seat._replace(stake=seat.stake._replace(credit=ended[seat.stake.key]))
        for seat in table.seats
    ]
    return after._replace(table=after.table._replace(seats=tuple(seats)))


def stakes_of_new_table(stake: int, lifetime: float) -> Stakes | None:
    """Return what a new table keeps if accounts hold its stakes; None without a stake."""
    return Stakes(math.ceil(lifetime)) if stake else None


def _give_up(table: TableValue, holds: list[StakeHold], now: float) -> Change | None:
    if not holds or table.stakes is None:
        return None
    released = tuple([hold._replace(reserved_until=0.0) for hold in holds])
    stakes = table.stakes._replace(
        reserved=_without(table.stakes.reserved, *holds), releasing=table.stakes.releasing + released
    )
    return _with_stakes(table, stakes, now)


def _with_stakes(table: TableValue, stakes: Stakes, now: float) -> Change:
    """Return a change that nobody at the table sees."""
    return Change(table.advanced(now)._replace(stakes=stakes), 0, [])


def _without(holds: tuple[StakeHold, ...], *left_out: StakeHold) -> tuple[StakeHold, ...]:
    return tuple([hold for hold in holds if hold not in left_out])
