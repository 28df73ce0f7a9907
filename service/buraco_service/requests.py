"""Checking requests: every field at fault is found before the request is refused."""

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
    """Collects what is wrong with a request. The reason of the first problem is that of the error."""

    def __init__(self) -> None:
        super().__init__()
        self._reason = "REQUEST_INVALID"

    def add(self, path: Path, problem: str, *, reason: str | None = None) -> None:
        """Add a problem."""
        if reason is not None and not self:
            self._reason = reason
        super().add(path, problem)

    def check(self, path: Path, holds: bool, problem: str) -> None:
        """Add a problem unless something holds of the field."""
        if not holds:
            self.add(path, problem)

    def collect(self, read: Callable[[], _T], otherwise: _D, path: Path = "", *, reason: str | None = None) -> _T | _D:
        """As `Problems.collect`, with a reason for what is wrong."""
        is_first = not self
        value = super().collect(read, otherwise, path)
        if reason is not None and is_first and self:
            self._reason = reason
        return value

    def error(self) -> ApiError:
        """Return INVALID_ARGUMENT with all problems."""
        return invalid_argument(self._found, reason=self._reason)


def requested_rules(request: Any, problems: RequestProblems) -> RuleSet | None:
    """The preset or the house rules that the oneof `rules` of a request chooses; None where that is a fault."""
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
    """Whether a text has the form of a table's id. Nothing else reaches log or store."""
    return len(text) == 32 and text.isalnum() and text.isascii()


def table_id_of(text: str, problems: RequestProblems | None = None) -> str:
    """A table's id, which the call's log lines carry from here on; without `problems` a fault is refused at once."""
    if not is_table_id(text):
        if problems is None:
            raise invalid_argument([Problem("table_id", _NO_TABLE_ID)])
        problems.add("table_id", _NO_TABLE_ID)
        return ""
    bind_table(text)
    return text


def request_uuid(text: str) -> str | None:
    """A request id in its one form; None where the text is no UUID."""
    return text.replace("-", "").lower() if _UUID.fullmatch(text) else None


def request_id_of(text: str, problems: RequestProblems) -> str:
    """The id of a mutating request."""
    found = request_uuid(text)
    if found is None:
        problems.add("request_id", "a UUID made by the client")
    return found or ""


def page_size_of(asked: int, default: int, most: int, problems: RequestProblems) -> int:
    """The size of a page; 0 asks for the default."""
    problems.check("page_size", asked <= most, f"at most {most}")
    return asked or default
