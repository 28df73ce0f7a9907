from __future__ import annotations

import asyncio
import socket
import time
import urllib.error
import urllib.request

import pytest

from buraco_service.observing import metrics as metrics_module
from buraco_service.observing.metrics import Metrics
from buraco_service.observing.metrics_server import MetricsServer


@pytest.fixture
def metrics() -> Metrics:
    """Metrics that know two rule sets."""
    return Metrics(rule_sets=["open", "closed"], version="1.2.3")


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """The sample with this name and these labels."""
    return metrics.registry.get_sample_value(name, labels)


def test_calls(metrics: Metrics) -> None:
    """A call is counted when it begins and, by its code, when it ends; its seconds go into the histogram."""
    rpc = {"grpc_type": "UNARY", "grpc_service": "buraco.v1.TableService", "grpc_method": "GetTable"}
    figures = metrics.method("UNARY", "buraco.v1.TableService", "GetTable")
    assert metrics.method("UNARY", "buraco.v1.TableService", "GetTable") is figures
    figures.started += 2
    figures.received += 1
    figures.sent += 1
    figures.observe_end("OK", 0.005)
    figures.observe_end("NOT_FOUND", 0.2)
    assert value(metrics, "grpc_server_started_total", **rpc) == 2
    assert value(metrics, "grpc_server_msg_received_total", **rpc) == 1
    assert value(metrics, "grpc_server_msg_sent_total", **rpc) == 1
    assert value(metrics, "grpc_server_handled_total", **rpc, grpc_code="OK") == 1
    assert value(metrics, "grpc_server_handled_total", **rpc, grpc_code="NOT_FOUND") == 1
    for bound, calls in (("0.002", 0), ("0.005", 1), ("0.1", 1), ("0.25", 2), ("600.0", 2), ("+Inf", 2)):
        assert value(metrics, "grpc_server_handling_seconds_bucket", **rpc, le=bound) == calls
    assert value(metrics, "grpc_server_handling_seconds_count", **rpc) == 2
    assert value(metrics, "grpc_server_handling_seconds_sum", **rpc) == pytest.approx(0.205)


def test_the_game(metrics: Metrics) -> None:
    """Moves, deals, matches and tables are counted by rule set, those that are not presets together."""
    metrics.count_created_table("open")
    metrics.count_created_table("my house rules")
    metrics.count_created_table("grandma's")
    metrics.count_moves("open", "accepted", 3)
    metrics.count_moves("open", "illegal")
    metrics.count_violation("GAP")
    metrics.count_deal("closed", "closed")
    metrics.count_match("closed")
    assert value(metrics, "buraco_tables_created_total", rule_set="open") == 1
    assert value(metrics, "buraco_tables_created_total", rule_set="custom") == 2
    assert value(metrics, "buraco_moves_total", rule_set="open", outcome="accepted") == 3
    assert value(metrics, "buraco_moves_total", rule_set="open", outcome="illegal") == 1
    assert value(metrics, "buraco_violations_total", reason="GAP") == 1
    assert value(metrics, "buraco_deals_finished_total", rule_set="closed", ending="closed") == 1
    assert value(metrics, "buraco_matches_finished_total", rule_set="closed") == 1


def test_the_store(metrics: Metrics) -> None:
    """Operations of the store are counted by outcome and timed; lost races and subscriptions are counted."""
    metrics.observe_store_operation("commit", "ok", 0.004)
    metrics.observe_store_operation("commit", "conflict", 0.004)
    metrics.count_conflict()
    metrics.set_store_watchers(7)
    assert value(metrics, "buraco_store_watchers") == 7
    assert value(metrics, "buraco_store_operations_total", operation="commit", outcome="ok") == 1
    assert value(metrics, "buraco_store_operations_total", operation="commit", outcome="conflict") == 1
    assert value(metrics, "buraco_store_operation_seconds_count", operation="commit") == 2
    assert value(metrics, "buraco_store_conflicts_total") == 1


def test_watches(metrics: Metrics) -> None:
    """The gauge shows the watches that are open now."""
    metrics.add_watch()
    metrics.add_watch()
    metrics.remove_watch()
    assert value(metrics, "buraco_watches") == 1


