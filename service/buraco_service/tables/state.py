"""A table as the service works with it: an immutable value at one revision."""

import math
from enum import IntEnum
from typing import Final, NamedTuple

from buraco_rules import Deal, MatchResult, Move, RuleSet, legal_moves, payouts, server_seed

_HOUR: Final = 3600


class TableState(IntEnum):
    """The state of a table; the numbers are those of `buraco.v1.TableState`."""

    WAITING = 1
    PLAYING = 2
    FINISHED = 3

    @property
    def status(self) -> str:
        """Return the word under which a store lists the table."""
        return _STATUSES[self]


_STATUSES: Final = {state: state.name.lower() for state in TableState}


class TableAccess(IntEnum):
    """Who may take a seat; the numbers are those of `buraco.v1.TableAccess`."""

    PUBLIC = 1
    INVITATION = 2
    """Who has the table's code."""
    PLAYERS = 3
    """Those whom the creator named."""


class MatchEnd(IntEnum):
    """How a match came to its end; the numbers are those of `buraco.v1.MatchEnd`."""

    PLAYED = 0
    RESIGNED = 1
    DRAW_AGREED = 2
    ABORTED = 3


class OfferKind(IntEnum):
    """What players can offer each other; the numbers are those of `buraco.v1.OfferKind`."""

    RESIGNATION = 1
    """To the partner: that their side resigns."""
    DRAW = 2


class SpectatorPolicy(IntEnum):
    """Who may see a table without a seat; the numbers are those of `buraco.v1.SpectatorPolicy`."""

    ALLOWED = 1
    NONE = 2


class ChatMode(IntEnum):
    """What players may send to each other, the most first; the numbers are those of `buraco.v1.ChatMode`."""

    ALL = 1
    PHRASES = 2
    OFF = 3


class Offer(NamedTuple):
    """An offer that waits for the agreement of others."""

    seat: int
    kind: OfferKind


class HeldStake(NamedTuple):
    """A stake that an account holds for a seat."""

    account_id: str
    key: str
    """Of the hold."""
    credit: int
    """What the account could stake after its last entry for the table."""


class StakeHold(NamedTuple):
    """A hold of the table's stake that is at no seat."""

    account_id: str
    key: str
    reserved_until: float = 0.0
    """Seconds since the epoch; 0 if it is not reserved."""


class Stakes(NamedTuple):
    """What becomes of the stakes of a table whose players have accounts; see `stakes`."""

    lifetime: int
    """Seconds without a change after which an unfinished table gives its stakes back."""
    reserved: tuple[StakeHold, ...] = ()
    releasing: tuple[StakeHold, ...] = ()
    settled: bool = False
    """The match is over, and all accounts have its outcome."""


class Seat(NamedTuple):
    """A seat and its player."""

    player_name: str = ""
    token_id: str = ""
    """The id that valid tokens of this seat carry; empty while the seat is free."""
    joined_at: float = 0.0
    """Seconds since the epoch."""
    entropy: bytes = b""
    """What the player added to the shuffles."""
    player_id: str = ""
    """Whose seat it is, by a player token; empty without one."""
    stake: HeldStake | None = None
    """Perhaps of a player who has left."""


class TableOptions(NamedTuple):
    """What the creator of a table chose. Times in seconds; 0 for none."""

    turn_time: float = 0.0
    reserve_time: float = 0.0
    """Of each seat, for the whole match, on top of its turns' times."""
    confirmation_time: float = 0.0
    """How long the score of a deal is shown, unless all players confirm it before."""
    absent_after_turns: int = 0
    """Turns in a row that the clock finishes, after which a seat is absent."""
    access: TableAccess = TableAccess.PUBLIC
    player_ids: tuple[str, ...] = ()
    """Who may take a seat, with access PLAYERS."""
    spectators: SpectatorPolicy = SpectatorPolicy.ALLOWED
    spectator_delay: float = 0.0
    """How much later than the players spectators see what happens."""
    chat: ChatMode = ChatMode.ALL

    @property
    def is_timed(self) -> bool:
        """Return True if something becomes due at such a table."""
        return bool(self.turn_time or self.confirmation_time)


NO_OPTIONS: Final = TableOptions()


class SeatTiming(NamedTuple):
    """What the clock says of a seat."""

    reserve: float
    """Seconds left, in whole milliseconds."""
    missed_turns: int = 0
    """Turns in a row that the clock has finished."""
    confirmed: bool = False
    """Its player has confirmed the score that is shown."""


