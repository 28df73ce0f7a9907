"""The labels by which tables are listed: whose seats they have, and for which bots they wait.

A store replaces the labels of a table in the commit that changes them. No released version had players with ids, so
that no table lacks its labels; one without them gets them when its match starts or ends.
"""

from buraco_service.tables.state import TableValue
from buraco_service.tables.substitutes import awaited_bot


def player_label(player_id: str) -> str:
    """Return the label of tables where a player has a seat."""
    return f"player:{player_id}"


def bot_label(level: str) -> str:
    """Return the label of tables with a seat that waits for a bot of a level."""
    return f"bot:{level}"


def labels_of(table: TableValue) -> frozenset[str]:
    """Return the labels of a table."""
    players = [player_label(seat.player_id) for seat in table.seats if seat.player_id]
    levels = [awaited_bot(table, seat) for seat in range(len(table.seats))]
    return frozenset([*players, *[bot_label(level) for level in levels if level]])


def changed_labels(before: TableValue, after: TableValue) -> frozenset[str] | None:
    """Return the labels of a table after a change; None if the store need not replace those that it has.

    Moves change none, except where bots play for absent players: then somebody may have become absent.
    """
    is_same_state = before.state is after.state
    if is_same_state and before.seats is after.seats and not after.options.substitute_level:
        return None
    labels = labels_of(after)
    return None if is_same_state and labels == labels_of(before) else labels
