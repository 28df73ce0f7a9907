from __future__ import annotations

import random
from collections.abc import Sequence
from math import inf
from typing import Any

import pytest

from buraco_rules import Deal, DrawStock, match_result, next_match, undo
from buraco_service.tables.finishing import finish_turn
from tests.faults.history import FINISHED, STALE, Call, Done, Entry, History, Refused, Sighting, find_problems
from tests.service.scripts import Step, after_moves, dealt, plain_turns, played, short_rules, steps_to

START = 3


def following(deal: Deal) -> Deal | None:
    """Return the next deal of the match; None if it has ended."""
    return None if match_result(deal) else dealt(deal.rules, match=next_match(deal))


def history_of(steps: Sequence[Step]) -> tuple[History, list[Entry]]:
    """Return a history in which each step is made by a call of its own, all at the same time, and its log."""
    history = History(START, steps[0].before, following)
    entries = [Entry(revision, ((step.seat, step.move),)) for revision, step in enumerate(steps, START + 1)]
    for revision, step in enumerate(steps, START + 1):
        history.calls.append(Call(str(revision), step.seat, (step.move,), None, 0.0, 1.0, Done(revision)))
    return history, entries


class Story:
    """A correct history for tests to spoil: of six plain turns, request n makes revision n between n and n + 0.5."""

    def __init__(self) -> None:
        self.first = dealt()
        self.history = History(START, self.first, following)
        self.turns = list(plain_turns(self.first, 6))
        self.entries: list[Entry] = []
        for revision, turn in enumerate(self.turns, START + 1):
            self.entries.append(Entry(revision, tuple((turn.seat, move) for move in turn.moves)))
            self.history.calls.append(
                Call(str(revision), turn.seat, turn.moves, None, revision, revision + 0.5, Done(revision))
            )
        self.stored: Deal | None = after_moves(self.first, [move for turn in self.turns for move in turn.moves])

    def change(self, revision: int, /, **changes: Any) -> None:
        """Change the call that made a revision."""
        calls = self.history.calls
        calls[revision - START - 1] = calls[revision - START - 1]._replace(**changes)

    def repeat(self, revision: int, /, **changes: Any) -> None:
        """Repeat the call that made a revision, with changes."""
        self.history.calls.append(self.history.calls[revision - START - 1]._replace(**changes))

    def see(self, revision: int, began: float, ended: float) -> None:
        self.history.sightings.append(Sighting(revision, began, ended))

    def drop_entry(self, revision: int) -> None:
        """Drop a revision and those after it from the log and the table."""
        del self.entries[revision - START - 1 :]
        moves = [move for turn in self.turns[: len(self.entries)] for move in turn.moves]
        self.stored = after_moves(self.first, moves)

    def problems(self, *never_made: str) -> str:
        """Return what the checker finds, "" for nothing."""
        return "; ".join(find_problems(self.history, self.entries, self.stored, never_made=never_made))


# ---- what must pass ----


def test_good() -> None:
    """Acknowledged calls that are all in the log are no problem, and neither are reads at the right time."""
    story = Story()
    story.see(3, 1.0, 4.2)
    story.see(4, 4.1, 4.2)
    story.see(9, 9.1, 12.0)
    assert story.problems() == ""


def test_unknown_outcome_once_or_never() -> None:
    """A call without an answer may be in the log or not."""
    story = Story()
    story.change(9, answer=None, ended=inf)
    assert story.problems() == ""
    assert [call.request_id for call in story.history.unknown()] == ["9"]
    story.drop_entry(9)
    assert story.problems() == ""


def test_late_arrival() -> None:
    """A call whose caller gave up may arrive after calls that began later."""
    story = Story()
    story.change(7, answer=None, ended=inf, began=0.0)
    assert story.problems() == ""


def test_repeats() -> None:
    """Repeats that get the first answer, and one that was refused before it was made, are no problem."""
    story = Story()
    story.repeat(6, began=9.0, ended=9.1)
    story.repeat(5, began=4.0, ended=4.1, answer=Refused("NOT_YOUR_TURN"))
    story.history.calls.insert(0, story.history.calls[4]._replace(answer=None, ended=inf))
    assert story.problems() == ""
    assert story.history.unknown() == []


