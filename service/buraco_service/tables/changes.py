"""What can happen to a table: pure functions from a table to the table after it, or an error that says why not."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from buraco.v1 import event_pb2
from buraco_codec.events import event_bytes
from buraco_rules import (
    VIOLATION_TEXT,
    Deal,
    IllegalMove,
    Match,
    MatchResult,
    Move,
    Problem,
    RuleSet,
    Violation,
    apply_for,
    commitment,
    deal_match,
    mixed_seed,
    next_match,
    payouts,
    server_seed,
    undo,
)
from buraco_rules.events import DealEnded, Dealt, Event, MatchEnded, WildMoved
from buraco_service import errors
from buraco_service.tables.entries import Entry, seat_move
from buraco_service.tables.state import Seat, TableState, TableValue

FREE_REVERSALS: Final = 256
REVERSALS_A_TURN: Final = 16
MOST_REVERSALS: Final = 100_000
"""Bounds of a deal: without them one player could make its record larger than a store takes."""


class Change(NamedTuple):
    """A change of a table that has been decided and not yet committed."""

    table: TableValue
    """After the change, its revision included."""
    entry: Entry
    ended: Deal | None = None
    """The deal that ended by it."""


class RuleBroken(errors.ApiError):
    """A move that breaks the rules: FAILED_PRECONDITION with every violation; nothing was changed."""

    def __init__(self, violations: Sequence[Violation], move_index: int | None = None) -> None:
        broken = errors.rule_broken(
            [(violation.name, VIOLATION_TEXT[violation]) for violation in violations],
            subject="" if move_index is None else f"moves[{move_index}]",
            metadata=None if move_index is None else {"moveIndex": str(move_index)},
        )
        super().__init__(
            broken.code,
            broken.reason,
            broken.message,
            broken.metadata,
            precondition_violations=broken.precondition_violations,
        )
        self.violations = tuple(violations)


def opened(
    table_id: str,
    rules: RuleSet,
    seats: int,
    *,
    target_score: int,
    stake: int,
    now: float,
    master_seed: bytes,
    seeded_by_creator: bool,
) -> TableValue:
    """A new table that waits for players."""
    return TableValue(
        id=table_id,
        rules=rules,
        seats=(Seat(),) * seats,
        target_score=target_score,
        stake=stake,
        created_at=now,
        updated_at=now,
        master_seed=master_seed,
        seeded_by_creator=seeded_by_creator,
        request_ids_bound_since=1,
    )


def join(table: TableValue, seat: int | None, player_name: str, entropy: bytes, token_id: str, now: float) -> Change:
    """A player takes a seat (None: the first free one); the last one starts the match."""
    if table.state is TableState.FINISHED:
        raise errors.failed_precondition("TABLE_FINISHED", "the match is over")
    free = [number for number, held in enumerate(table.seats) if not held.token_id]
    if not free:
        raise errors.failed_precondition("TABLE_FULL", "every seat is taken")
    if seat is None:
        seat = free[0]
    elif not 0 <= seat < len(table.seats):
        problem = f"must be 0 to {len(table.seats) - 1}"
        raise errors.invalid_argument([Problem("seat", problem)])
    elif seat not in free:
        raise errors.failed_precondition("SEAT_TAKEN", "the seat is taken", {"seat": str(seat)})
    # Once the match runs, a substitute must not be able to change the deals to come.
    added = entropy if table.state is TableState.WAITING else table.seats[seat].entropy
    joined = table.advanced(now, seats=_with_seat(table, seat, Seat(player_name, token_id, now, added)))
    events = [_seat_changed(seat, player_name)]
    if joined.state is TableState.WAITING and len(free) == 1:
        match = Match(target_score=table.target_score, starter=-1)
        joined, dealt = _dealt(joined._replace(state=TableState.PLAYING), match)
        events.append(dealt)
    return Change(joined, Entry(joined.revision, tuple(events)))


def leave(table: TableValue, seat: int, now: float) -> Change:
    """A player gives the seat back; in a running match it waits for a substitute."""
    if table.state is TableState.FINISHED:
        raise errors.failed_precondition("TABLE_FINISHED", "the match is over")
    kept = Seat(entropy=table.seats[seat].entropy) if table.state is TableState.PLAYING else Seat()
    left = table.advanced(now, seats=_with_seat(table, seat, kept))
    return Change(left, Entry(left.revision, (_seat_changed(seat, ""),)))


def submit(table: TableValue, seat: int, moves: Iterable[Move], now: float) -> Change:
    """Moves of one seat, all or none. A deal that ends is followed by the next one at once."""
    deal = running_deal(table)
    events: list[Event] = []
    played: list[bytes] = []
    for index, move in enumerate(moves):
        if deal.ending:
            raise RuleBroken([Violation.DEAL_OVER], index)
        try:
            deal, happened = apply_for(deal, seat, move)
        except IllegalMove as illegal:
            raise RuleBroken(illegal.violations, index) from None
        events += happened
        played.append(seat_move(seat, move))
    to_and_fro = sum([isinstance(event, WildMoved) and event.meld.wild_index is not None for event in events])
    after = _reversed(table.advanced(now, deal=deal), to_and_fro)
    told = [_told(event, table) for event in events]
    if not deal.ending:
        return Change(after, Entry(after.revision, tuple(told), tuple(played)))
    last = events[-1]
    if isinstance(last, MatchEnded):
        after = after._replace(state=TableState.FINISHED, result=MatchResult(last.winner, last.scores))
    else:
        after, dealt = _dealt(after, next_match(deal))
        told.append(dealt)
    return Change(after, Entry(after.revision, tuple(told), tuple(played)), ended=deal)


def take_back(table: TableValue, seat: int, now: float) -> Change:
    """The newest play of the seat's turn is taken back (R11.4)."""
    deal = running_deal(table)
    if seat != deal.seat_to_move:
        raise RuleBroken([Violation.NOT_YOUR_TURN])
    try:
        before, happened = undo(deal)
    except IllegalMove as illegal:
        raise RuleBroken(illegal.violations) from None
    after = _reversed(table.advanced(now, deal=before), 1)
    return Change(after, Entry(after.revision, tuple([_told(event, table) for event in happened]), undo=True))


