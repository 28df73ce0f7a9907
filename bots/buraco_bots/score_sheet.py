"""The result of a match as lines of text: the score sheet of every deal, totals, winner and pace."""

from __future__ import annotations

from collections.abc import Iterator

from buraco_bots.report import MatchReport
from buraco_notation import format_ending, format_points, format_score_sheet, format_side


def format_match(report: MatchReport) -> Iterator[str]:
    """Yield the score sheet of every deal, then the result."""
    for deal in report.deals:
        ending = format_ending(deal.end, report.bots)
        yield f"Deal {deal.number}: {ending}, {deal.end.turn.number} turns, {deal.moves} moves"
        yield format_score_sheet(deal.end, report.bots)
    yield ""
    for side, total in enumerate(report.totals):
        yield format_points(format_side(side, report.bots), total)
    winner = "nobody: a draw" if report.winner is None else format_side(report.winner, report.bots)
    yield f"Winner: {winner}"
    yield (
        f"{len(report.deals)} deals, {report.moves} moves in {report.seconds:.1f} s"
        f" ({report.moves_per_second:.0f} moves/s); seed {report.seed!r}"
    )