def test_requests_for_moves(metrics: Metrics) -> None:
    """Requests for moves are timed by their outcome."""
    metrics.observe_move_request("ok", 0.003)
    metrics.observe_move_request("ok", 0.1)
    metrics.observe_move_request("failed", 30.0)
    name = "buraco_move_request_seconds"
    for bound, requests in (("0.002", 0), ("0.005", 1), ("0.1", 2), ("10.0", 2), ("+Inf", 2)):
        assert value(metrics, f"{name}_bucket", outcome="ok", le=bound) == requests
    assert value(metrics, f"{name}_bucket", outcome="failed", le="10.0") == 0
    assert value(metrics, f"{name}_count", outcome="failed") == 1
    assert value(metrics, f"{name}_sum", outcome="ok") == pytest.approx(0.103)
    assert value(metrics, f"{name}_count", outcome="refused") == 0


def test_scores_of_deals(metrics: Metrics) -> None:
    """Buracos are counted by kind, and both sides' scores fall into the histogram, negative ones too."""
    metrics.observe_scores("open", ["clean", "dirty", "clean"], [850, -210])
    assert value(metrics, "buraco_buracos_total", rule_set="open", kind="clean") == 2
    assert value(metrics, "buraco_buracos_total", rule_set="open", kind="dirty") == 1
    for bound, sides in (("-500.0", 0), ("-200.0", 1), ("800.0", 1), ("1000.0", 2), ("+Inf", 2)):
        assert value(metrics, "buraco_deal_score_points_bucket", rule_set="open", le=bound) == sides


def test_tables_in_the_store(metrics: Metrics) -> None:
    """The gauge shows the newest count of stored tables by state, and nothing while it is unknown."""
    metrics.set_stored_tables({"waiting": 2, "playing": 5})
    metrics.set_stored_tables({"waiting": 1, "playing": 6})
    assert value(metrics, "buraco_tables", state="waiting") == 1
    assert value(metrics, "buraco_tables", state="playing") == 6
    metrics.set_stored_tables({})
    assert value(metrics, "buraco_tables", state="waiting") is None


def test_labels_are_bounded(metrics: Metrics) -> None:
    """A family has at most 512 series; further label values are counted together as "other"."""
    for number in range(2000):
        metrics.count_violation(f"REASON_{number}")
    series = [
        sample
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "buraco_violations_total"
    ]
    assert len(series) == 513
    assert value(metrics, "buraco_violations_total", reason="other") == 2000 - 512


def test_two_servers_do_not_mix() -> None:
    """Each Metrics has a registry of its own."""
    one, other = Metrics(), Metrics()
    one.count_conflict()
    assert value(other, "buraco_store_conflicts_total") == 0


def test_what_runs_here(metrics: Metrics) -> None:
    """The build, the process and the interpreter are described."""
    names = {family.name for family in metrics.registry.collect()}
    assert value(metrics, "buraco_build_info", version="1.2.3") == 1
    assert {"process_cpu_seconds", "python_info", "python_gc_collections"} <= names


async def test_loop_lag(metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that is kept from waking up shows in the lag."""
    monkeypatch.setattr(metrics_module, "_LAG_PERIOD", 0.001)
    observing = asyncio.create_task(metrics.observe_loop_lag())
    await asyncio.sleep(0)
    busy_until = time.perf_counter() + 0.06
    while time.perf_counter() < busy_until:
        pass
    # The timer is due: one turn of the loop finds it, the next wakes the task.
    for _ in range(3):
        await asyncio.sleep(0)
    observing.cancel()
    assert (value(metrics, "buraco_event_loop_lag_seconds_sum") or 0) >= 0.05


def test_served_over_http(metrics: Metrics) -> None:
    """The metrics can be scraped until the server is closed."""
    server = MetricsServer(metrics.registry, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.port}/metrics"
    with urllib.request.urlopen(url, timeout=10) as answer:
        text = answer.read().decode()
    server.close()
    assert 'buraco_build_info{version="1.2.3"} 1.0' in text
    assert "buraco_store_conflicts_total 0.0" in text
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=10)


def test_taken_port(metrics: Metrics) -> None:
    """A taken port is an error."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        MetricsServer(metrics.registry, "127.0.0.1", taken.getsockname()[1])
