"""A table as the service works with it: an immutable value at one revision."""

from enum import IntEnum
from typing import Final, NamedTuple

from buraco_rules import Deal, MatchResult, RuleSet


class TableState(IntEnum):
    """Where a table stands; the numbers are those of `buraco.v1.TableState`."""

    WAITING = 1
    PLAYING = 2
    FINISHED = 3

    @property
    def status(self) -> str:
        """The word under which the store lists the table."""
        return _STATUSES[self]


_STATUSES: Final = {state: state.name.lower() for state in TableState}


class Seat(NamedTuple):
    """A seat and who holds it."""

    player_name: str = ""
    token_id: str = ""
    """What a valid token for this seat carries; empty while the seat is free."""
    joined_at: float = 0.0
    """Seconds since the epoch."""
    entropy: bytes = b""


class TableValue(NamedTuple):
    """A table. Times in seconds since the epoch."""

    id: str
    rules: RuleSet
    seats: tuple[Seat, ...]
    target_score: int
    stake: int
    created_at: float
    updated_at: float
    master_seed: bytes
    seeded_by_creator: bool
    state: TableState = TableState.WAITING
    deal: Deal | None = None
    """None until the match starts."""
    result: MatchResult | None = None
    deal_revision: int = 0
    """The revision that dealt the running deal."""
    reversals: int = 0
    """How often in the running deal a wild was moved to act elsewhere, or a play was taken back."""
    revision: int = 1
    request_ids_bound_since: int = 0
    """The first revision by a version that binds request ids to their requests; 0 before there is one."""

    def advanced(self, now: float, *, seats: tuple[Seat, ...] | None = None, deal: Deal | None = None) -> "TableValue":
        """The table one revision on. Its time never runs backwards, whatever the clocks of the replicas say.

        Written out, because every move needs it and `_replace` takes three times as long.
        """
        return TableValue(
            self.id,
            self.rules,
            self.seats if seats is None else seats,
            self.target_score,
            self.stake,
            self.created_at,
            max(now, self.updated_at),
            self.master_seed,
            self.seeded_by_creator,
            self.state,
            self.deal if deal is None else deal,
            self.result,
            self.deal_revision,
            self.reversals,
            self.revision + 1,
            self.request_ids_bound_since or self.revision + 1,
        )
