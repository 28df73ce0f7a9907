"""Read the records of finished deals, as GetRecord returns them."""

from collections.abc import Sequence
from typing import Final

from buraco.v1 import table_pb2
from buraco_codec.deals import match_from_pb
from buraco_codec.fields import by_number
from buraco_codec.moves import move_from_pb
from buraco_codec.rule_sets import rule_set_from_pb
from buraco_rules import (
    SEED_BYTES,
    DealRecord,
    DrawStock,
    Ending,
    Match,
    MatchRecord,
    Move,
    Problem,
    Problems,
    TakePile,
    ValidationError,
)

_ENDINGS: Final = by_number(Ending)


def record_from_pb(deals: Sequence[table_pb2.DealRecord]) -> MatchRecord:
    """Return the record of deals of one match, without names of players, with the moves as they were sent.

    Raise ValidationError if there is none, or one is malformed or of another match. Whether they follow one another and
    the moves are legal is not checked: `buraco_rules.record_problems` does.
    """
    if not deals:
        raise ValidationError([Problem("deals", "no deal is finished yet")])
    problems, first, read = Problems(), deals[0], []
    for index, pb in enumerate(deals):
        try:
            read.append(_deal_from_pb(pb, first))
        except ValidationError as error:
            problems.add_all(("deals", index), error.problems)
    problems.raise_if_any()
    rules = rule_set_from_pb(first.rule_set)
    return MatchRecord(rules, first.seats, first.match.target_score, first.match.starter, tuple(read))


def _deal_from_pb(pb: table_pb2.DealRecord, first: table_pb2.DealRecord) -> DealRecord:
    problems = Problems()
    problems.collect(lambda: rule_set_from_pb(pb.rule_set), None, "rule_set")
    if pb.seats not in (2, 4):
        problems.add("seats", f"2 or 4, not {pb.seats}")
        raise problems.error()
    match = match_from_pb(pb.match, "match", problems)
    if match.deal_number != pb.deal_number:
        problems.add("match.deal_number", f"that of the deal, {pb.deal_number}, not {match.deal_number}")
    for name, is_same in (
        ("rule_set", pb.rule_set == first.rule_set),
        ("seats", pb.seats == first.seats),
        ("match.starter", match.starter == first.match.starter),
        ("match.target_score", match.target_score == first.match.target_score),
    ):
        if not is_same:
            problems.add(name, "another than in the first deal: not one match")
    for name, size in (("seed", len(pb.seed)), ("server_seed", len(pb.server_seed))):
        if size != SEED_BYTES and (name == "seed" or size):
            problems.add(name, f"{SEED_BYTES} bytes, not {size}")
    if len(pb.entropies) not in (0, pb.seats):
        problems.add("entropies", f"one for each of {pb.seats} seats, or none, not {len(pb.entropies)}")
    if len(pb.score.sides) != 2:
        problems.add("score.sides", f"two sides, not {len(pb.score.sides)}")
    if not _ENDINGS.get(pb.ending):
        problems.add("ending", f"{pb.ending} is not the ending of a finished deal")
    moves = _moves_from_pb(pb, match, problems)
    problems.raise_if_any()
    return DealRecord(
        deal_number=match.deal_number,
        scores=match.scores,
        seed=pb.seed,
        commitment=pb.commitment,
        moves=moves,
        ending=_ENDINGS[pb.ending],
        points=(pb.score.sides[0].total, pb.score.sides[1].total),
        server_seed=None if pb.server_seed in (b"", pb.seed) else pb.server_seed,
        entropies=tuple(pb.entropies) if any(pb.entropies) else (),
    )


def _moves_from_pb(pb: table_pb2.DealRecord, match: Match, problems: Problems) -> tuple[Move, ...]:
    moves: list[Move] = []
    seat = (match.starter + match.deal_number - 2) % pb.seats
    for index, played in enumerate(pb.moves):
        try:
            move = move_from_pb(played.move)
        except ValidationError as error:
            problems.add_all(("moves", index, "move"), error.problems)
            continue
        if isinstance(move, DrawStock | TakePile):
            seat = (seat + 1) % pb.seats
        if played.seat != seat:
            problems.add(("moves", index, "seat"), f"seat {seat} has the turn, not {played.seat}")
        moves.append(move)
    return tuple(moves)
