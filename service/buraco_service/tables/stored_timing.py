"""Options and clocks of a table as messages: stored, and as everybody may see them."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from buraco.v1 import table_pb2
from buraco_codec.scores import score_to_pb
from buraco_rules import score_deal
from buraco_service.tables.state import (
    NO_OPTIONS,
    ChatMode,
    SeatTiming,
    SpectatorPolicy,
    TableAccess,
    TableOptions,
    TableValue,
    Timing,
)


def options_to_pb(options: TableOptions) -> table_pb2.TableOptions | None:
    """Return options as a message; None if nothing was chosen."""
    if options == NO_OPTIONS:
        return None
    message = table_pb2.TableOptions(absent_after_turns=options.absent_after_turns, player_ids=options.player_ids)
    if options.access is not TableAccess.PUBLIC:
        message.access = table_pb2.TableAccess.ValueType(options.access)
    if options.turn_time:
        message.turn_time.CopyFrom(to_duration(options.turn_time))
        message.absence = table_pb2.ABSENCE_POLICY_WAIT
    if options.reserve_time:
        message.reserve_time.CopyFrom(to_duration(options.reserve_time))
    if options.confirmation_time:
        message.confirmation_time.CopyFrom(to_duration(options.confirmation_time))
    if options.spectators is not SpectatorPolicy.ALLOWED:
        message.spectators = table_pb2.SpectatorPolicy.ValueType(options.spectators)
    if options.spectator_delay:
        message.spectator_delay.CopyFrom(to_duration(options.spectator_delay))
    if options.chat is not ChatMode.ALL:
        message.chat = table_pb2.ChatMode.ValueType(options.chat)
    return message


def options_from_pb(message: table_pb2.TableOptions) -> TableOptions:
    """Return the options of a stored message."""
    return TableOptions(
        turn_time=_seconds(message.turn_time),
        reserve_time=_seconds(message.reserve_time),
        confirmation_time=_seconds(message.confirmation_time),
        absent_after_turns=message.absent_after_turns,
        access=TableAccess(message.access or TableAccess.PUBLIC),
        player_ids=tuple(message.player_ids),
        spectators=SpectatorPolicy(message.spectators or SpectatorPolicy.ALLOWED),
        spectator_delay=_seconds(message.spectator_delay),
        chat=ChatMode(message.chat or ChatMode.ALL),
    )


def timing_to_pb(timing: Timing) -> table_pb2.StoredTiming:
    """Return what a store keeps of a table's clock."""
    return table_pb2.StoredTiming(
        began_at=to_timestamp(timing.began_at),
        seats=[
            table_pb2.StoredSeatTiming(
                reserve_millis=round(seat.reserve * 1000), missed_turns=seat.missed_turns, confirmed=seat.confirmed
            )
            for seat in timing.seats
        ],
    )


def timing_from_pb(message: table_pb2.StoredTiming) -> Timing:
    """Return the clock of a stored table."""
    return Timing(
        from_timestamp(message.began_at),
        tuple([SeatTiming(seat.reserve_millis / 1000, seat.missed_turns, seat.confirmed) for seat in message.seats]),
    )


def put_timing(table: TableValue, message: table_pb2.Table) -> None:
    """Add to a message what everybody may see of the options and the clock."""
    options = options_to_pb(table.options)
    if options is not None:
        message.options.CopyFrom(options)
    timing, deal, due_at = table.timing, table.deal, table.clock_due_at
    if timing is None or deal is None:
        return
    for seat in message.seats:
        seat.absent = table.is_absent(seat.seat)
    expires_at = message.turn_expires_at
    if deal.ending:
        awaiting = message.awaiting_confirmation
        awaiting.deal_number = deal.match.deal_number
        awaiting.score.CopyFrom(score_to_pb(score_deal(deal)))
        awaiting.confirmed_seats.extend([number for number, seat in enumerate(timing.seats) if seat.confirmed])
        expires_at = awaiting.expires_at
    if due_at is not None:
        expires_at.CopyFrom(to_timestamp(due_at))


def to_timestamp(seconds: float) -> Timestamp:
    """Return a time as a message, in whole microseconds."""
    whole, micros = divmod(round(seconds * 1e6), 1_000_000)
    return Timestamp(seconds=whole, nanos=micros * 1000)


def from_timestamp(timestamp: Timestamp) -> float:
    """Return the time of a message, in seconds since the epoch."""
    return timestamp.seconds + timestamp.nanos / 1e9


def to_duration(seconds: float) -> Duration:
    """Return a time span as a message, in whole milliseconds."""
    whole, millis = divmod(round(seconds * 1000), 1000)
    return Duration(seconds=whole, nanos=millis * 1_000_000)


def _seconds(duration: Duration) -> float:
    return duration.seconds + duration.nanos / 1e9
