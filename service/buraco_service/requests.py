"""Reads fields of requests and collects what is wrong with them, so that a refusal names every field at fault."""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from buraco_codec.rule_sets import rule_set_from_pb
from buraco_rules import PRESETS_BY_ID, Path, Problem, Problems, RuleSet
from buraco_service.errors import ApiError, invalid_argument
from buraco_service.observing.current_call import bind_table

_T = TypeVar("_T")
_D = TypeVar("_D")
_UUID: Final = re.compile("[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NO_TABLE_ID: Final = "32 letters and digits, as CreateTable gave it"


class RequestProblems(Problems):
    """Collects what is wrong with a request. The first problem gives the error's reason, by default REQUEST_INVALID."""

    def __init__(self) -> None:
        super().__init__()
        self._reason = "REQUEST_INVALID"

    def add(self, path: Path, problem: str, *, reason: str | None = None) -> None:
        """Add a problem; its `reason` becomes the error's if it is the first."""
        if reason is not None and not self:
            self._reason = reason
        super().add(path, problem)

    def check(self, path: Path, holds: bool, problem: str) -> None:
        """Add a problem unless `holds`."""
        if not holds:
            self.add(path, problem)

    def collect(self, read: Callable[[], _T], otherwise: _D, path: Path = "", *, reason: str | None = None) -> _T | _D:
        """Return what `read` returns; where it raises ValidationError, add its problems and return `otherwise`.

        `reason` becomes the error's if these problems are the first.
        """
        is_first = not self
        value = super().collect(read, otherwise, path)
        if reason is not None and is_first and self:
            self._reason = reason
        return value

    def error(self) -> ApiError:
        """Return the error INVALID_ARGUMENT with all problems, for the caller to raise."""
        return invalid_argument(self._found, reason=self._reason)


def read_rule_set(request: Any, problems: RequestProblems) -> RuleSet | None:
    """Return the preset or the house rules that a request names.

    Add problems and return None if it names neither (REQUEST_INVALID), an unknown preset (RULE_SET_UNKNOWN), or house
    rules that cannot be used (RULE_SET_INVALID).
    """
    which = request.WhichOneof("rules")
    if which == "rule_set":
        return problems.collect(lambda: rule_set_from_pb(request.rule_set), None, "rule_set", reason="RULE_SET_INVALID")
    if which is None:
        problems.add("rules", "rule_set_id or rule_set must be given")
        return None
    rules = PRESETS_BY_ID.get(request.rule_set_id)
    if rules is None:
        known = ", ".join(PRESETS_BY_ID)
        problems.add("rule_set_id", f"no preset; there are {known}", reason="RULE_SET_UNKNOWN")
    return rules


def is_table_id(text: str) -> bool:
    """Return True if a text has a table id's form: 32 ASCII letters and digits. Nothing else reaches log or store."""
    return len(text) == 32 and text.isalnum() and text.isascii()


def read_table_id(text: str, problems: RequestProblems | None = None) -> str:
    """Return a table's id, which all further log lines of the call carry. Whether there is the table is not asked.

    If it has not the form of one, add a problem and return ""; without `problems` raise INVALID_ARGUMENT.
    """
    if not is_table_id(text):
        if problems is None:
            raise invalid_argument([Problem("table_id", _NO_TABLE_ID)])
        problems.add("table_id", _NO_TABLE_ID)
        return ""
    bind_table(text)
    return text


def normalise_uuid(text: str) -> str | None:
    """Return a UUID, with hyphens or without, as 32 hexadecimal digits in lower case; None if the text is none."""
    return text.replace("-", "").lower() if _UUID.fullmatch(text) else None


def read_request_id(text: str, problems: RequestProblems) -> str:
    """Return the request id of a mutating call, 32 hexadecimal digits; add a problem and return "" if it is no UUID."""
    found = normalise_uuid(text)
    if found is None:
        problems.add("request_id", "a UUID made by the client")
    return found or ""


def read_page_size(requested: int, default: int, most: int, problems: RequestProblems) -> int:
    """Return the size of a page, `default` for 0. If it is more than `most`, add a problem and return it unchanged."""
    problems.check("page_size", requested <= most, f"at most {most}")
    return requested or default
