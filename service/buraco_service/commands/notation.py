"""`buraco replay` and `buraco explain`: recorded matches and positions, for people to read."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import click

from buraco_notation import (
    NotationError,
    format_ending,
    format_move,
    format_position,
    format_record,
    format_score_sheet,
    parse_move,
    parse_position,
)
from buraco_rules import (
    VIOLATION_TEXT,
    Deal,
    DealRecord,
    DrawStock,
    IllegalMove,
    MatchRecord,
    Move,
    Phase,
    ReplayedMove,
    RuleSet,
    TakePile,
    apply,
    match_result,
    normalise_move,
    replay_deal,
    score_deal,
)
from buraco_rules.events import Event
from buraco_service.commands.record_files import BadRecord, format_problems, read_record_file
from buraco_service.commands.table_text import (
    format_hands,
    format_legal_moves,
    format_pots_and_openings,
    format_table,
    format_turn,
    wrap,
)
from buraco_service.commands.wording import describe_event

_Parsed = TypeVar("_Parsed")

STDIN: Final = "-"
ILLEGAL: Final = 1
"""Exit code for a move that is illegal."""


class BadInput(click.ClickException):
    """Input that cannot be read: exit code 2."""

    exit_code = 2


class Place(NamedTuple):
    """A place in a deal."""

    turn: int
    """Its number, as records count turns."""
    moves: int
    """How many moves of the turn were made before."""


def _parse_place(_: click.Context, __: click.Parameter, value: str | None) -> Place | None:
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?", value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not a turn, such as 12, or 12.1 after one of its moves")
    return Place(int(found[1]), int(found[2] or 0))


@click.command()
@click.argument("file")
@click.option("--deal", "number", type=click.IntRange(min=1), help="Only the deal of this number.")
@click.option("--quiet", is_flag=True, help="Only the scores.")
@click.option("--notation", is_flag=True, help="Only the record in its text notation, whatever the form of FILE.")
@click.option(
    "--position",
    "place",
    metavar="TURN[.MOVES]",
    callback=_parse_place,
    help="Only the position in this turn, after so many of its moves, as `buraco explain` takes it.",
)
def replay(file: str, number: int | None, quiet: bool, notation: bool, place: Place | None) -> None:
    """Print a recorded match turn by turn.

    FILE is a record in text notation, or an answer of GetRecord as JSON or in its binary form; - is the standard input.
    Every deal is played again, so that a record that was tampered with is refused.
    """
    try:
        found = read_record_file(_read_bytes(file))
    except BadRecord as error:
        gap = "\n" if "\n" in str(error) else " "
        raise BadInput(f"{_name_of(file)}:{gap}{error}") from None
    if found.more:
        click.echo("GetRecord says that there are more deals than these.", err=True)
    record = found.record
    if number is not None:
        deals = tuple([deal for deal in record.deals if deal.deal_number == number])
        if not deals:
            numbers = ", ".join([str(deal.deal_number) for deal in record.deals])
            raise BadInput(f"{_name_of(file)}: there is no deal {number}; there are {numbers}")
        record = record._replace(deals=deals)
    if place is not None:
        _print([_position_at(record, place)])
    elif notation:
        _print(format_record(record).splitlines())
    else:
        _print(_format_match(record, quiet=quiet))


# A discard looks like an option, and -7h must not ask for help.
@click.command(
    short_help="Show a position's legal moves, or why a move is illegal.",
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
)
@click.argument("position")
@click.argument("move", required=False)
@click.pass_context
def explain(context: click.Context, position: str, move: str | None) -> None:
    """Show a position and its legal moves, or what MOVE does or why it is illegal.

    POSITION is the text of a position, or a file that holds it; - is the standard input. MOVE is in short notation:
    + and ^ draw, '=3h 4h [Jo]' is a new meld, '&2:5h' lays off on meld 2, '~2@9' moves a wild, -Kd discards.

    Exit codes: 0 fine, 1 MOVE is illegal, 2 POSITION or MOVE cannot be read.
    """
    deal = _parse(parse_position, *_read_position(position))
    played = None if move is None else _parse(parse_move, move, "MOVE")
    _print(_format_position(deal))
    if played is None:
        return
    try:
        after, events = apply(deal, played)
    except IllegalMove as illegal:
        _print(["", f"{format_move(played)} is illegal:"])
        _print([f"  {violation.name}: {VIOLATION_TEXT[violation]}" for violation in illegal.violations])
        context.exit(ILLEGAL)
    _print(_format_effects(deal, played, after, events))


# ---- input -------------------------------------------------------------------------------------------


def _read_bytes(file: str) -> bytes:
    try:
        if file != STDIN:
            return Path(file).read_bytes()
        if not hasattr(sys.stdin, "buffer"):
            raise BadInput("standard input is closed")
        return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:  # ValueError: a null character in a name
        raise BadInput(f"{_name_of(file)}: {getattr(error, 'strerror', None) or error}") from None


def _name_of(file: str) -> str:
    return "standard input" if file == STDIN else file


def _read_position(position: str) -> tuple[str, str]:
    """Return the text of a position, and what to call it: the argument itself if it is not the name of a file."""
    if position != STDIN and ":" in position and not _is_file(position):
        return position, "POSITION"
    try:
        return _read_bytes(position).decode("utf-8-sig"), _name_of(position)
    except UnicodeDecodeError as error:
        raise BadInput(f"{_name_of(position)}: not UTF-8: {error.reason} at byte {error.start}") from None


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a name, or with a null character
        return False


def _parse(parse: Callable[[str], _Parsed], text: str, name: str) -> _Parsed:
    try:
        return parse(text)
    except NotationError as error:
        raise BadInput(f"{name}:\n{format_problems(text, error)}") from None


# ---- output ------------------------------------------------------------------------------------------


def _print(lines: Iterable[str]) -> None:
    """Print lines; characters that the terminal's encoding lacks are escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    for line in lines:
        click.echo(line.encode(encoding, "backslashreplace").decode(encoding))


