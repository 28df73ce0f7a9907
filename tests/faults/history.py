"""A linearisability check: what clients saw of a table, against a table that runs one call after the other.

Pure: it knows the rules, and nothing of gRPC or stores. A history holds every call with its answer and the times
between which it happened; a call without an answer may have been carried out or not. `find_problems` finds what no
order of the calls can explain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

from buraco_rules import Deal, IllegalMove, Move, Violation, apply_for, deal_problems, undo
from buraco_service.tables.finishing import finish_turn

STALE: Final = "REVISION_STALE"
FINISHED: Final = "TABLE_FINISHED"


class Done(NamedTuple):
    """The call was acknowledged: it made this revision."""

    revision: int


class Refused(NamedTuple):
    """The call was refused: it changed nothing."""

    reason: str


class Call(NamedTuple):
    """One attempt to change the table. Attempts with the same request id are the same request."""

    request_id: str
    seat: int
    moves: tuple[Move, ...]
    """Empty for an undo."""
    revision: int | None
    """The revision that the caller requires."""
    began: float
    ended: float
    """Infinite without an answer: the call may still be carried out."""
    answer: Done | Refused | None
    """None if it is not known."""


class Sighting(NamedTuple):
    """A read that found the table at a revision."""

    revision: int
    began: float
    ended: float


class Entry(NamedTuple):
    """A revision in the table's log. One with neither moves nor undo does not change the deal."""

    revision: int
    moves: tuple[tuple[int, Move], ...] = ()
    """Each with its seat."""
    undo: bool = False
    timed_out: bool = False
    """The clock finished the turn: no call asked for it."""


@dataclass(slots=True)
class History:
    """A table as its clients saw it, from the deal on."""

    start: int
    """The revision of the deal."""
    first: Deal
    """The deal as it was dealt."""
    next_deal: Callable[[Deal], Deal | None]
    """Return the deal after one that has ended; None if the match has ended."""
    calls: list[Call] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)

    def unknown(self) -> list[Call]:
        """Return the newest attempt of every request that may or may not have been carried out."""
        newest = {call.request_id: call for call in self.calls}
        return [newest[request_id] for request_id, tries in _requests(self.calls).items() if _is_open(tries)]


class _Model:
    """The deal at every revision, by the log."""

    def __init__(self, history: History, entries: Sequence[Entry]) -> None:
        self.start = history.start
        self.broken: list[str] = []
        self.deals: list[Deal | None] = [history.first]
        expected = history.start
        for entry in entries:
            expected += 1
            if entry.revision != expected:
                self.broken.append(f"revision {entry.revision} is in the log in place of {expected}")
                return
            before = self.deals[-1]
            if entry.timed_out and (before is None or [move for _, move in entry.moves] != finish_turn(before)):
                self.broken.append(f"revision {entry.revision} is not how the clock finishes the turn")
                return
            try:
                after = _after(before, entry)
            except IllegalMove as illegal:
                self.broken.append(f"revision {entry.revision} holds an illegal move: {illegal}")
                return
            self.deals.append(history.next_deal(after) if after is not None and after.ending else after)

    @property
    def newest(self) -> int:
        return self.start + len(self.deals) - 1

    def refusal(self, call: Call, revision: int) -> str | None:
        """Return the reason for which the table refuses a call at a revision; None if it does not."""
        if call.revision is not None and call.revision != revision:
            return STALE
        deal = self.deals[revision - self.start]
        if deal is None:
            return FINISHED
        try:
            _play(deal, call)
        except IllegalMove as illegal:
            return illegal.violations[0].name
        return None


def find_problems(
    history: History, entries: Sequence[Entry], stored: Deal | None, *, never_made: Collection[str] = ()
) -> list[str]:
    """Return what is wrong with a table.

    `entries` is the table's log after the deal, `stored` its stored deal (None: the match has ended), `never_made` the
    ids of requests without an answer that were found never to have been carried out.
    """
    model = _Model(history, entries)
    if model.broken:
        return model.broken
    requests = _requests(history.calls)
    spans: dict[int, _Span] = {}
    found = list(_stored_problems(model, stored))
    for tries in requests.values():
        found += _acknowledged_problems(tries, entries, history.start, spans)
    if found:
        return found
    unknown = [tries for request_id, tries in requests.items() if _is_open(tries) and request_id not in never_made]
    called = [entry for entry in entries if (entry.moves or entry.undo) and not entry.timed_out]
    left = [entry for entry in called if entry.revision not in spans]
    found = list(_unacknowledged_problems(left, unknown, spans))
    if found:
        return found
    time = _Timeline(history, spans, model.newest)
    return [*time.problems(), *_refusal_problems(model, history, time)]


def _after(deal: Deal | None, entry: Entry) -> Deal | None:
    """Return the deal after a log entry. Raise IllegalMove, also if the match has ended."""
    if not entry.moves and not entry.undo:
        return deal
    if deal is None:
        raise IllegalMove(Violation.DEAL_OVER)
    if entry.undo:
        return undo(deal)[0]
    for seat, move in entry.moves:
        deal, _ = apply_for(deal, seat, move)
    return deal


def _play(deal: Deal, call: Call) -> None:
    """Raise IllegalMove if the call is illegal in the deal."""
    if not call.moves:
        if call.seat != deal.seat_to_move:
            raise IllegalMove(Violation.NOT_YOUR_TURN)
        undo(deal)
    for move in call.moves:
        if deal.ending:
            raise IllegalMove(Violation.DEAL_OVER)
        deal, _ = apply_for(deal, call.seat, move)


