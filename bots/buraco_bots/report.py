"""What a match came to: made from the table's records, each of which is played again and checked on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from buraco.v1 import table_pb2
from buraco_codec.deals import match_from_pb
from buraco_codec.moves import move_from_pb
from buraco_codec.rule_sets import rule_set_from_pb
from buraco_notation import format_cards
from buraco_rules import (
    Deal,
    DealRecord,
    Ending,
    IllegalMove,
    MatchRecord,
    Problems,
    ScoreLine,
    SideScore,
    apply_for,
    deal_match,
    record_deal,
    score_deal,
    seed_problems,
)


class RecordWrong(Exception):
    """A record does not play to the result that it states: the service or these rules are at fault."""


@dataclass(frozen=True, slots=True)
class DealReport:
    """A finished deal."""

    deal: Deal
    """At its end."""
    message: table_pb2.DealRecord
    """What the server recorded of it."""

    @property
    def moves(self) -> int:
        """How many were made."""
        return len(self.message.moves)

    @property
    def seed(self) -> bytes:
        """What shuffled its cards."""
        return self.message.seed

    @property
    def record(self) -> DealRecord:
        """What it is played again from."""
        message = self.message
        return record_deal(
            _dealt(message),
            message.seed,
            [move_from_pb(move.move) for move in message.moves],
            server_seed=None if message.server_seed == message.seed else message.server_seed,
            entropies=tuple(message.entropies) if any(message.entropies) else (),
        )

    @property
    def number(self) -> int:
        """Its number in the match, from 1."""
        return self.deal.match.deal_number

    @property
    def closed_by(self) -> int | None:
        """The seat that closed, or melded the buraco of 2s."""
        return self.deal.seat_to_move if self.deal.ending in (Ending.CLOSED, Ending.TWOS_BURACO) else None

    @property
    def sides(self) -> tuple[SideScore, SideScore]:
        """The score sheet of each side."""
        return score_deal(self.deal).sides


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
        """What it is played again from, with the names of the bots."""
        first = self.deals[0].deal
        deals = tuple([deal.record for deal in self.deals])
        return MatchRecord(first.rules, first.seats, self.target, first.match.starter, deals, self.bots)

    @property
    def moves(self) -> int:
        """Of all deals."""
        return sum(deal.moves for deal in self.deals)

    @property
    def moves_per_second(self) -> float:
        """All seats together."""
        return self.moves / self.seconds if self.seconds else 0.0


def replay(record: table_pb2.DealRecord) -> DealReport:
    """Checks the seed of a record and plays it again. Raises RecordWrong where anything in it does not agree."""
    number = record.deal_number
    for field, problem in seed_problems(record.seed, record.commitment, record.server_seed, record.entropies):
        raise RecordWrong(f"deal {number}: {field}: {problem}")
    deal = _dealt(record)
    try:
        for move in record.moves:
            deal, _ = apply_for(deal, move.seat, move_from_pb(move.move))
    except IllegalMove as illegal:
        raise RecordWrong(f"deal {number}: a move of its record is illegal: {illegal}") from illegal
    stated = [(side.total, side.match_total) for side in record.score.sides]
    played = [(side.total, side.match_total) for side in score_deal(deal).sides]
    if int(deal.ending) != record.ending or stated != played:
        raise RecordWrong(f"deal {number}: its record says {stated} but plays to {played}")
    return DealReport(deal, record)


def _dealt(record: table_pb2.DealRecord) -> Deal:
    problems = Problems()
    match = match_from_pb(record.match, "match", problems)
    problems.raise_if_any()
    return deal_match(rule_set_from_pb(record.rule_set), record.seats, record.seed, match)[0]


def meld_text(side: SideScore, line: ScoreLine) -> str:
    """The meld that a line of a side's sheet counts, in text form; empty where it counts none."""
    return "" if line.meld is None else format_cards(side.melds[line.meld].cards)


def to_json(report: MatchReport, metrics: dict[str, Any] | None) -> dict[str, Any]:
    """The report as plain values. Cards are in text form, points and seats are numbers, times are seconds."""
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
    return {
        "number": deal.number,
        "starter": deal.deal.starter,
        "ending": deal.deal.ending.name.lower(),
        "closed_by": deal.closed_by,
        "turns": deal.deal.turn.number,
        "moves": deal.moves,
        "seed": deal.seed.hex(),
        "sides": [
            {
                "side": side.side,
                "lines": _lines_to_json(side),
                "total": side.total,
                "match_total": side.match_total,
            }
            for side in deal.sides
        ],
    }


def _lines_to_json(side: SideScore) -> list[dict[str, Any]]:
    return [
        {
            "kind": line.kind.name.lower(),
            "points": line.points,
            "meld": meld_text(side, line) or None,
            "buraco": line.buraco.name.lower() if line.buraco else None,
            "seat": line.seat,
        }
        for line in side.lines
    ]
