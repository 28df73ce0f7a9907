"""The labels of tables in the PostgreSQL store, and the calls of the server that write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asyncpg import Connection

from buraco_service.stores.base import Commit, StoredTable

COMMIT_LABELLED = (
    "SELECT outcome, made, first_answer FROM buraco.commit_labelled_1("
    "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)"
)
"""For commits of which some change labels: the arguments of `commit_steps_2`, then `label_columns`."""


def label_columns(commits: Sequence[Commit]) -> list[list[Any]]:
    """Return the places of commits that change labels, and each label with the place of its commit."""
    changed = [(place, commit.labels) for place, commit in enumerate(commits, 1) if commit.labels is not None]
    return [
        [place for place, _ in changed],
        [place for place, labels in changed for _ in labels],
        [label for _, labels in changed for label in labels],
    ]


async def list_labelled(db: Connection, label: str, limit: int, after: str | None) -> list[StoredTable]:
    """Return the first `limit` tables with a label after an id (None: from the start), by id."""
    rows = await db.fetch(
        "SELECT l.table_id, revision, state, status, created_at, updated_at"
        " FROM buraco.labels AS l JOIN buraco.tables USING (number)"
        " WHERE l.label = $1 AND l.table_id > $2 ORDER BY l.table_id LIMIT $3",
        *(label, after or "", limit),
    )
    return [StoredTable(*row) for row in rows]
