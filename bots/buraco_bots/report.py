"""What a match came to, from the table's records, each of which is checked by playing it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from buraco.v1 import table_pb2
from buraco_codec.records import record_from_pb
from buraco_notation import format_cards, format_ending, format_points, format_score_sheet, format_side
from buraco_rules import (
    Deal,
    DealRecord,
    Ending,
    MatchRecord,
    SideScore,
    ValidationError,
    normalise_record,
    record_problems,
    replay_deal,
    score_deal,
)


class RecordMismatch(Exception):
    """A record does not play to the result that it states: the service or these rules are at fault."""


@dataclass(frozen=True, slots=True)
class DealReport:
    """A finished deal."""

    end: Deal
    """The deal as it ended."""
    record: DealRecord
    """What it can be played again from."""

    @property
    def number(self) -> int:
        """Its number in the match, from 1."""
        return self.record.deal_number

    @property
    def moves(self) -> int:
        """How many moves were made."""
        return len(self.record.moves)


@dataclass(frozen=True, slots=True)
class MatchReport:
    """A finished match."""

    table_id: str
    bots: tuple[str, ...]
    """One a seat."""
    rule_set: str
    target: int
    seed: str
    deals: tuple[DealReport, ...]
    winner: int | None
    """The side; None for a draw."""
    totals: tuple[int, int]
    seconds: float
    """From the first card to the last."""

    @property
    def record(self) -> MatchRecord:
        """What the match can be played again from, with the names of the bots."""
        first = self.deals[0].end
        deals = tuple([deal.record for deal in self.deals])
        return MatchRecord(first.rules, first.seats, self.target, first.match.starter, deals, self.bots)

    @property
    def moves(self) -> int:
        """How many moves were made in all deals."""
        return sum(deal.moves for deal in self.deals)

    @property
    def moves_per_second(self) -> float:
        """Moves of all seats in a second; 0 for a match that took no time."""
        return self.moves / self.seconds if self.seconds else 0.0


def replay(message: table_pb2.DealRecord) -> DealReport:
    """Play a record again, and return the deal as it ended. Raise RecordMismatch if anything in it does not agree."""
    number = message.deal_number
    try:
        record = record_from_pb([message])
    except ValidationError as error:
        raise RecordMismatch(f"deal {number}: {error}") from error
    for path, problem in record_problems(record):
        raise RecordMismatch(f"deal {number}: {path.removeprefix('deals[0].')}: {problem}")
    *_, last = replay_deal(record, record.deals[0])
    stated = [side.match_total for side in message.score.sides]
    played = [side.match_total for side in score_deal(last.after).sides]
    if stated != played:
        raise RecordMismatch(f"deal {number}: its record has {stated} after it but plays to {played}")
    return DealReport(last.after, normalise_record(record).deals[0])


def format_match(report: MatchReport) -> Iterator[str]:
    """Yield lines for people: the score sheet of every deal, then totals, winner and pace."""
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


def to_json(report: MatchReport, metrics: dict[str, Any] | None) -> dict[str, Any]:
    """Return the report as plain values. Cards are in text form, points and seats are numbers, times are seconds."""
    return {
        "table_id": report.table_id,
        "bots": list(report.bots),
        "seats": len(report.bots),
        "rule_set": report.rule_set,
        "target": report.target,
        "seed": report.seed,
        "deals": [_deal_to_json(deal) for deal in report.deals],
        "winner": report.winner,
        "totals": list(report.totals),
        "moves": report.moves,
        "seconds": round(report.seconds, 3),
        "moves_per_second": round(report.moves_per_second, 1),
        "metrics": metrics,
    }


def _deal_to_json(deal: DealReport) -> dict[str, Any]:
    end = deal.end
    return {
        "number": deal.number,
        "starter": end.starter,
        "ending": end.ending.name.lower(),
        "closed_by": end.seat_to_move if end.ending in (Ending.CLOSED, Ending.TWOS_BURACO) else None,
        "turns": end.turn.number,
        "moves": deal.moves,
        "seed": deal.record.seed.hex(),
        "sides": [
            {
                "side": side.side,
                "lines": _lines_to_json(side),
                "total": side.total,
                "match_total": side.match_total,
            }
            for side in score_deal(end).sides
        ],
    }


def _lines_to_json(side: SideScore) -> list[dict[str, Any]]:
    return [
        {
            "kind": line.kind.name.lower(),
            "points": line.points,
            "meld": None if line.meld is None else format_cards(side.melds[line.meld].cards),
            "buraco": line.buraco.name.lower() if line.buraco else None,
            "seat": line.seat,
        }
        for line in side.lines
    ]
