"""What can happen to a table: pure functions from a table to the table after it, or an error that says why not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from buraco_rules import (
    VIOLATION_TEXT,
    Deal,
    IllegalMove,
    Match,
    MatchResult,
    Move,
    Phase,
    Problem,
    Violation,
    apply_for,
    deal_match,
    mix_seed,
    next_match,
    undo,
)
from buraco_rules.events import Dealt, Event, MatchEnded, WildMoved
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.tables.offers import OfferEvent, offers_of, withdraw_offers
from buraco_service.tables.players import check_can_join
from buraco_service.tables.state import Seat, TableState, TableValue

FREE_REVERSALS: Final = 256
REVERSALS_A_TURN: Final = 16
MAX_REVERSALS: Final = 100_000
"""Bounds of a deal: without them one player could make its record larger than a store takes."""


@dataclass(frozen=True, slots=True)
class SeatChanged:
    """A player took a seat, or gave it back (an empty name)."""

    seat: int
    player_name: str
    player_id: str = ""
    removed: bool = False
    """The creator of the table has removed the player."""


@dataclass(frozen=True, slots=True)
class TurnTimedOut:
    """The clock ran out for a seat, and the turn is finished for it."""

    seat: int
    absent: bool
    """The seat is absent now."""


@dataclass(frozen=True, slots=True)
class ConfirmationAwaited:
    """The score of a deal is shown before the next deal is dealt."""

    deal_number: int


@dataclass(frozen=True, slots=True)
class ScoreConfirmed:
    """A player confirmed the score that is shown."""

    seat: int


@dataclass(frozen=True, slots=True)
class SeatAbsent:
    """The player of a seat is absent: no stream was open with its token for too long."""

    seat: int


@dataclass(frozen=True, slots=True)
class SeatReturned:
    """The player of an absent seat is there again."""

    seat: int


@dataclass(frozen=True, slots=True)
class SubstituteJoined:
    """A bot plays for an absent player from now on."""

    seat: int
    level: str


@dataclass(frozen=True, slots=True)
class SubstituteLeft:
    """The bot that played for a player has left, and the player is still absent."""

    seat: int


OwnEvent: TypeAlias = (
    SeatChanged
    | OfferEvent
    | TurnTimedOut
    | ConfirmationAwaited
    | ScoreConfirmed
    | SeatAbsent
    | SeatReturned
    | SubstituteJoined
    | SubstituteLeft
)
"""What happened at a table that the rules do not know."""
TableEvent: TypeAlias = Event | OwnEvent
"""What happened at a table, hidden cards included."""


class Change(NamedTuple):
    """A change of a table that has been decided and not yet committed."""

    table: TableValue
    """After the change, its revision included."""
    seat: int
    """Who made it: the seat that was taken or given back, or that moved."""
    events: Sequence[TableEvent]
    moves: Sequence[Move] = ()
    undo: bool = False
    """The change took the newest move back."""
    ended: Deal | None = None
    """The deal that ended with it, or, without an ending, was cut off by the end of the match."""
    by_substitute: bool = False
    """A bot made it that plays for the seat's absent player, who stays absent."""


class RuleBroken(errors.FailedPrecondition):
    """A move that breaks the rules: FAILED_PRECONDITION with every violation; nothing was changed."""

    def __init__(self, rule_set: str, violations: Sequence[Violation], move_index: int | None = None) -> None:
        super().__init__(
            [(violation.name, VIOLATION_TEXT[violation]) for violation in violations],
            subject="" if move_index is None else f"moves[{move_index}]",
            metadata=None if move_index is None else {"moveIndex": str(move_index)},
        )
        self.rule_set = rule_set
        """The id of the rule set that is played by."""
        self.violations = tuple(violations)


def verify_seat(table: TableValue, claims: SeatClaims) -> int:
    """Return the seat that a verified token holds at the table. Raise PERMISSION_DENIED if it holds none any more.

    The token of a substitute holds none: it may do only what `verify_player_or_substitute` guards.
    """
    if claims.table_id != table.id or not 0 <= claims.seat < len(table.seats):
        raise errors.seat_not_yours()
    if not claims.token_id or table.seats[claims.seat].token_id != claims.token_id:
        raise errors.seat_not_yours(
            "the seat was given back, or belongs to a player for whom the token may not do this"
        )
    return claims.seat


