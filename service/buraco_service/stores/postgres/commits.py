"""Commits to PostgreSQL in batches: those that arrive while one is under way share the next transaction.

They share a round trip, a flush of the server's log and a notification. The last matters most: a transaction that
notifies holds a lock of the whole server until the log is flushed, so that single commits would follow each other at
the speed of the disk, on however many connections they come.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from asyncpg import Connection

from buraco_service.stores.base import (
    KEPT_ANSWERS,
    PRUNE_STEP,
    AlreadyAnswered,
    Commit,
    RevisionConflict,
    RevisionsExhausted,
    StoredAnswer,
    StoreError,
    TableNotFound,
)
from buraco_service.stores.limits import MAX_NUMBER, hour_of
from buraco_service.stores.postgres.labels import COMMIT_LABELLED, label_columns
from buraco_service.stores.postgres.pool import Work

MAX_COMMITS = 128
"""A batch with so many commits takes no more."""
_MAX_BYTES = 8 * 1024 * 1024

_COMMIT = (
    "SELECT outcome, made, first_answer FROM"
    " buraco.commit_steps_2($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
)

OnCommit = Callable[[str, int | None], None]


class CommitBatch(Work):
    """Commits of one transaction. `on_commit` is called with each table and its new revision; None: not known."""

    def __init__(self, commits: Sequence[tuple[Commit, asyncio.Future[int]]], on_commit: OnCommit) -> None:
        super().__init__()
        self.commits = list(commits)
        self._on_commit = on_commit

    async def run(self, connection: Connection) -> None:
        """Write the commits in one transaction; give each its revision, or the StoreError that it met."""
        # In the same order everywhere, so that two batches cannot wait for each other. Commits of a table keep theirs.
        self.commits.sort(key=lambda pair: pair[0].table_id)
        commits = [commit for commit, _ in self.commits]
        arguments = (*_columns(commits), PRUNE_STEP, MAX_NUMBER)
        if all([commit.labels is None for commit in commits]):
            rows = await connection.fetch(_COMMIT, *arguments)
        else:
            rows = await connection.fetch(COMMIT_LABELLED, *arguments, *label_columns(commits))
        for (commit, future), row in zip(self.commits, rows, strict=True):
            error = _error_in(commit, row)
            # The caller goes on before any subscriber: the copy it caches spares the others a read.
            if not future.done():
                if error is None:
                    future.set_result(row["made"])
                else:
                    future.set_exception(error)
            if error is None:
                self._on_commit(commit.table_id, row["made"])

    def fail(self, error: Exception) -> None:
        """Raise the error for all that wait, and report every table as changed to an unknown revision."""
        for commit, future in self.commits:
            if not future.done():
                future.set_exception(error)
            # It may be committed all the same, and its notification ignored because it is our own.
            self._on_commit(commit.table_id, None)

    def split(self) -> list[Work]:
        """Return a batch for each commit; none for a single commit."""
        return [CommitBatch([pair], self._on_commit) for pair in self.commits] if len(self.commits) > 1 else []


def merge_commits(queue: deque[Work]) -> Work:
    """Take the first batch from the queue, which is not empty, and merge those behind it until the batch is full."""
    batch = queue.popleft()
    assert isinstance(batch, CommitBatch)
    size = _size(batch)
    while queue and len(batch.commits) < MAX_COMMITS and size < _MAX_BYTES:
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
    """Return the arguments of the server's function: one column for each field."""
    return [
        [commit.table_id for commit in commits],
        [min(max(commit.expected_revision, -1), MAX_NUMBER + 1) for commit in commits],
        [commit.state for commit in commits],
        [commit.status for commit in commits],
        [commit.now for commit in commits],
        [hour_of(commit.now) for commit in commits],
        [commit.due_at for commit in commits],
        [commit.entry for commit in commits],
        [commit.request_id for commit in commits],
        [commit.answer for commit in commits],
        [_drop_log_until(commit) for commit in commits],
        [_drop_answers_until(commit) for commit in commits],
        # As dicts, because one statement cannot replace a record that it has just written.
        [place for place, commit in enumerate(commits, 1) for _ in dict(commit.records)],
        [deal for commit in commits for deal in dict(commit.records)],
        [payload for commit in commits for payload in dict(commit.records).values()],
    ]


def _drop_log_until(commit: Commit) -> int | None:
    """Return the newest revision whose log entry may be dropped."""
    if commit.keep_log_after is None:
        return None
    return max(min(commit.keep_log_after, commit.expected_revision, MAX_NUMBER), -1)


def _drop_answers_until(commit: Commit) -> int | None:
    """Return the newest revision whose answer is to be dropped, once in PRUNE_STEP commits."""
    revision = commit.expected_revision + 1
    if revision % PRUNE_STEP == 0 and KEPT_ANSWERS < revision <= MAX_NUMBER:
        return revision - KEPT_ANSWERS
    return None


def _error_in(commit: Commit, row: Any) -> StoreError | None:
    match row["outcome"]:
        case "committed":
            return None
        case "remembered":
            return AlreadyAnswered(commit.table_id, StoredAnswer(row["made"], row["first_answer"]))
        case "lost":
            return RevisionConflict(row["made"])
        case "missing":
            return TableNotFound(commit.table_id)
        case _:
            return RevisionsExhausted()
