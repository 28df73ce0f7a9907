"""Part of `make generate`: computes the tables of deploy/CAPACITY.md from deploy/capacity.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import ceil
from pathlib import Path
from typing import Any, Final

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy"
DOCUMENT: Final = DEPLOY / "CAPACITY.md"
FIGURES: Final = DEPLOY / "capacity.toml"

_DAY: Final = 86_400
_KIB_A_GIB: Final = 1 << 20

Figures = Mapping[str, Any]


class Size:
    """What a number of live tables needs, with any store."""

    def __init__(self, figures: Figures, tables: int) -> None:
        model, limits, service, memory = (figures[name] for name in ("model", "limits", "service", "memory"))
        self.tables = tables
        self.moves = tables / model["seconds_a_move"]
        """Moves a second, at the peak."""
        self.moves_a_day = self.moves * model["mean_load"] * _DAY
        self.matches_a_day = self.moves_a_day / model["moves_a_match"]
        self.streams = tables * (model["players"] + model["spectators"])
        calls = service["share_of_calls"]
        self.milliseconds = calls * service["call_ms"] + (1 - calls) * service["stream_ms"]
        """Processor time of the service a move."""
        self.for_moves = ceil(self.moves * self.milliseconds / 1000 / limits["replica_load"])
        self.for_streams = ceil(self.streams / limits["max_watches"])
        self.replicas = max(limits["least_replicas"], max(self.for_moves, self.for_streams) + limits["spare_replicas"])
        cached = min(limits["cached_tables"], self.streams / self.replicas)
        self.replica_memory = (
            memory["idle"]
            + memory["thousand_watches"] * self.streams / self.replicas / 1000
            + memory["thousand_tables"] * cached / 1000
        )
        """MiB. Streams of one table may be at as many replicas, each of which has the table in its cache."""
        self.down = self.moves * service["bytes_down_a_move"] / 1e6
        """MB a second to all clients."""


class Need:
    """What a number of live tables needs of one store."""

    def __init__(self, figures: Figures, store: Figures, size: Size) -> None:
        limits = figures["limits"]
        self.cores = size.moves * store["move_ms"] / 1000 / limits["store_load"]
        self.live = size.tables * store["live_kib"] / _KIB_A_GIB
        self.kept = [
            size.matches_a_day * days * store["finished_kib"] / _KIB_A_GIB for days in figures["model"]["ttl_days"]
        ]
        """GiB of finished matches, for each time to live."""
        self.log_a_day = size.moves_a_day * store["log_bytes_a_move"] / (1 << 30)
        """GiB."""
        self.deployments, self.servers = _servers(store, size.moves, self.live + min(self.kept))
        """Deployments, each with tables and a store of its own, and servers of all their stores together."""


def _servers(store: Figures, moves: float, gib: float) -> tuple[int, int]:
    """Return the fewest deployments, and then servers, for the data and the moves. A server has whole parts."""
    parts = store["parts"]
    for deployments in count(1):
        for servers in range(1, parts + 1):
            fullest = ceil(parts / servers) / parts / deployments
            if moves * fullest <= store["most_moves"] and gib * fullest <= store.get("gib_each", gib):
                return deployments, deployments * servers
    raise AssertionError("count() does not end")


def tables(figures: Figures) -> dict[str, str]:
    """Return the tables of the document by the name of their mark."""
    sizes = [Size(figures, number) for number in figures["model"]["tables"]]
    made = {"measured": _measured(figures), "memory": _memory(figures["memory"]), "replicas": _replicas(sizes)}
    for name, store in figures["store"].items():
        made[name] = _store(figures, store, [(size, Need(figures, store, size)) for size in sizes])
    return made


def fill_in(text: str, figures: Figures) -> str:
    """Return the document with its tables computed. Raise KeyError for a mark without a table."""
    made = tables(figures)
    return re.sub(
        r"<!-- (\w+) -->\n.*?<!-- /\1 -->",
        lambda mark: f"<!-- {mark[1]} -->\n{made[mark[1]]}\n<!-- /{mark[1]} -->",
        text,
        flags=re.DOTALL,
    )


def _measured(figures: Figures) -> str:
    stores: Sequence[Figures] = list(figures["store"].values())
    rows: list[tuple[str, Callable[[Figures], str]]] = [
        (
            "processor time of the server a move, ms",
            lambda store: f"{store['move_ms']:.2f}" if store["move_ms"] else "–",
        ),
        ("a live table, KiB", lambda store: f"{store['live_kib']:,}"),
        ("a finished match, KiB", lambda store: f"{store['finished_kib']:,}"),
        ("durable log a move, B", lambda store: f"{store['log_bytes_a_move']:,}" if store["log_bytes_a_move"] else "–"),
        ("moves a second that one server is planned for", lambda store: f"{store['most_moves']:,}"),
    ]
    return _table(
        ["", *[store["title"] for store in stores]],
        [[name, *[value_of(store) for store in stores]] for name, value_of in rows],
    )


def _memory(memory: Figures) -> str:
    rows = [
        ("idle", f"{memory['idle']}"),
        ("1,000 open streams, each with a connection of its own", f"{memory['thousand_watches']} more"),
        ("… on shared connections, as behind a proxy", f"{memory['thousand_shared_watches']} more"),
        ("1,000 running tables", f"{memory['thousand_tables']} more"),
        ("all caches at worst", f"{memory['caches']} more"),
        ("after an hour of matches, two at a time", f"{memory['after_an_hour']}"),
        ("growth a minute, after the first 20 minutes of that hour", f"{memory['growth_a_minute']:.2f}"),
    ]
    return _table(["memory of a replica", "MiB"], rows)


def _replicas(sizes: Sequence[Size]) -> str:
    columns = [
        "live tables",
        "moves/s",
        "streams",
        "replicas for moves",
        "for streams",
        "to run",
        "MiB each",
        "MB/s down",
    ]
    return _table(
        columns,
        [
            [
                *(f"{size.tables:,}", f"{size.moves:,.0f}", f"{size.streams:,.0f}", f"{size.for_moves:,}"),
                *(
                    f"{size.for_streams:,}",
                    f"**{size.replicas:,}**",
                    f"{size.replica_memory:,.0f}",
                    f"{size.down:,.1f}",
                ),
            ]
            for size in sizes
        ],
    )


def _store(figures: Figures, store: Figures, needs: Sequence[tuple[Size, Need]]) -> str:
    kept = [f"finished, {days} d" for days in figures["model"]["ttl_days"]]
    columns = ["live tables", "cores", store["servers"], "deployments", "live, GiB", *kept, "log a day, GiB"]
    return _table(
        columns,
        [
            [
                *(f"{size.tables:,}", f"{need.cores:,.1f}" if store["move_ms"] else "–"),
                *(f"**{need.servers:,}**", f"{need.deployments:,}", f"{need.live:,.1f}"),
                *[f"{gib:,.0f}" for gib in need.kept],
                f"{need.log_a_day:,.0f}" if store["log_bytes_a_move"] else "–",
            ]
            for size, need in needs
        ],
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Replace the tables of the document."""
    DOCUMENT.write_text(fill_in(DOCUMENT.read_text(), tomllib.loads(FIGURES.read_text())))


if __name__ == "__main__":
    main()
