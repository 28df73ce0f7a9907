"""The score sheet of a match as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from buraco_bots.report import DealReport, MatchReport, meld_text
from buraco_notation import format_cards
from buraco_rules import Ending, ScoreLine, ScoreLineKind, SideScore

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
_WIDTH: Final = 64
"""Columns before the points."""


def score_sheet(report: MatchReport) -> Iterator[str]:
    """Every deal line by line, then the totals and the winner."""
    for deal in report.deals:
        ending = how_it_ended(deal, report.bots)
        yield f"Deal {deal.number}: {ending}, {deal.deal.turn.number} turns, {deal.moves} moves"
        for side in deal.sides:
            yield f"  {side_name(side.side, report.bots)}"
            for line in side.lines:
                yield _points(f"    {_LABELS[line.kind]:{_LABEL_WIDTH}}  {_what(deal, side, line)}", line.points)
            yield _points("    total", side.total) + f"   match {side.match_total}"
    yield ""
    yield from result_lines(report)


def result_lines(report: MatchReport) -> Iterator[str]:
    """Totals, winner and pace."""
    for side, total in enumerate(report.totals):
        yield _points(side_name(side, report.bots), total)
    winner = "nobody: a draw" if report.winner is None else side_name(report.winner, report.bots)
    yield f"Winner: {winner}"
    yield (
        f"{len(report.deals)} deals, {report.moves} moves in {report.seconds:.1f} s"
        f" ({report.moves_per_second:.0f} moves/s); seed {report.seed!r}"
    )


def side_name(side: int, bots: Sequence[str]) -> str:
    """A side by its players: `side 0: greedy (seat 0), greedy (seat 2)`."""
    return f"side {side}: " + ", ".join(f"{bots[seat]} (seat {seat})" for seat in range(side, len(bots), 2))


def how_it_ended(deal: DealReport, bots: Sequence[str]) -> str:
    """Why a deal ended, and by whom."""
    match deal.deal.ending:
        case Ending.CLOSED:
            return f"closed by seat {deal.deal.seat_to_move} ({bots[deal.deal.seat_to_move]})"
        case Ending.TWOS_BURACO:
            return f"match won by seat {deal.deal.seat_to_move} ({bots[deal.deal.seat_to_move]}) with a buraco of 2s"
        case Ending.STOCK:
            return "the stock ran out"
        case _:
            return "ended by the limit of turns"


def _what(deal: DealReport, side: SideScore, line: ScoreLine) -> str:
    if line.kind is ScoreLineKind.BURACO:
        return f"{line.buraco.name.lower().replace('_', '-')}: {meld_text(side, line)}"
    if line.kind is ScoreLineKind.HAND and line.seat is not None:
        return f"seat {line.seat}: {format_cards(deal.deal.hands[line.seat])}"
    return meld_text(side, line)


def _points(text: str, points: int) -> str:
    return f"{text:{_WIDTH}} {points:6}"
