"""Plays the pairs of an arena that are not finished yet."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from buraco_bots.arena.figures import PairFigures
from buraco_bots.arena.journal import Journal
from buraco_bots.arena.pairs import PairTask
from buraco_bots.arena.schedule import schedule
from buraco_bots.arena.statistics import SequentialRun, SequentialTest
from buraco_bots.arena.workers import Workers


class Playing:
    """The pairs that are finished, from a journal and from workers.

    A sequential test counts the pairs of a pairing in order of their numbers, so that it does not prefer short ones.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        order: Sequence[tuple[str, str]],
        count: int,
        test: SequentialTest | None,
        journal: Journal,
    ) -> None:
        """`order`: the pairings; `count`: pairs of each; `journal`: open, where finished pairs are kept."""
        self._settings = settings
        self._order = order
        self._count = count
        self._journal = journal
        self._runs = {} if test is None else {pairing: SequentialRun(test) for pairing in order}
        self._scores: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        self.finished: list[PairFigures] = []
        """In the order in which they were finished."""
        self.deals = 0
        """Those played by `run`, without what the journal had."""
        self.seconds = 0.0
        """How long `run` took, to the last of them."""
        for pair in journal.finished:
            if pair.number < count:
                self._note(pair)

    def run(self, workers: Workers) -> None:
        """Play until all pairs are finished, the test has decided, or the workers are stopped. Raise WorkerFailed."""
        total = self._count * len(self._order)
        columns = (TextColumn("pairs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            bar = progress.add_task("pairs", total=total, completed=len(self.finished))
            start = time.perf_counter()
            for pair in workers.play(self._tasks()):
                self._journal.add(pair)
                self._note(pair)
                self.deals += sum([len(match.deals) for match in pair.matches])
                self.seconds = time.perf_counter() - start
                progress.update(bar, completed=len(self.finished))

    def _note(self, pair: PairFigures) -> None:
        pairing = pair.first, pair.second
        scores = self._scores[pairing]
        if pair.number in scores:
            return
        scores[pair.number] = pair.score
        self.finished.append(pair)
        run = self._runs.get(pairing)
        while run is not None and run.decision == "open" and run.pairs in scores:
            run.add(scores[run.pairs])

    def _tasks(self) -> Iterator[PairTask]:
        settings = self._settings
        for first, second, number in schedule(self._order, self._count):
            run = self._runs.get((first, second))
            if number not in self._scores[first, second] and (run is None or run.decision == "open"):
                yield PairTask(
                    first=first,
                    second=second,
                    rule_set=settings["rule_set"],
                    seats=settings["seats"],
                    target=settings["target"],
                    seed=settings["seed"],
                    number=number,
                    thinking_limit=settings["thinking_limit"],
                )