def verify_player_or_substitute(table: TableValue, claims: SeatClaims) -> int:
    """Return the seat that a verified token plays at the table: its player's, or its substitute's for the time being.

    Raise PERMISSION_DENIED if it plays none any more.
    """
    return claims.seat if is_substitute(table, claims) else verify_seat(table, claims)


def is_substitute(table: TableValue, claims: SeatClaims) -> bool:
    """Return True if a verified token is that of the bot that plays for the seat's absent player."""
    if claims.table_id != table.id or not 0 <= claims.seat < len(table.seats):
        return False
    token_id = table.seats[claims.seat].substitute_token_id
    return bool(token_id) and token_id == claims.token_id


def join(
    table: TableValue,
    seat: int | None,
    player_name: str,
    entropy: bytes,
    token_id: str,
    now: float,
    player_id: str = "",
    bot_level: str = "",
) -> Change:
    """Let a player take a seat (None: the first free one). The last one starts the match.

    With `bot_level` a bot takes a seat that is kept for one of that level. Raise AlreadySeated, TABLE_FINISHED,
    TABLE_FULL, SEAT_TAKEN, BOT_SEAT, or INVALID_ARGUMENT for a seat that the table does not have.
    """
    check_can_join(table, player_id, player_name)
    check_unfinished(table)
    free = [number for number, held in enumerate(table.seats) if not held.token_id]
    open_to_caller = [number for number in free if table.bot_level(number) == bot_level]
    if not free or (seat is None and not open_to_caller):
        raise errors.failed_precondition("TABLE_FULL", "every seat is taken, or kept for a bot")
    if seat is None:
        seat = open_to_caller[0]
    check_seat(table, seat)
    if seat not in free:
        raise errors.failed_precondition("SEAT_TAKEN", "the seat is taken", {"seat": str(seat)})
    if seat not in open_to_caller:
        raise errors.failed_precondition("BOT_SEAT", "the seat is kept for a bot", {"seat": str(seat)})
    # Once the match runs, a substitute must not be able to change the deals to come.
    added = entropy if table.state is TableState.WAITING else table.seats[seat].entropy
    after = table.advanced(now, seats=replace_seat(table, seat, Seat(player_name, token_id, now, added, player_id)))
    events: list[TableEvent] = [SeatChanged(seat, player_name, player_id)]
    if after.state is TableState.WAITING and len(free) == 1:
        match = Match(target_score=table.target_score, starter=table.first_starter)
        after, dealt = _deal(after._replace(state=TableState.PLAYING), match)
        events.append(dealt)
    return Change(after, seat, events)


def check_seat(table: TableValue, seat: int) -> None:
    """Raise INVALID_ARGUMENT for a seat that the table does not have."""
    if not 0 <= seat < len(table.seats):
        raise errors.invalid_argument([Problem("seat", f"must be 0 to {len(table.seats) - 1}")])


def leave(table: TableValue, seat: int, now: float) -> Change:
    """Let a player give the seat back; in a running match it waits for a substitute. Raise TABLE_FINISHED."""
    check_unfinished(table)
    left = Seat(entropy=table.seats[seat].entropy) if table.state is TableState.PLAYING else Seat()
    after, withdrawn = withdraw_offers(table, *offers_of(table, seat))
    seats = replace_seat(table, seat, left)
    return Change(after.advanced(now, seats=seats), seat, [SeatChanged(seat, ""), *withdrawn])