def test_true_refusals() -> None:
    """Refusals that are right at some revision between the beginning and the end of the call are no problem."""
    mover = Story().turns[0].seat
    for answer, changes in (
        (Refused("NOT_YOUR_TURN"), {"seat": 1 - mover}),
        (Refused("NOT_YOUR_TURN"), {"seat": mover}),
        (Refused(STALE), {"revision": 3, "ended": 9.0}),
        (Refused(STALE), {"ended": 9.0}),
        (Refused("ALREADY_DRAWN"), {"moves": (DrawStock(), DrawStock())}),
    ):
        story = Story()
        story.repeat(4, request_id="true", **{"moves": (DrawStock(),), "answer": answer} | changes)
        assert story.problems() == "", answer


def test_overlapping_calls() -> None:
    """Calls that are under way at the same time may be made in either order."""
    story = Story()
    for revision in range(START + 1, START + 7):
        story.change(revision, began=100.0 - revision, ended=200.0 - revision)
    assert story.problems() == ""


def test_undo_and_other_entries() -> None:
    """Undos are replayed, and entries of other kinds leave the deal alone."""
    steps = steps_to(lambda deal: len(deal.turn.undo) == 1, dealt(), random.Random(3))
    history, entries = history_of(steps)
    last = entries[-1].revision
    entries += [Entry(last + 1), Entry(last + 2, undo=True)]
    history.calls.append(Call("undo", steps[-1].seat, (), last + 1, 0.0, 1.0, Done(last + 2)))
    assert find_problems(history, entries, undo(steps[-1].after)[0]) == []
    history.calls.append(Call("late", steps[-1].seat, (), None, 2.0, 3.0, Refused("NOTHING_TO_UNDO")))
    assert find_problems(history, entries, undo(steps[-1].after)[0]) == []
    history.calls[-1] = history.calls[-1]._replace(seat=1 - steps[-1].seat)
    assert find_problems(history, entries, undo(steps[-1].after)[0])


@pytest.mark.parametrize("target", [0, 10_000])
def test_deal_that_ends(target: int) -> None:
    """A deal that ends is followed by the next one, and a match that has ended refuses calls for that."""
    first = dealt(short_rules(2), target=target)
    steps = list(played(first, random.Random(1)))
    history, entries = history_of(steps)
    after = following(steps[-1].after)
    assert find_problems(history, entries, after) == []
    assert find_problems(history, entries, first)
    history.calls.append(Call("over", 0, (DrawStock(),), None, 2.0, 3.0, Refused(FINISHED)))
    assert bool(find_problems(history, entries, after)) is bool(target)


# ---- what must not pass ----


def test_lost() -> None:
    """An acknowledged call that is not in the log is found."""
    story = Story()
    story.drop_entry(9)
    assert story.problems() == "revision 9 of request 9 is not in the log"


def test_nobody_made_it() -> None:
    """A change without a request is found."""
    story = Story()
    del story.history.calls[2]
    assert story.problems() == "nobody can have made revision 6"


def test_two_makers() -> None:
    """Two requests that were acknowledged with one revision are found."""
    story = Story()
    story.repeat(5, request_id="another")
    assert story.problems() == "revision 5 was acknowledged to two requests, one of them another"


def test_unknown_outcome_twice() -> None:
    """One request without an answer explains one change only."""
    steps = steps_to(lambda deal: len(deal.turn.undo) == 2, dealt(), random.Random(3))
    history, entries = history_of(steps)
    entries += [Entry(entries[-1].revision + number, undo=True) for number in (1, 2)]
    stored = undo(undo(steps[-1].after)[0])[0]
    history.calls += [Call(name, steps[-1].seat, (), None, 2.0, inf, None) for name in ("one", "two")]
    assert find_problems(history, entries, stored) == []
    del history.calls[-1]
    assert find_problems(history, entries, stored) == [f"nobody can have made revision {entries[-1].revision}"]


def test_known_never_to_have_been_made() -> None:
    """A request that was found never to have been carried out explains nothing."""
    story = Story()
    story.change(9, answer=None, ended=inf)
    assert story.problems("9") == "nobody can have made revision 9"


def test_gap() -> None:
    """Revisions that do not rise by one are found."""
    story = Story()
    del story.entries[2]
    assert story.problems() == "revision 7 is in the log in place of 6"


def test_illegal() -> None:
    """A log whose moves the rules do not allow is found."""
    story = Story()
    story.entries[1] = story.entries[1]._replace(moves=story.entries[0].moves)
    assert story.problems().startswith("revision 5 holds an illegal move")


