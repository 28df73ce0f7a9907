"""The end of a match before it is played to its end."""

from collections.abc import Iterable

from buraco_rules import MatchResult, Phase
from buraco_rules.events import MatchEnded
from buraco_service.tables.changes import Change, TableEvent, running_deal
from buraco_service.tables.state import MatchEnd, TableState, TableValue


def cut_off_match(
    table: TableValue, seat: int, events: Iterable[TableEvent], how: MatchEnd, winner: int | None, now: float
) -> Change:
    """End a match with the scores of the finished deals; the running one is cut off. `events` come before that.

    Raise what `running_deal` raises.
    """
    deal = running_deal(table)
    # What else binds the turn stays: it hides a part of a closed pile.
    cut_off = deal._replace(phase=Phase.OVER, turn=deal.turn._replace(undo=()))
    scores = deal.match.scores
    after = table.advanced(now, deal=cut_off)._replace(
        state=TableState.FINISHED, result=MatchResult(winner, scores), how=how, offers=()
    )
    return Change(after, seat, [*events, MatchEnded(winner, scores)], ended=cut_off)