def submit(table: TableValue, seat: int, moves: Iterable[Move], now: float) -> Change:
    """Apply moves of one seat, all or none. The next deal follows on one that ends, unless its score is shown first.

    A seat that begins a turn withdraws its offers.

    Raise RuleBroken, TABLE_FINISHED, TABLE_NOT_PLAYING, AWAITING_CONFIRMATION or TOO_MANY_REVERSALS.
    """
    deal = running_deal(table)
    events: list[TableEvent] = []
    if table.offers and deal.phase is Phase.DRAW:
        table, withdrawn = withdraw_offers(table, *offers_of(table, seat))
        events += withdrawn
    applied: list[Move] = []
    for index, move in enumerate(moves):
        if deal.ending:
            raise RuleBroken(table.rules.id, [Violation.DEAL_OVER], index)
        try:
            deal, happened = apply_for(deal, seat, move)
        except IllegalMove as illegal:
            raise RuleBroken(table.rules.id, illegal.violations, index) from None
        events += happened
        applied.append(move)
    reversals = sum([isinstance(event, WildMoved) and event.meld.wild_index is not None for event in events])
    after = _count_reversals(table.advanced(now, deal=deal), reversals)
    if not deal.ending:
        return Change(after, seat, events, applied)
    last = events[-1]
    if isinstance(last, MatchEnded):
        after = after._replace(state=TableState.FINISHED, result=MatchResult(last.winner, last.scores), offers=())
    elif table.options.confirmation_time:
        events.append(ConfirmationAwaited(deal.match.deal_number))
    else:
        after, dealt = deal_next(after, deal)
        events.append(dealt)
    return Change(after, seat, events, applied, ended=deal)


def deal_next(table: TableValue, ended: Deal) -> tuple[TableValue, Dealt]:
    """Return the table with the deal that follows one that has ended, dealt by the table's newest revision."""
    return _deal(table, next_match(ended))


def undo_move(table: TableValue, seat: int, now: float) -> Change:
    """Undo the newest play of the seat's turn (R11.4). Raise what `submit` raises."""
    deal = running_deal(table)
    if seat != deal.seat_to_move:
        raise RuleBroken(table.rules.id, [Violation.NOT_YOUR_TURN])
    try:
        before, events = undo(deal)
    except IllegalMove as illegal:
        raise RuleBroken(table.rules.id, illegal.violations) from None
    return Change(_count_reversals(table.advanced(now, deal=before), 1), seat, events, undo=True)


def running_deal(table: TableValue) -> Deal:
    """Return the deal that is being played.

    Raise TABLE_FINISHED, TABLE_NOT_PLAYING or AWAITING_CONFIRMATION if there is none.
    """
    check_unfinished(table)
    if table.deal is None:
        raise errors.failed_precondition("TABLE_NOT_PLAYING", "the match starts when every seat is taken")
    if table.deal.ending:
        raise errors.failed_precondition("AWAITING_CONFIRMATION", "the next deal waits until the score is confirmed")
    return table.deal


def check_unfinished(table: TableValue) -> None:
    """Raise TABLE_FINISHED if the match is over."""
    if table.state is TableState.FINISHED:
        raise errors.failed_precondition("TABLE_FINISHED", "the match is over")


def _count_reversals(table: TableValue, count: int) -> TableValue:
    """Return the table with so many more reversals: the only changes that the rules allow any number of in a turn.

    Wilds moved to their natural place are not counted: they stay there, and the last card of a hand may need the move
    (R3.6). Raise TOO_MANY_REVERSALS.
    """
    if count == 0 or table.deal is None:
        return table
    reversals = table.reversals + count
    allowed = FREE_REVERSALS + REVERSALS_A_TURN * table.deal.turn.number
    if reversals > min(allowed, MAX_REVERSALS):
        message = "too many wilds were moved to and fro and too many plays taken back in this deal: play on"
        raise errors.failed_precondition("TOO_MANY_REVERSALS", message)
    return table._replace(reversals=reversals)


def _deal(table: TableValue, match: Match) -> tuple[TableValue, Dealt]:
    """Return the table with the next deal of the match, dealt by the table's newest revision."""
    seed = mix_seed(table.server_seed(match.deal_number), table.entropies)
    deal, dealt = deal_match(table.rules, len(table.seats), seed, match)
    return table._replace(deal=deal, deal_revision=table.revision, reversals=0), dealt


def replace_seat(table: TableValue, number: int, seat: Seat) -> tuple[Seat, ...]:
    """Return the seats of a table with one replaced."""
    return (*table.seats[:number], seat, *table.seats[number + 1 :])