def test_stored_deal() -> None:
    """A stored deal that the log does not lead to is found, and one that cannot be."""
    story = Story()
    story.stored = dealt()
    assert story.problems() == "the stored deal is not what the log leads to"
    story.stored = None
    assert story.problems() == "the stored deal is not what the log leads to"
    story = Story()
    story.history.first = story.first._replace(stock=(story.first.stock[1], *story.first.stock[1:]))
    moves = [move for turn in story.turns for move in turn.moves]
    story.stored = after_moves(story.history.first, moves)
    assert "unsound" in story.problems()


def test_other_moves() -> None:
    """A revision whose moves, seat or predecessor are not those of its call is found."""
    for changes in ({"moves": (DrawStock(),)}, {"seat": 5}, {"revision": 7}, {"moves": ()}):
        story = Story()
        story.change(6, **changes)
        assert story.problems() == "revision 6 is not what request 6 asked for"


def test_repeat_with_another_answer() -> None:
    """A repeat that gets another revision, or refused after the first was acknowledged, is found."""
    story = Story()
    story.repeat(6, began=9.0, ended=9.1, answer=Done(7))
    assert "request 6 got the revisions [6, 7]" in story.problems()
    story = Story()
    story.repeat(6, began=9.0, ended=9.1, answer=Refused("NOT_YOUR_TURN"))
    assert story.problems() == "request 6 was refused after it had been acknowledged"


def test_against_time() -> None:
    """A change that comes before one that had been acknowledged before its call began is found."""
    story = Story()
    story.change(5, began=6.6, ended=6.7)
    assert "revision 5 was there before any call for it began" in story.problems()
    story = Story()
    story.see(6, 4.1, 5.9)
    assert "revision 6 was there before any call for it began" in story.problems()


def test_stale_read() -> None:
    """A read that does not find what was acknowledged before, or seen before, is found; and one of the future."""
    story = Story()
    story.see(5, 6.6, 6.7)
    assert story.problems() == "revision 5 was seen when none but [6] was possible"
    story = Story()
    story.change(9, answer=None, ended=inf)
    story.see(9, 20.0, 21.0)
    story.see(8, 22.0, 23.0)
    assert story.problems() == "revision 8 was seen when none but [9] was possible"
    story = Story()
    story.see(12, 20.0, 21.0)
    assert story.problems() == "revision 12 was seen when none but [9] was possible"


def test_untrue_refusals() -> None:
    """A refusal that is right at no revision that the call can have met is found."""
    story = Story()
    mover = story.turns[0].seat
    for answer, changes in (
        (Refused("NOT_YOUR_TURN"), {"seat": mover, "began": 3.0, "ended": 3.5}),
        (Refused("ALREADY_DRAWN"), {"seat": 1 - mover}),
        (Refused(STALE), {"revision": 3, "began": 3.0, "ended": 3.5}),
        (Refused(STALE), {"began": 3.0, "ended": 3.5}),
        (Refused(FINISHED), {}),
    ):
        story = Story()
        story.repeat(4, request_id="untrue", moves=(DrawStock(),), answer=answer, **changes)
        assert story.problems().startswith(f"request untrue was refused for {answer.reason}"), answer


# ---- the clock ----


def test_turn_that_the_clock_finished() -> None:
    """A turn that the clock finished needs no call; it is a problem if the clock played anything else."""
    story = Story()
    seat = story.turns[5].seat
    before = after_moves(story.first, [move for turn in story.turns[:5] for move in turn.moves])
    moves = finish_turn(before)
    story.history.calls.pop()
    story.entries[5] = Entry(9, tuple((seat, move) for move in moves), timed_out=True)
    story.stored = after_moves(before, moves)
    assert story.problems() == ""
    story.entries[5] = story.entries[5]._replace(timed_out=False)
    assert story.problems() == "nobody can have made revision 9"
    story.entries[5] = story.entries[5]._replace(moves=story.entries[5].moves[:1], timed_out=True)
    assert story.problems() == "revision 9 is not how the clock finishes the turn"


def test_acknowledged_move_in_the_place_of_the_clocks() -> None:
    """A revision that the clock made is no player's, whatever the player was told."""
    story = Story()
    before = after_moves(story.first, [move for turn in story.turns[:5] for move in turn.moves])
    moves = tuple(finish_turn(before))
    story.entries[5] = Entry(9, tuple((story.turns[5].seat, move) for move in moves), timed_out=True)
    story.change(9, moves=moves)
    story.stored = after_moves(before, moves)
    assert story.problems() == "revision 9 is not what request 9 asked for"
