"""Commits to PostgreSQL in batches: those that arrive while one is under way share the next transaction.

One transaction means one round trip, one flush of the log and one notification for all. The last is what counts: at the
end of a transaction that notifies, PostgreSQL holds a lock that no other such transaction in the server gets before the
log is flushed, so that single commits follow each other at the speed of the disk however many connections they come by.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from asyncpg import Connection

from buraco_service.stores.base import (
    KEPT_REQUESTS,
    PRUNE_STEP,
    AlreadyRemembered,
    Commit,
    Remembered,
    RevisionConflict,
    StoreError,
    TableNotFound,
)
from buraco_service.stores.limits import MAX_NUMBER
from buraco_service.stores.postgres.lanes import Work

MOST_COMMITS = 128
_MOST_BYTES = 8 * 1024 * 1024
_SECONDS_AN_HOUR = 3600

_COMMIT = (
    "SELECT outcome, made, first_answer FROM"
    " buraco.commit_steps_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
)

OnCommit = Callable[[str, int | None], None]


def hour(seconds: float) -> int:
    """The hour since the epoch, by which tables are found to expire."""
    return int(seconds // _SECONDS_AN_HOUR)


class CommitBatch(Work):
    """Commits of one transaction. `on_commit` hears of tables and their new revision, None if that is not known."""

    def __init__(self, commits: Sequence[tuple[Commit, asyncio.Future[int]]], on_commit: OnCommit) -> None:
        super().__init__()
        self.commits = list(commits)
        self._on_commit = on_commit

    async def run(self, connection: Connection) -> None:
        """See `Work.run`."""
        # In the same order everywhere, so that two batches cannot wait for each other. Stable: a table's keep theirs.
        self.commits.sort(key=lambda pair: pair[0].table_id)
        rows = await connection.fetch(
            _COMMIT, *_columns([commit for commit, _ in self.commits]), PRUNE_STEP, MAX_NUMBER
        )
        for (commit, future), row in zip(self.commits, rows, strict=True):
            error = _refusal(commit, row)
            # Who asked goes on before anybody else hears of it: what it remembers of its change spares others a read.
            if not future.done():
                if error is None:
                    future.set_result(row["made"])
                else:
                    future.set_exception(error)
            if error is None:
                self._on_commit(commit.table_id, row["made"])

    def fail(self, error: Exception) -> None:
        """See `Work.fail`."""
        for commit, future in self.commits:
            if not future.done():
                future.set_exception(error)
            # It may be there all the same, and the server's word of it may have been taken for our own.
            self._on_commit(commit.table_id, None)

    def parts(self) -> list[Work]:
        """See `Work.parts`."""
        return [CommitBatch([pair], self._on_commit) for pair in self.commits] if len(self.commits) > 1 else []


def gather(queue: deque[Work]) -> Work:
    """One batch of the first in the queue and of those behind it, as far as they go together."""
    batch = queue.popleft()
    assert isinstance(batch, CommitBatch)
    size = _size(batch)
    while queue and len(batch.commits) < MOST_COMMITS and size < _MOST_BYTES:
        following = queue.popleft()
        assert isinstance(following, CommitBatch)
        batch.commits += following.commits
        size += _size(following)
    return batch


def _size(batch: CommitBatch) -> int:
    return sum(
        len(commit.state) + len(commit.entry) + len(commit.answer) + sum(len(payload) for _, payload in commit.records)
        for commit, _ in batch.commits
    )


def _columns(commits: Sequence[Commit]) -> list[list[Any]]:
    """The arguments of the server's function: one column for each field."""
    return [
        [commit.table_id for commit in commits],
        [min(max(commit.expected_revision, -1), MAX_NUMBER + 1) for commit in commits],
        [commit.state for commit in commits],
        [commit.status for commit in commits],
        [commit.now for commit in commits],
        [hour(commit.now) for commit in commits],
        [commit.entry for commit in commits],
        [commit.request_id for commit in commits],
        [commit.answer for commit in commits],
        [_last_dropped(commit) for commit in commits],
        [_last_forgotten(commit) for commit in commits],
        [place for place, commit in enumerate(commits, 1) for _ in _records(commit)],
        [deal for commit in commits for deal in _records(commit)],
        [payload for commit in commits for payload in _records(commit).values()],
    ]


def _records(commit: Commit) -> dict[int, bytes]:
    """By deal: one statement cannot replace what it has just written."""
    return dict(commit.records)


def _last_dropped(commit: Commit) -> int | None:
    """The newest log entry that may go."""
    if commit.keep_log_after is None:
        return None
    return max(min(commit.keep_log_after, commit.expected_revision, MAX_NUMBER), -1)


def _last_forgotten(commit: Commit) -> int | None:
    """The newest revision whose request is to be forgotten, now and then."""
    made = commit.expected_revision + 1
    return made - KEPT_REQUESTS if made % PRUNE_STEP == 0 and KEPT_REQUESTS < made <= MAX_NUMBER else None


def _refusal(commit: Commit, row: Any) -> StoreError | None:
    outcome = row["outcome"]
    if outcome == "committed":
        return None
    if outcome == "remembered":
        return AlreadyRemembered(commit.table_id, Remembered(row["made"], row["first_answer"]))
    if outcome == "lost":
        return RevisionConflict(row["made"])
    if outcome == "missing":
        return TableNotFound(commit.table_id)
    return StoreError("the table has had as many revisions as there can be")
