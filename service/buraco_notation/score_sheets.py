"""The score of a deal as lines for people: what every line counts, side by side, and how the deal ended."""

import textwrap
from collections.abc import Sequence
from typing import Final

from buraco_notation.cards import format_cards
from buraco_rules import Deal, Ending, ScoreLine, ScoreLineKind, SideScore, score_deal

_LABELS: Final = {
    ScoreLineKind.MELD_CARDS: "meld",
    ScoreLineKind.BURACO: "buraco",
    ScoreLineKind.CLOSING: "closing",
    ScoreLineKind.HAND: "hand",
    ScoreLineKind.NO_POT: "no pot",
    ScoreLineKind.UNUSED_POT: "unused pot",
    ScoreLineKind.OPENING_PENALTIES: "failed openings",
}
_LABEL_WIDTH: Final = max(map(len, _LABELS.values()))
_CARDS_WIDTH: Final = 70
"""Columns for the cards of a line; more of them go on in the next."""
_POINTS_COLUMN: Final = 65


def format_score_sheet(deal: Deal, players: Sequence[str] = ()) -> str:
    """Return the score sheet of a deal, line by line (R9.1), at most 100 columns wide but for long names of players.

    Of a running deal it is what would be counted if the deal ended now. `players` are the names by seat, if known.

    >>> from buraco_notation import parse_position
    >>> position = "rules: open | hand 0: 9c | hand 1: - | melds 0: 3s 4s [2d] 6s | side 1: pots 1"
    >>> print(format_score_sheet(parse_position(position, verify=False), ["Ann", "Bob"]))
      side 0: Ann (seat 0)
        meld             3s 4s 2d 6s                                     25
        hand             seat 0: 9c                                     -10
        no pot                                                         -100
        total                                                           -85   match -85
      side 1: Bob (seat 1)
        total                                                             0   match 0
    """
    lines = []
    for side in score_deal(deal).sides:
        lines.append(f"  {format_side(side.side, players)}")
        for line in side.lines:
            first, *others = textwrap.wrap(_format_cards_of(deal, side, line), _CARDS_WIDTH) or [""]
            label = f"    {_LABELS[line.kind]:{_LABEL_WIDTH}}  "
            lines.append(format_points(label + first, line.points))
            lines += [" " * len(label) + other for other in others]
        lines.append(f"{format_points('    total', side.total)}   match {side.match_total}")
    return "\n".join(lines)


def format_points(text: str, points: int) -> str:
    """Return a text and points in the column of a score sheet.

    >>> format_points("side 0: Ann (seat 0)", 530)
    'side 0: Ann (seat 0)                                                530'
    """
    return f"{text:{_POINTS_COLUMN}}{points:6}"


def format_side(side: int, players: Sequence[str] = ()) -> str:
    """Return a side with its players by name and seat.

    >>> format_side(1), format_side(1, ["Ann", "Bob", "Cy", "Di"])
    ('side 1', 'side 1: Bob (seat 1), Di (seat 3)')
    """
    names = ", ".join([f"{name} (seat {seat})" for seat, name in enumerate(players) if seat % 2 == side])
    return f"side {side}: {names}" if names else f"side {side}"


def format_ending(deal: Deal, players: Sequence[str] = ()) -> str:
    """Return how a deal ended, and by whom, or that it goes on. `players` are the names by seat, if known.

    >>> from buraco_notation import parse_position
    >>> deal = parse_position("rules: open | turn: 8 over closed", verify=False)
    >>> format_ending(deal), format_ending(deal, ["Ann", "Bob"])
    ('closed by seat 1', 'closed by seat 1 (Bob)')
    """
    seat = f"seat {deal.seat_to_move}" + (f" ({players[deal.seat_to_move]})" if players else "")
    return {
        Ending.NONE: "the deal goes on",
        Ending.CLOSED: f"closed by {seat}",
        Ending.STOCK: "the stock ran out",
        Ending.MAX_TURNS: "the limit of turns was reached",
        Ending.TWOS_BURACO: f"match won by {seat} with a buraco of 2s",
    }[deal.ending]


def _format_cards_of(deal: Deal, side: SideScore, line: ScoreLine) -> str:
    """Return the cards that a line counts, and whose or of which buraco they are; empty if it counts none."""
    if line.seat is not None:
        return f"seat {line.seat}: {format_cards(deal.hands[line.seat])}"
    if line.meld is None:
        return ""
    kind = f"{line.buraco.name.lower().replace('_', '-')}: " if line.buraco else ""
    return kind + format_cards(side.melds[line.meld].cards)
