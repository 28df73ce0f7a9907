"""CAPACITY.md has what follows from its figures."""

from __future__ import annotations

import re
import tomllib

import pytest

from buraco_service.observing.metrics import Metrics
from tests.tools.capacity import DOCUMENT, FIGURES, Need, Size, fill_in

FIGURES_NOW = tomllib.loads(FIGURES.read_text())


def test_tables_are_computed_from_the_figures() -> None:
    """The document's tables are what the tool computes; `make generate` writes them."""
    text = DOCUMENT.read_text()
    assert fill_in(text, FIGURES_NOW) == text


def test_other_figures_make_other_tables() -> None:
    """A changed figure changes the tables that depend on it."""
    text = DOCUMENT.read_text()
    slower = FIGURES_NOW | {"service": FIGURES_NOW["service"] | {"stream_ms": 1000.0}}
    assert fill_in(text, slower) != text


def test_arithmetic_of_the_document() -> None:
    """The steps that the document spells out give what is computed."""
    model, limits, service = (FIGURES_NOW[name] for name in ("model", "limits", "service"))
    size = Size(FIGURES_NOW, 100_000)
    moves = 100_000 / model["seconds_a_move"]
    cores = moves * service["stream_ms"] / 1000 / limits["replica_load"]
    assert size.moves == moves
    assert cores <= size.for_moves < cores + 1
    matches = moves * model["mean_load"] * 86_400 / model["moves_a_match"]
    valkey = FIGURES_NOW["store"]["valkey"]
    need = Need(FIGURES_NOW, valkey, size)
    assert need.kept == [pytest.approx(matches * days * valkey["finished_kib"] / 1024**2) for days in model["ttl_days"]]


def test_more_streams_than_replicas_may_hold_need_more_replicas() -> None:
    """Where moves are few, the limit of streams decides how many replicas are needed."""
    slow = FIGURES_NOW | {"model": FIGURES_NOW["model"] | {"seconds_a_move": 1e6}}
    size = Size(slow, 1_000_000)
    assert size.for_moves == 1
    assert size.replicas == size.for_streams + 1
    assert size.for_streams * FIGURES_NOW["limits"]["max_watches"] >= size.streams


def test_masters_take_whole_buckets() -> None:
    """However the buckets fall, no master gets more moves than it can take, and no deployment too many masters."""
    valkey = FIGURES_NOW["store"]["valkey"]
    for tables in (1_000, 90_000, 300_000, 3_000_000):
        size = Size(FIGURES_NOW, tables)
        need = Need(FIGURES_NOW, valkey, size)
        masters = need.servers // need.deployments
        assert 1 <= masters <= valkey["parts"]
        buckets = -(-valkey["parts"] // masters)
        assert size.moves / need.deployments / valkey["parts"] * buckets <= valkey["most_moves"]


def test_metrics_to_watch_exist() -> None:
    """Every metric that the document names is one that the service exports."""
    exported = {
        sample for family in Metrics(["open"]).registry.collect() for sample in (family.name, f"{family.name}_total")
    }
    named = set(re.findall(r"buraco_[a-z_]+", DOCUMENT.read_text()))
    assert len(named) >= 5
    assert named <= exported