class Timing(NamedTuple):
    """The running turn, or the score that is shown, and what the clock says of each seat."""

    began_at: float
    """When the turn began, or the score was first shown."""
    seats: tuple[SeatTiming, ...]


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
    options: TableOptions = NO_OPTIONS
    timing: Timing | None = None
    """Of a running match of a timed table."""
    first_starter: int = -1
    """The seat that starts the first deal; -1 where the seed chooses it."""
    offers: tuple[Offer, ...] = ()
    """Open ones, in the order in which they were made."""
    how: MatchEnd = MatchEnd.PLAYED
    """How the result came about."""
    invitation_code: str = ""
    """What players need to join, with access INVITATION."""
    creator: str = ""
    """"player:" and the player's id, or "key:" and the name of the API key; empty if neither is known."""
    removed_player_ids: tuple[str, ...] = ()
    """Players whom the creator has removed."""
    stakes: Stakes | None = None
    """None where stakes are only shown."""

    def advanced(self, now: float, *, seats: tuple[Seat, ...] | None = None, deal: Deal | None = None) -> "TableValue":
        """Return the table at the next revision. Its time never runs backwards, even if the clocks of replicas differ.

        Every move calls it, and `_replace` takes three times as long.
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
            self.options,
            self.timing,
            self.first_starter,
            self.offers,
            self.how,
            self.invitation_code,
            self.creator,
            self.removed_player_ids,
            self.stakes,
        )

    @property
    def free_seats(self) -> list[int]:
        """Return the seats that a player could take."""
        return [number for number, seat in enumerate(self.seats) if not seat.token_id]

    @property
    def entropies(self) -> tuple[bytes, ...]:
        """Return what the player of each seat added to the shuffles."""
        return tuple([seat.entropy for seat in self.seats])

    @property
    def due_at(self) -> float | None:
        """Return when something becomes due at the table; None if nothing does."""
        if self.stakes is None:
            return self.clock_due_at
        times = [time for time in (self.clock_due_at, _stakes_due_at(self, self.stakes)) if time is not None]
        return min(times, default=None)

    @property
    def clock_due_at(self) -> float | None:
        """Return when the clock ends the running turn or confirmation; None if it does not, or stands still."""
        timing, deal = self.timing, self.deal
        if timing is None or deal is None or self.is_deserted:
            return None
        if deal.ending:
            return timing.began_at + self.options.confirmation_time
        if not self.options.turn_time:
            return None
        return timing.began_at + self.options.turn_time + timing.seats[deal.seat_to_move].reserve

    def is_absent(self, seat: int) -> bool:
        """Return True if the clock has finished so many turns of a player that the seat counts as absent."""
        limit, timing = self.options.absent_after_turns, self.timing
        if not limit or timing is None or not self.seats[seat].token_id:
            return False
        return timing.seats[seat].missed_turns >= limit

    @property
    def is_deserted(self) -> bool:
        """Return True if nobody is left for whom the clock could run: every seat is absent or free.

        Without this a table that all have left would play on for ever, and never expire.
        """
        if not self.options.absent_after_turns:
            return False
        return not any([seat.token_id and not self.is_absent(number) for number, seat in enumerate(self.seats)])

    @property
    def resigned_side(self) -> int | None:
        """Return the side that resigned; None if none did."""
        if self.result is None or self.result.winner is None or self.how is not MatchEnd.RESIGNED:
            return None
        return 1 - self.result.winner

    @property
    def payouts(self) -> tuple[int, ...]:
        """Return what the match moved to each seat (R11.3); empty without a stake or a result."""
        return payouts(self.result, len(self.seats), self.stake) if self.stake and self.result else ()

    def server_seed(self, deal_number: int) -> bytes:
        """Return the service's share of the seed of a deal (R2)."""
        return server_seed(self.master_seed, deal_number)

    def legal_moves(self, seat: int) -> list[Move]:
        """Return the legal moves of a seat; none unless it is to move."""
        return [] if self.deal is None or seat != self.deal.seat_to_move else legal_moves(self.deal)


def idle_until(table: TableValue) -> float | None:
    """Return until when a table with stakes may go untouched; None if it may for ever, as no seat has a stake.

    It is a full hour, so that few commits change when something is due.
    """
    stakes = table.stakes
    if stakes is None or table.state is TableState.FINISHED or not any([seat.stake for seat in table.seats]):
        return None
    return math.ceil((table.updated_at + stakes.lifetime) / _HOUR) * _HOUR


def _stakes_due_at(table: TableValue, stakes: Stakes) -> float | None:
    """Return when something becomes due for the stakes of a table; None if nothing does."""
    if stakes.releasing or (table.state is TableState.FINISHED and not stakes.settled):
        return table.updated_at
    times = [hold.reserved_until for hold in stakes.reserved]
    until = idle_until(table)
    return min(times if until is None else [*times, until], default=None)
