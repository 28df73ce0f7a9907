"""Players who have player tokens: a player has one seat of a table at most, and comes back to it."""

from buraco.v1 import table_pb2
from buraco_rules import Problem
from buraco_service import errors
from buraco_service.tables.state import TableValue
from buraco_service.tables.stored import table_to_pb


class AlreadySeated(errors.FailedPrecondition):
    """The player has a seat of the table (FAILED_PRECONDITION, ALREADY_SEATED)."""

    def __init__(self, table: TableValue, seat: int) -> None:
        reason = "ALREADY_SEATED"
        message = "a player has one seat of a table, and you have another"
        super().__init__([(reason, message)], metadata={"seat": str(seat)})
        self.table = table
        self.seat = seat

    @property
    def stored_join(self) -> table_pb2.StoredJoin:
        """Return the seat as the answer to a JoinTable keeps it."""
        token_id = self.table.seats[self.seat].token_id
        return table_pb2.StoredJoin(seat=self.seat, token_id=token_id, table=table_to_pb(self.table))


def check_can_join(table: TableValue, player_id: str, player_name: str) -> None:
    """Raise AlreadySeated if the player has a seat of the table, INVALID_ARGUMENT for one without a name."""
    for number, seat in enumerate(table.seats):
        if player_id and seat.player_id == player_id:
            raise AlreadySeated(table, number)
    if not player_name:
        raise errors.invalid_argument(
            [Problem("player_name", "is empty, and the player token has no name that can be shown")]
        )
