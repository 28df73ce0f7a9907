"""Records from files: in the text notation, or as the answer of GetRecord, its JSON or its binary form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from buraco.v1 import table_pb2, table_service_pb2
from buraco_codec.deals import match_from_pb
from buraco_codec.fields import by_number
from buraco_codec.moves import move_from_pb
from buraco_codec.rule_sets import rule_set_from_pb
from buraco_notation import NotationError, TextProblem, parse_record, point_out
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
    normal_record,
    record_problems,
)

_ENDINGS: Final = by_number(Ending)
_MAX_SHOWN: Final = 20


class BadRecord(ValueError):
    """No record, or one that does not play to its result; the text says what is wrong and where, line by line."""


class RecordFile(NamedTuple):
    """What a file holds."""

    record: MatchRecord
    more: bool
    """The file is one page of GetRecord, and more deals follow."""


def read_record_file(data: bytes) -> RecordFile:
    """The record of a file, played again and so checked. Raises BadRecord."""
    text = _text(data)
    if text is None:
        answer = table_service_pb2.GetRecordResponse()
        try:
            answer.ParseFromString(data)
        except DecodeError:
            raise BadRecord("neither a record's text, nor GetRecord's answer as JSON or in binary form") from None
        return _of_answer(answer)
    if text.lstrip().startswith("{"):
        return _of_answer(_answer_from_json(text))
    try:
        return RecordFile(parse_record(text), more=False)
    except NotationError as error:
        raise BadRecord(format_problems(text, error)) from None


def record_from_pb(answer: table_service_pb2.GetRecordResponse) -> MatchRecord:
    """The record that the answer of GetRecord tells of, its moves as they were sent. Raises ValidationError.

    Nothing is played: see `buraco_rules.replay.record_problems`.
    """
    problems = Problems()
    if not answer.deals:
        raise ValidationError([Problem("deals", "no deal is finished yet")])
    deals = []
    for index, deal in enumerate(answer.deals):
        try:
            deals.append(_deal_from_pb(deal, answer.deals[0]))
        except ValidationError as error:
            problems.add_all(("deals", index), error.problems)
    problems.raise_if_any()
    first = answer.deals[0]
    rules = rule_set_from_pb(first.rule_set)
    return MatchRecord(rules, first.seats, first.match.target_score, first.match.starter, tuple(deals))


def format_problems(text: str, error: NotationError) -> str:
    """Return the problems of a text for people, each with its line and a caret; the first of them if there are many."""
    problems = error.problems
    more = f"\nand {len(problems) - _MAX_SHOWN} more" if len(problems) > _MAX_SHOWN else ""
    return point_out(text, problems[:_MAX_SHOWN]) + more


def _text(data: bytes) -> str | None:
    """The data as text; None where it is none. GetRecord's binary form has control characters wherever it is long."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if text.lstrip()[:1] in ("[", "{", "#", ""):
        return text
    return None if any([character < " " and character not in "\t\r\n" for character in text]) else text


def _answer_from_json(text: str) -> table_service_pb2.GetRecordResponse:
    try:
        value = json.loads(text)
        return json_format.ParseDict(value, table_service_pb2.GetRecordResponse())
    except json.JSONDecodeError as error:
        problem = TextProblem(error.lineno, error.colno, 1, f"not JSON: {error.msg}")
        raise BadRecord(point_out(text, [problem])) from None
    except json_format.ParseError as error:
        raise BadRecord(f"not GetRecord's answer: {error}") from None
    except ValueError as error:  # a number of thousands of digits
        raise BadRecord(f"not GetRecord's answer: {error}") from None
    except RecursionError:
        raise BadRecord("not GetRecord's answer: nested too deeply") from None


def _of_answer(answer: table_service_pb2.GetRecordResponse) -> RecordFile:
    try:
        record = record_from_pb(answer)
    except ValidationError as error:
        raise BadRecord(_listed(error.problems)) from None
    problems = record_problems(record)
    if problems:
        raise BadRecord(_listed(problems))
    return RecordFile(normal_record(record), answer.more)


def _listed(problems: Sequence[Problem]) -> str:
    return "\n".join([f"{path}: {problem}" for path, problem in problems])


def _deal_from_pb(pb: table_pb2.DealRecord, first: table_pb2.DealRecord) -> DealRecord:
    problems = Problems()
    problems.collect(lambda: rule_set_from_pb(pb.rule_set), None, "rule_set")
    if pb.seats not in (2, 4):
        problems.add("seats", f"2 or 4, not {pb.seats}")
        raise problems.error()
    match = match_from_pb(pb.match, "match", problems)
    if match.deal_number != pb.deal_number:
        problems.add(("match", "deal_number"), f"that of the deal, {pb.deal_number}, not {match.deal_number}")
    for name, same in (
        ("rule_set", pb.rule_set == first.rule_set),
        ("seats", pb.seats == first.seats),
        ("match.starter", match.starter == first.match.starter),
        ("match.target_score", match.target_score == first.match.target_score),
    ):
        if not same:
            problems.add(name, "another than in the first deal: not one match")
    for name, size in (("seed", len(pb.seed)), ("server_seed", len(pb.server_seed))):
        if size != SEED_BYTES and (name == "seed" or size):
            problems.add(name, f"{SEED_BYTES} bytes, not {size}")
    if len(pb.entropies) not in (0, pb.seats):
        problems.add("entropies", f"one for each of {pb.seats} seats, or none, not {len(pb.entropies)}")
    if len(pb.score.sides) != 2:
        problems.add("score.sides", f"two sides, not {len(pb.score.sides)}")
    if not _ENDINGS.get(pb.ending):
        problems.add("ending", f"{pb.ending} is no ending of a finished deal")
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
