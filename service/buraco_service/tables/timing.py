"""Clocks and the confirmation of scores: pure functions from a table to what time makes of it.

A table says itself when its clock has something to do (`TableValue.clock_due_at`), and its store lists it by the time
when anything is due. Whoever finds it there decides by `due_change` and commits by compare-and-swap: however many
replicas look, it happens once.
"""

from buraco_rules import Deal
from buraco_service import errors
from buraco_service.tables import changes
from buraco_service.tables.changes import Change, ScoreConfirmed, SeatReturned, TableEvent, TurnTimedOut
from buraco_service.tables.finishing import finish_turn
from buraco_service.tables.state import SeatTiming, TableState, TableValue, Timing


class AlreadyConfirmed(errors.FailedPrecondition):
    """The seat has confirmed the score before: nothing is left to do. No caller gets this as an error."""

    def __init__(self, table: TableValue) -> None:
        super().__init__([("SCORE_NOT_SHOWN", "the seat has confirmed this score before")])
        self.table = table


def confirm_score(table: TableValue, seat: int, now: float, *, deal_number: int) -> Change:
    """Confirm the score of a deal for a seat. Raise SCORE_NOT_SHOWN or AlreadyConfirmed."""
    timing, deal = table.timing, table.deal
    if timing is None or deal is None or not deal.ending or deal.match.deal_number != deal_number:
        message = "the score of this deal is not shown: it is not over, or the match went on"
        raise errors.failed_precondition("SCORE_NOT_SHOWN", message, {"dealNumber": str(deal_number)})
    if timing.seats[seat].confirmed:
        raise AlreadyConfirmed(table)
    after = table.advanced(now)._replace(timing=_with_seat(timing, seat, timing.seats[seat]._replace(confirmed=True)))
    return Change(after, seat, [ScoreConfirmed(seat)])


def come_back(table: TableValue, seat: int, now: float) -> Change | None:
    """Return what makes an absent seat present again; None if it is."""
    return Change(table.advanced(now), seat, [SeatReturned(seat)]) if table.is_absent(seat) else None


def due_change(table: TableValue, now: float) -> Change | None:
    """Return what the clock does at a table now: it finishes the turn, or deals on. None if nothing is due."""
    deal, due_at = table.deal, table.clock_due_at
    if deal is None or due_at is None or due_at > now:
        return None
    seat = deal.seat_to_move
    if deal.ending:
        after, dealt = changes.deal_next(table.advanced(now), deal)
        return Change(after, seat, [dealt])
    played = changes.submit(table, seat, finish_turn(deal), now)
    timing = played.table.timing
    assert timing is not None, "or nothing would be due"
    missed = timing.seats[seat]._replace(missed_turns=timing.seats[seat].missed_turns + 1)
    after = played.table._replace(timing=_with_seat(timing, seat, missed))
    return played._replace(table=after, events=[TurnTimedOut(seat, after.is_absent(seat)), *played.events])


def keep_time(before: TableValue, change: Change, *, by_clock: bool) -> Change:
    """Return a change of a timed table with the clock brought up to date: every change goes through this, once.

    A turn that has begun gets its time; one that has ended is charged to the reserve of its seat. Who does something is
    not absent, and sets a clock going that stood still. When all players have confirmed the score, the next deal is
    dealt.
    """
    after, old, deal = change.table, before.deal, change.table.deal
    if deal is None or after.state is not TableState.PLAYING:
        return change._replace(table=after._replace(timing=None))
    timing = after.timing
    if timing is None or old is None:
        fresh = SeatTiming(after.options.reserve_time)
        return _with_timing(change, Timing(after.updated_at, (fresh,) * len(after.seats)))
    if not by_clock:
        own = timing.seats[change.seat]
        stays = before.seats[change.seat].token_id == after.seats[change.seat].token_id
        timing = _with_seat(timing, change.seat, own._replace(missed_turns=0, confirmed=own.confirmed and stays))
    if before.is_deserted:
        timing = timing._replace(began_at=after.updated_at)
    if deal.ending and _is_confirmed(after, timing):
        after, dealt = changes.deal_next(after, deal)
        events: list[TableEvent] = [*change.events, dealt]
        change, deal = change._replace(table=after, events=events), after.deal or deal
    if _turn_of(deal) != _turn_of(old):
        timing = _begin_turn(after, timing, old)
    return _with_timing(change, timing)


def _begin_turn(after: TableValue, timing: Timing, ended: Deal) -> Timing:
    """Return the timing at the beginning of a turn, or of a confirmation; `ended` is the deal before."""
    used, turn_time = after.updated_at - timing.began_at, after.options.turn_time
    if turn_time and not ended.ending and used > turn_time:
        mover = timing.seats[ended.seat_to_move]
        reserve = max(0.0, round(mover.reserve - (used - turn_time), 3))
        timing = _with_seat(timing, ended.seat_to_move, mover._replace(reserve=reserve))
    return Timing(after.updated_at, tuple([seat._replace(confirmed=False) for seat in timing.seats]))


def _is_confirmed(table: TableValue, timing: Timing) -> bool:
    """Return True if all players at the table have confirmed the score, and there are any."""
    confirmed = [timing.seats[number].confirmed for number, seat in enumerate(table.seats) if seat.token_id]
    return bool(confirmed) and all(confirmed)


def _turn_of(deal: Deal) -> tuple[int, int, int]:
    """Return what distinguishes the turn of a deal, or the time after its end, from all others of the match."""
    return deal.match.deal_number, deal.turn.number, int(deal.ending)


def _with_timing(change: Change, timing: Timing) -> Change:
    return change._replace(table=change.table._replace(timing=timing))


def _with_seat(timing: Timing, number: int, seat: SeatTiming) -> Timing:
    return timing._replace(seats=(*timing.seats[:number], seat, *timing.seats[number + 1 :]))
