from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from buraco_service.observing.metrics import Metrics
from buraco_service.workers.metrics import EndedWorkers, Family, SumCollector, SupervisorMetrics, export_families


def counted(conflicts: int, watches: int, seconds: float) -> list[Family]:
    """Return the metrics of a worker, as they arrive at its supervisor."""
    metrics = Metrics(["open"], "1.2.3")
    for _ in range(conflicts):
        metrics.count_conflict()
    for _ in range(watches):
        metrics.add_watch()
    metrics.observe_store_operation("commit", "ok", seconds)
    metrics.method("UNARY", "buraco.v1.TableService", "GetTable").observe_end("OK", seconds)
    families: list[Family] = json.loads(json.dumps(export_families(metrics.registry)))
    return families


def shown(*sources: Sequence[Family]) -> CollectorRegistry:
    """Return a registry that exports the sums of the sources."""
    registry = CollectorRegistry()
    registry.register(SumCollector(lambda: sources))
    return registry


def test_sums() -> None:
    """Counters, gauges and histograms of workers add up, series by series."""
    registry = shown(counted(1, 2, 0.003), counted(10, 20, 0.3))
    assert registry.get_sample_value("buraco_store_conflicts_total") == 11
    assert registry.get_sample_value("buraco_watches") == 22
    rpc = {"grpc_type": "UNARY", "grpc_service": "buraco.v1.TableService", "grpc_method": "GetTable"}
    assert registry.get_sample_value("grpc_server_handled_total", {**rpc, "grpc_code": "OK"}) == 2
    for bound, calls in (("0.002", 0), ("0.005", 1), ("0.25", 1), ("0.5", 2), ("+Inf", 2)):
        assert registry.get_sample_value("grpc_server_handling_seconds_bucket", {**rpc, "le": bound}) == calls
    assert registry.get_sample_value("buraco_store_operation_seconds_sum", {"operation": "commit"}) == pytest.approx(
        0.303
    )


def test_what_is_not_summed() -> None:
    """What describes the program stays 1, and the start is that of the first process."""
    registry = shown(counted(0, 0, 0.1), counted(0, 0, 0.1))
    assert registry.get_sample_value("buraco_build_info", {"version": "1.2.3"}) == 1
    metrics = Metrics()
    metrics.set_stored_tables({"playing": 3})
    families = export_families(metrics.registry)
    assert shown(families, families).get_sample_value("buraco_tables", {"state": "playing"}) == 3
    start = "process_start_time_seconds"
    (one,) = (family for family in export_families(Metrics().registry) if family[0] == start)
    later = [(*one[:3], [(start, {}, one[3][0][2] + 60)])]
    assert shown(later, [one], later).get_sample_value(start) == one[3][0][2]


def test_the_same_metrics_as_of_one_process() -> None:
    """A single source is exported unchanged, and the text can be parsed."""
    metrics = Metrics(["open"], "1.2.3")
    metrics.observe_store_operation("commit", "ok", 0.003)
    families = export_families(metrics.registry)
    steady = [family for family in families if family[0].startswith(("buraco_", "grpc_"))]
    text = generate_latest(shown(steady)).decode()
    own = generate_latest(metrics.registry).decode()
    assert text == own[: own.index("# HELP process_")]
    assert list(text_string_to_metric_families(text))


def test_ended_workers() -> None:
    """Counters and histograms of ended workers stay, their gauges do not."""
    ended = EndedWorkers()
    for _ in range(3):
        ended.add(counted(1, 5, 0.003))
    registry = shown(ended.families, counted(1, 1, 0.003))
    assert registry.get_sample_value("buraco_store_conflicts_total") == 4
    assert registry.get_sample_value("buraco_store_operation_seconds_count", {"operation": "commit"}) == 4
    assert registry.get_sample_value("buraco_watches") == 1
    assert registry.get_sample_value("buraco_build_info", {"version": "1.2.3"}) == 1


def test_the_metrics_of_the_supervisor() -> None:
    """The supervisor adds the number of workers and the memory and time of its own process."""
    own = SupervisorMetrics()
    own.workers.set_function(lambda: 3)
    own.restarts.inc()
    registry = shown(export_families(own.registry), counted(0, 0, 0.1))
    assert registry.get_sample_value("buraco_workers") == 3
    assert registry.get_sample_value("buraco_worker_restarts_total") == 1
    memory = next(family for family in export_families(own.registry) if family[0] == "process_resident_memory_bytes")
    assert (registry.get_sample_value("process_resident_memory_bytes") or 0) > 1.5 * memory[3][0][2]
