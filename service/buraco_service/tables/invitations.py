"""Who may join a table: its access, and whom its creator has removed."""

import hmac
import secrets
from typing import Final

from buraco_rules import Problem
from buraco_service import errors
from buraco_service.tables.changes import Change, SeatChanged, leave
from buraco_service.tables.creators import creator_player_id
from buraco_service.tables.state import TableAccess, TableState, TableValue

CODE_LENGTH: Final = 16
"""Characters of an invitation code: 80 bits."""
_ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without 0 and O, 1 and I, which look alike."""
_SEPARATORS: Final = str.maketrans("", "", "- \t\n")
MAX_REMOVED: Final = 64
"""Removed players whom a table remembers, the last ones."""


def make_code() -> str:
    """Return a new invitation code, which cannot be guessed."""
    return "".join([secrets.choice(_ALPHABET) for _ in range(CODE_LENGTH)])


def normalise_code(sent: str) -> str:
    """Return a code as it was made: in upper case, without hyphens and blanks.

    >>> normalise_code("abcd-efgh jklm-npqr")
    'ABCDEFGHJKLMNPQR'
    """
    return sent.translate(_SEPARATORS).upper()


def check_invited(table: TableValue, player_id: str, code: str) -> None:
    """Raise unless a player may take a seat: NOT_INVITED, INVITATION_REQUIRED or INVITATION_WRONG.

    `code`: normalised; empty for none. Who has a seat already needs no invitation to come back to it.
    """
    if player_id:
        if player_id in [seat.player_id for seat in table.seats]:
            return
        if player_id in table.removed_player_ids:
            raise errors.permission_denied("NOT_INVITED", "the creator of the table has removed you")
    access = table.options.access
    if access is TableAccess.PLAYERS and player_id not in table.options.player_ids:
        raise errors.permission_denied("NOT_INVITED", "the table is for other players")
    if access is TableAccess.INVITATION:
        if not code:
            raise errors.permission_denied("INVITATION_REQUIRED", "the table needs its invitation code")
        if not hmac.compare_digest(code.encode(), table.invitation_code.encode()):
            raise errors.permission_denied("INVITATION_WRONG", "that is not the table's invitation code")


def remove_player(table: TableValue, seat: int, creator: str, now: float) -> Change:
    """Free a seat of a table that waits for players, for its creator, who may come back alone of those removed.

    Raise NOT_CREATOR, TABLE_NOT_WAITING, INVALID_ARGUMENT for a seat that the table does not have, or SEAT_FREE.
    """
    if not creator or creator != table.creator:
        raise errors.permission_denied("NOT_CREATOR", "only who created the table may do that")
    if table.state is not TableState.WAITING:
        raise errors.failed_precondition("TABLE_NOT_WAITING", "the match has begun")
    if not 0 <= seat < len(table.seats):
        raise errors.invalid_argument([Problem("seat", f"must be 0 to {len(table.seats) - 1}")])
    removed = table.seats[seat]
    if not removed.token_id:
        raise errors.failed_precondition("SEAT_FREE", "nobody has the seat", {"seat": str(seat)})
    change = leave(table, seat, now)
    known = table.removed_player_ids
    if removed.player_id and removed.player_id != creator_player_id(creator):
        known = (*known, removed.player_id)[-MAX_REMOVED:]
    after = change.table._replace(removed_player_ids=known)
    return change._replace(table=after, events=[SeatChanged(seat, "", removed=True), *change.events[1:]])