def running_deal(table: TableValue) -> Deal:
    """The deal that is being played. Raises where there is none."""
    if table.state is TableState.FINISHED:
        raise errors.failed_precondition("TABLE_FINISHED", "the match is over")
    if table.deal is None:
        raise errors.failed_precondition("TABLE_NOT_PLAYING", "the match starts when every seat is taken")
    return table.deal


def entropies(table: TableValue) -> tuple[bytes, ...]:
    """What each seat's player added to the shuffles."""
    return tuple(seat.entropy for seat in table.seats)


def _reversed(table: TableValue, times: int) -> TableValue:
    """The table with so many more reversals, the only changes of which the rules allow any number in a turn.

    Wilds that came home are not counted: they stay, and the last card of a hand may need the move (R3.6).
    """
    if times == 0 or table.deal is None:
        return table
    reversals = table.reversals + times
    most = FREE_REVERSALS + REVERSALS_A_TURN * table.deal.turn.number
    if reversals > min(most, MOST_REVERSALS):
        message = "too many wilds were moved to and fro and too many plays taken back in this deal: play on"
        raise errors.failed_precondition("TOO_MANY_REVERSALS", message)
    return table._replace(reversals=reversals)


def _dealt(table: TableValue, match: Match) -> tuple[TableValue, bytes]:
    """The table with the deal that `match` stands before; the change that deals it is the table's newest."""
    server = server_seed(table.master_seed, match.deal_number)
    deal, event = deal_match(table.rules, len(table.seats), mixed_seed(server, entropies(table)), match)
    return table._replace(deal=deal, deal_revision=table.revision, reversals=0), _told(event, table, server)


def _told(event: Event, table: TableValue, server: bytes = b"") -> bytes:
    """An event with what only the table knows: commitment and seed of the deal, and where the stakes go."""
    told = event_bytes(event)
    if not isinstance(event, (Dealt, DealEnded, MatchEnded)):
        return told
    message = event_pb2.Event.FromString(told)
    if isinstance(event, Dealt):
        message.dealt.commitment = commitment(server)
    elif isinstance(event, DealEnded) and table.deal is not None:
        message.deal_ended.seed = server_seed(table.master_seed, table.deal.match.deal_number)
    elif isinstance(event, MatchEnded) and table.stake:
        message.match_ended.payouts.extend(
            payouts(MatchResult(event.winner, event.scores), len(table.seats), table.stake)
        )
    return message.SerializeToString()


def _seat_changed(seat: int, player_name: str) -> bytes:
    changed = event_pb2.SeatChanged(seat=seat, player_name=player_name)
    return event_pb2.Event(seat_changed=changed).SerializeToString()


def _with_seat(table: TableValue, number: int, seat: Seat) -> tuple[Seat, ...]:
    return (*table.seats[:number], seat, *table.seats[number + 1 :])