def _format_game(rules: RuleSet, seats: int, target: int) -> str:
    return f"{rules.display_name} ({rules.id}), {seats} seats, {f'to {target}' if target else 'one deal'}"


def _format_match(record: MatchRecord, *, quiet: bool) -> Iterator[str]:
    yield _format_game(record.rules, record.seats, record.target_score)
    for number in range(2 if record.players else 0):
        names = [f"{name} (seat {seat})" for seat, name in enumerate(record.players) if seat % 2 == number]
        yield from wrap(f"side {number}", names)
    for deal in record.deals:
        yield ""
        yield from _format_deal(record, deal, quiet=quiet)


def _format_deal(record: MatchRecord, deal: DealRecord, *, quiet: bool) -> Iterator[str]:
    steps = list(replay_deal(record, deal))
    dealt, end = steps[0].before, steps[-1].after
    yield f"Deal {deal.deal_number}, {deal.scores[0]} to {deal.scores[1]}: seat {dealt.starter} starts"
    if not quiet:
        yield from format_hands(dealt)
        yield from format_table(dealt)
        for turn in _split_turns(steps):
            yield ""
            yield from _format_turn(record, turn)
    yield from _format_end(end)
    result = match_result(end)
    if result is not None:
        yield "The match is over: " + ("a draw" if result.winner is None else f"side {result.winner} wins")


def _format_end(end: Deal) -> Iterator[str]:
    yield f"The deal is over after {end.turn.number} turns: {format_ending(end)}"
    yield format_score_sheet(end)


def _position_at(record: MatchRecord, place: Place) -> str:
    if len(record.deals) > 1:
        raise click.UsageError(f"say which of the {len(record.deals)} deals: --deal NUMBER")
    for turn in _split_turns(list(replay_deal(record, record.deals[0]))):
        if turn[0].before.turn.number == place.turn:
            if place.moves >= len(turn):
                raise BadInput(
                    f"turn {place.turn} has {len(turn)} moves: {place.turn}.0 to {place.turn}.{len(turn) - 1}"
                )
            return format_position(turn[place.moves].before)
    raise BadInput(f"there is no turn {place.turn}")


def _split_turns(steps: list[ReplayedMove]) -> Iterator[list[ReplayedMove]]:
    turn: list[ReplayedMove] = []
    for step in steps:
        if turn and isinstance(step.move, DrawStock | TakePile):
            yield turn
            turn = []
        turn.append(step)
    yield turn


def _format_turn(record: MatchRecord, turn: list[ReplayedMove]) -> Iterator[str]:
    before, after = turn[0].before, turn[-1].after
    seat = before.seat_to_move
    player = f" ({record.players[seat]})" if record.players else ""
    yield f"Turn {before.turn.number}, seat {seat}{player}"
    yield from _format_events(chain.from_iterable([step.events for step in turn]))
    yield from format_table(after)


def _format_events(events: Iterable[Event]) -> Iterator[str]:
    for words in filter(None, map(describe_event, events)):
        yield from wrap("", words.split(" "), gap=" ")


def _format_position(deal: Deal) -> Iterator[str]:
    match = deal.match
    yield _format_game(deal.rules, deal.seats, match.target_score)
    yield f"Deal {match.deal_number}, {match.scores[0]} to {match.scores[1]}"
    yield from format_hands(deal)
    yield from format_table(deal)
    yield from format_pots_and_openings(deal)
    yield ""
    if deal.phase is Phase.OVER:
        yield from _format_end(deal)
        return
    yield from format_turn(deal)
    yield from format_legal_moves(deal)


def _format_effects(deal: Deal, move: Move, after: Deal, events: Iterable[Event]) -> Iterator[str]:
    normal = normalise_move(deal, move)
    same = "" if normal == move else f", the same as {format_move(normal)}"
    yield ""
    yield f"{format_move(move)} is legal{same}:"
    yield from _format_events(events)
    yield "  score as if the deal ended now:" if after.phase is not Phase.OVER else "  score:"
    for old, new in zip(score_deal(deal).sides, score_deal(after).sides, strict=True):
        yield f"    side {new.side}: {old.total} -> {new.total} ({new.total - old.total:+d})"
