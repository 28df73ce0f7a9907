"""Workers of the arena, with bots that hang, crash and cheat: real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from buraco_bots.arena.figures import PairFigures
from buraco_bots.arena.pairs import PairTask
from buraco_bots.arena.workers import WorkerFailed, Workers
from tests.bots.test_arena_pairs import ODD, played, task

PATIENCE = 60.0


def play(count: int, *tasks: PairTask) -> dict[tuple[str, int], PairFigures]:
    """The pairs as so many workers play them, by the second contender and number."""
    finished = [*Workers(count).play(iter(tasks))]
    found = {(pair.second, pair.number): pair for pair in finished}
    assert len(found) == len(finished) == len(tasks)
    return found


def children() -> set[int]:
    """The processes that this one has started and that are not ended; none where there is no /proc."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


@pytest.fixture(autouse=True)
def no_child_left() -> Iterator[None]:
    """No worker is left behind, and none that a bot has started; Python's own helper of spawned processes is."""
    before = children()
    yield
    left = {pid for pid in children() - before if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()}
    assert left == set()


def test_same_as_in_this_process() -> None:
    """Any number of workers gives the results that one process gives."""
    tasks = [task("greedy", "random", number) for number in range(4)]
    found = play(3, *tasks)
    for number in range(4):
        here = played("greedy", "random", number)
        there = found["random", number]
        assert [match.deals for match in there.matches] == [match.deals for match in here.matches]
        assert there.score == here.score


@pytest.mark.parametrize("bot", ["Sleeps", "HangsInC"])
def test_hung_for_ever(bot: str) -> None:
    """A bot that does not return, be it in C code, is ended and forfeits both matches; the other pairs are played."""
    hanging = task("random", f"{ODD}:{bot}", thinking_limit=0.5)
    found = play(2, hanging, *[task("random", f"{ODD}:Last", number) for number in range(4)])
    for match in found[f"{ODD}:{bot}", 0].matches:
        assert match.forfeit is not None
        assert (match.result, match.forfeit.by, match.forfeit.kind) == (1.0, 1, "late")
        assert match.forfeit.detail == f"{ODD}:{bot} did not answer within 0.5 s, and was ended"
    assert all([match.deals for number in range(4) for match in found[f"{ODD}:Last", number].matches])


@pytest.mark.parametrize(("bot", "status"), [("Exits", 7), ("Crashes", -11)])
def test_ends_its_process(bot: str, status: int) -> None:
    """A bot that ends its process forfeits both matches; the other pairs are played."""
    found = play(1, task(f"{ODD}:{bot}", "random"), task("greedy", "random", 1))
    for match in found["random", 0].matches:
        assert match.forfeit is not None
        assert (match.result, match.forfeit.by, match.forfeit.kind) == (0.0, 0, "error")
        assert match.forfeit.detail == f"{ODD}:{bot} ended its process with status {status}"
    assert found["random", 1].matches[0].deals


def test_what_is_no_fault_of_a_bot() -> None:
    """An error of ours ends the arena with its message, instead of a result."""
    with pytest.raises(WorkerFailed, match="KeyError: 'chess'"):
        play(1, task("random", "greedy", rule_set="chess"))


def test_stopped() -> None:
    """Workers that are stopped end soon, whatever their bots do; pairs under way are lost."""
    workers = Workers(2)
    finished = []
    for pair in workers.play(task("random", f"{ODD}:{bot}", number) for number, bot in enumerate(["Last", "Sleeps"])):
        finished.append(pair.number)
        workers.stop()
    assert finished == [0]


def test_nothing_to_play() -> None:
    """Without tasks nothing is played, and nobody waits."""
    assert play(2) == {}
