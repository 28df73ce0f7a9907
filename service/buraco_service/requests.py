"""Checking requests: every field at fault is found before the request is refused."""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from buraco_codec.fields import FieldErrors
from buraco_codec.rule_sets import rule_set_from_pb
from buraco_rules import PRESETS_BY_ID, RuleSet
from buraco_service.errors import FieldViolation, invalid_argument
from buraco_service.observing.current_call import bind_table

_T = TypeVar("_T")
_UUID: Final = re.compile("[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NO_TABLE_ID: Final = "32 letters and digits, as CreateTable gave it"


class Problems:
    """The faults of one request. The first kind of fault gives the reason."""

    def __init__(self) -> None:
        self._found: list[FieldViolation] = []
        self._reason = "REQUEST_INVALID"

    def add(self, field: str, problem: str, *, reason: str | None = None) -> None:
        """One field and what is wrong with it."""
        if reason is not None and not self._found:
            self._reason = reason
        self._found.append(FieldViolation(field, problem))

    def check(self, field: str, holds: bool, problem: str) -> None:
        """The field is at fault unless something holds of it."""
        if not holds:
            self.add(field, problem)

    def collect(self, read: Callable[[], _T], otherwise: _T, path: str = "", *, reason: str | None = None) -> _T:
        """What `read` gives; `otherwise` where it finds faults, which are added as seen from `path`."""
        try:
            return read()
        except FieldErrors as faults:
            for field, problem in faults.under(path).errors:
                self.add(field, problem, reason=reason)
            return otherwise

    def refuse(self) -> None:
        """Raise INVALID_ARGUMENT if there is any fault."""
        if self._found:
            raise invalid_argument(self._found, reason=self._reason)


def requested_rules(request: Any, problems: Problems) -> RuleSet | None:
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


def table_id_of(text: str, problems: Problems | None = None) -> str:
    """A table's id, which the call's log lines carry from here on; without `problems` a fault is refused at once."""
    if not is_table_id(text):
        if problems is None:
            raise invalid_argument([FieldViolation("table_id", _NO_TABLE_ID)])
        problems.add("table_id", _NO_TABLE_ID)
        return ""
    bind_table(text)
    return text


def request_uuid(text: str) -> str | None:
    """A request id in its one form; None where the text is no UUID."""
    return text.replace("-", "").lower() if _UUID.fullmatch(text) else None


def request_id_of(text: str, problems: Problems) -> str:
    """The id of a mutating request."""
    found = request_uuid(text)
    if found is None:
        problems.add("request_id", "a UUID made by the client")
    return found or ""


def page_size_of(asked: int, default: int, most: int, problems: Problems) -> int:
    """The size of a page; 0 asks for the default."""
    problems.check("page_size", asked <= most, f"at most {most}")
    return asked or default