def _requests(calls: Sequence[Call]) -> dict[str, list[Call]]:
    requests: dict[str, list[Call]] = {}
    for call in calls:
        requests.setdefault(call.request_id, []).append(call)
    return requests


def _is_open(tries: Sequence[Call]) -> bool:
    """Return True if a request may or may not have been carried out: a refused repeat settles no other attempt."""
    return not any(isinstance(call.answer, Done) for call in tries) and any(call.answer is None for call in tries)


def _stored_problems(model: _Model, stored: Deal | None) -> Iterator[str]:
    if stored != model.deals[-1]:
        yield "the stored deal is not what the log leads to"
    if stored is not None:
        yield from [f"the stored deal is unsound: {path}: {problem}" for path, problem in deal_problems(stored)]


def _acknowledged_problems(
    tries: Sequence[Call], entries: Sequence[Entry], start: int, spans: dict[int, _Span]
) -> Iterator[str]:
    """An acknowledged revision must be in the log, once and as it was sent, and repeats must get the same answer."""
    call = tries[0]
    answers = [(made.ended, made.answer.revision) for made in tries if isinstance(made.answer, Done)]
    if not answers:
        return
    known, revision = min(answers)
    index = revision - start - 1
    if {revision for _, revision in answers} != {revision}:
        yield f"request {call.request_id} got the revisions {sorted({revision for _, revision in answers})}"
    elif any(isinstance(late.answer, Refused) and late.began > known for late in tries):
        yield f"request {call.request_id} was refused after it had been acknowledged"
    elif not 0 <= index < len(entries):
        yield f"revision {revision} of request {call.request_id} is not in the log"
    elif not _fits(entries[index], call):
        yield f"revision {revision} is not what request {call.request_id} asked for"
    elif revision in spans:
        yield f"revision {revision} was acknowledged to two requests, one of them {call.request_id}"
    else:
        spans[revision] = _Span(min(made.began for made in tries), known)


def _unacknowledged_problems(
    entries: Sequence[Entry], unknown: Sequence[Sequence[Call]], spans: dict[int, _Span]
) -> Iterator[str]:
    """A revision that nobody was answered for must be made by a request without an answer, each at most once."""
    # A request that requires a revision can have made that one alone, and so is taken first.
    left = sorted(unknown, key=lambda tries: tries[0].revision is None)
    for entry in entries:
        maker = next((tries for tries in left if _fits(entry, tries[0])), None)
        if maker is None:
            yield f"nobody can have made revision {entry.revision}"
            continue
        left.remove(maker)
        # Which of them it was is not known: the earliest allows most.
        began = min(call.began for tries in unknown if _fits(entry, tries[0]) for call in tries)
        spans[entry.revision] = _Span(began, inf)


def _fits(entry: Entry, call: Call) -> bool:
    """Return True if the call can have made the entry."""
    if call.revision not in (None, entry.revision - 1):
        return False
    if entry.timed_out:
        return False
    return entry.moves == tuple((call.seat, move) for move in call.moves) and entry.undo is not bool(call.moves)


class _Span(NamedTuple):
    """The times between which a revision was made."""

    began: float
    ended: float


class _Timeline:
    """The revisions that a table can have had at each time."""

    def __init__(self, history: History, spans: dict[int, _Span], newest: int) -> None:
        self._start = history.start
        self._newest = newest
        self._sightings = history.sightings
        # A revision cannot be there before those below it: from when on each is possible, and from when on certain.
        self._possible: list[float] = []
        known = {revision: span.ended for revision, span in spans.items()}
        for sighting in history.sightings:
            known[sighting.revision] = min(sighting.ended, known.get(sighting.revision, inf))
        for revision in range(self._start + 1, newest + 1):
            began = spans[revision].began if revision in spans else -inf
            self._possible.append(max(began, self._possible[-1] if self._possible else -inf))
        self._certain = [inf] * len(self._possible)
        latest = inf
        for revision in range(newest, self._start, -1):
            latest = min(latest, known.get(revision, inf))
            self._certain[revision - self._start - 1] = latest

    def window(self, began: float, ended: float) -> range:
        """Return the revisions that the table can have had between two times; none if that contradicts itself."""
        # Both lists ascend.
        lowest = bisect_left(self._certain, began)
        highest = bisect_right(self._possible, ended)
        return range(self._start + lowest, self._start + highest + 1)

    def problems(self) -> Iterator[str]:
        """Yield revisions that were made or seen too early or too late."""
        for index, (possible, certain) in enumerate(zip(self._possible, self._certain, strict=True)):
            if certain < possible:
                yield f"revision {self._start + index + 1} was there before any call for it began"
        for sighting in self._sightings:
            window = self.window(sighting.began, sighting.ended)
            if sighting.revision not in window:
                yield f"revision {sighting.revision} was seen when none but {list(window)} was possible"


def _refusal_problems(model: _Model, history: History, time: _Timeline) -> Iterator[str]:
    """A refusal must be right at a revision that the call can have met."""
    for call in history.calls:
        if not isinstance(call.answer, Refused):
            continue
        window = time.window(call.began, call.ended)
        reason = call.answer.reason
        if reason == STALE and call.revision is None and len(window) > 1:
            continue  # other calls came first each time
        if not any(model.refusal(call, revision) == reason for revision in window):
            yield f"request {call.request_id} was refused for {reason}, which is right at none of {list(window)}"
