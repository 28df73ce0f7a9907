"""The view of a table: the view of its deal, with what the table knows of its seats."""

from collections.abc import Collection, Sequence
from typing import Final

from buraco.v1 import view_pb2
from buraco_codec.views import view_bytes
from buraco_codec.wire import Fields
from buraco_rules import Deal, Move, view_of
from buraco_service.tables.state import TableValue, Timing
from buraco_service.tables.stored_timing import to_duration

_SEAT: Final = Fields(view_pb2.SeatView)
_VIEW: Final = Fields(view_pb2.View)
_PRESENT: Final = _SEAT.present(True)
_ABSENT: Final = _SEAT.absent(True)


def table_view_bytes(
    table: TableValue, seat: int | None, now: float, moves: Sequence[Move] | None = None, present: Collection[int] = ()
) -> bytes | None:
    """Return what a seat may know of the table, or everybody (None), serialised; None until the match starts.

    `now` counts at timed tables alone, whose views have the time that is left. `moves` are the legal moves of the seat,
    if the caller has them, and `present` the seats at which a player is seen.
    """
    deal, timing = table.deal, table.timing
    if deal is None:
        return None
    facts = [_SEAT.player_name(held.player_name.encode()) if held.player_name else b"" for held in table.seats]
    if present:
        facts = [
            fact + _PRESENT if number in present and held.token_id else fact
            for number, (fact, held) in enumerate(zip(facts, table.seats, strict=True))
        ]
    if table.options.bot_levels or table.options.substitute_level:
        facts = [
            fact + _SEAT.is_bot(bool(table.bot_level(number) or held.substitute_token_id))
            for number, (fact, held) in enumerate(zip(facts, table.seats, strict=True))
        ]
    credit = _credit_field(table, seat)
    if timing is None:
        if table.options.absent_after:
            facts = [fact + _ABSENT if table.is_absent(number) else fact for number, fact in enumerate(facts)]
        return view_bytes(view_of(deal, seat, moves), facts) + credit
    times = [_time_facts(table, deal, timing, number, now) for number in range(len(table.seats))]
    data = view_bytes(view_of(deal, seat, moves), [fact + time for fact, time in zip(facts, times, strict=True)])
    if deal.ending and table.clock_due_at is not None:
        data += _VIEW.confirmation_remaining(to_duration(max(0.0, table.clock_due_at - now)).SerializeToString())
    return data + credit


def _credit_field(table: TableValue, seat: int | None) -> bytes:
    """Return the field of a seat's View with the credits of its player, if that is who staked for the seat.

    They are not for a bot that plays for the player.
    """
    if table.stakes is None or seat is None or table.seats[seat].substitute_token_id:
        return b""
    held = table.seats[seat]
    is_own = held.stake is not None and held.stake.account_id == held.player_id
    return view_pb2.View(credit=held.stake.credit).SerializeToString() if held.stake and is_own else b""


def _time_facts(table: TableValue, deal: Deal, timing: Timing, number: int, now: float) -> bytes:
    """Return the fields of a SeatView that the clock fills."""
    seat, turn_time = timing.seats[number], table.options.turn_time
    message = view_pb2.SeatView(confirmed=seat.confirmed, absent=table.is_absent(number))
    if turn_time:
        reserve = seat.reserve
        if number == deal.seat_to_move and not deal.ending and not table.is_deserted:
            left = timing.began_at + turn_time - now
            message.clock_remaining.CopyFrom(to_duration(min(turn_time, max(0.0, left))))
            reserve = max(0.0, reserve + min(0.0, left))
        message.reserve_remaining.CopyFrom(to_duration(reserve))
    return message.SerializeToString()
