"""Records from files: in the text notation, or as the answer of GetRecord, its JSON or its binary form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from buraco.v1 import table_service_pb2
from buraco_codec.records import record_from_pb
from buraco_notation import NotationError, TextProblem, parse_record, point_out
from buraco_rules import MatchRecord, Problem, ValidationError, normalise_record, record_problems

_MAX_SHOWN: Final = 20
"""Problems of a text that are shown."""


class BadRecord(ValueError):
    """A file holds no record, or one that does not play to its result; the text says what is wrong, line by line."""


class RecordFile(NamedTuple):
    """What a file holds."""

    record: MatchRecord
    more: bool
    """The file is one page of GetRecord, and more deals follow."""


def read_record_file(data: bytes) -> RecordFile:
    """Return the record of a file in any of the forms, which is recognised by itself.

    It is checked by playing it again. Raise BadRecord.
    """
    text = _decode_text(data)
    if text is None:
        answer = table_service_pb2.GetRecordResponse()
        try:
            answer.ParseFromString(data)
        except DecodeError:
            raise BadRecord("neither a record's text, nor GetRecord's answer as JSON or in binary form") from None
        return _check_answer(answer)
    if text.lstrip().startswith("{"):
        return _check_answer(_parse_answer(text))
    try:
        return RecordFile(parse_record(text), more=False)
    except NotationError as error:
        raise BadRecord(format_problems(text, error)) from None


def format_problems(text: str, error: NotationError) -> str:
    """Return the problems of a text for people, each with its line and a caret: the first 20, and how many more."""
    problems = error.problems
    more = f"\nand {len(problems) - _MAX_SHOWN} more" if len(problems) > _MAX_SHOWN else ""
    return point_out(text, problems[:_MAX_SHOWN]) + more


def _decode_text(data: bytes) -> str | None:
    """Return the data as text; None for a binary answer, which has control characters wherever it is long."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if text.lstrip()[:1] in ("[", "{", "#", ""):
        return text
    return None if any([character < " " and character not in "\t\r\n" for character in text]) else text


def _parse_answer(text: str) -> table_service_pb2.GetRecordResponse:
    try:
        value = json.loads(text)
        return json_format.ParseDict(value, table_service_pb2.GetRecordResponse())
    except json.JSONDecodeError as error:
        problem = TextProblem(error.lineno, error.colno, 1, f"not JSON: {error.msg}")
        raise BadRecord(point_out(text, [problem])) from None
    except (json_format.ParseError, ValueError) as error:  # ValueError: a number of thousands of digits
        raise BadRecord(f"not GetRecord's answer: {error}") from None
    except RecursionError:
        raise BadRecord("not GetRecord's answer: nested too deeply") from None


def _check_answer(answer: table_service_pb2.GetRecordResponse) -> RecordFile:
    try:
        record = record_from_pb(answer.deals)
    except ValidationError as error:
        raise BadRecord(_format_lines(error.problems)) from None
    problems = record_problems(record)
    if problems:
        raise BadRecord(_format_lines(problems))
    return RecordFile(normalise_record(record), answer.more)


def _format_lines(problems: Sequence[Problem]) -> str:
    return "\n".join([f"{path}: {problem}" for path, problem in problems])
