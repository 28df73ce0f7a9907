"""Checks of rules and dashboard without a Prometheus; test_monitoring_live.py runs them in one."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from deploy.grafana.dashboard import DASHBOARD, ROWS, text

from buraco_service.observing.metrics import Metrics
from tests.deploy.monitoring import (
    ADDED_LABELS,
    ADDED_METRICS,
    ALERTS,
    RECORDED,
    RULE_TESTS,
    RUNBOOK,
    exported,
    expressions_by_owner,
    selectors,
)

BOARD: dict[str, Any] = json.loads(DASHBOARD.read_text())
EXPRESSIONS = expressions_by_owner(BOARD)


def test_selectors_are_found() -> None:
    """The reader of expressions finds every metric with its matchers, and nothing else."""
    assert selectors('sum by (job) (rate(a_total{b=~"x[.].+", c!="d"}[5m])) / (avg_over_time(e:f[1h]) > 0)') == [
        ("a_total", {"b": "x[.].+", "c": "d"}),
        ("e:f", {}),
    ]
    assert selectors('up{job="a"} == bool 0 or on () vector(0)') == [("up", {"job": "a"})]


@pytest.mark.parametrize("owner", EXPRESSIONS)
def test_metrics_exist(owner: str) -> None:
    """Every metric of a rule or a panel is exported or recorded, with the labels that are used."""
    known = exported() | ADDED_METRICS | dict.fromkeys(RECORDED, ADDED_LABELS)
    named = selectors(EXPRESSIONS[owner])
    assert named
    for metric, matchers in named:
        assert metric in known
        assert matchers.keys() <= known[metric] | ADDED_LABELS, metric


def test_the_promise_is_a_bound_of_the_histogram() -> None:
    """Bounds that rules use are bounds of the histograms."""
    metrics = Metrics()
    metrics.observe_store_operation("commit", "ok", 0.001)
    bounds = {
        (sample.name, sample.labels["le"])
        for family in metrics.registry.collect()
        for sample in family.samples
        if "le" in sample.labels
    }
    asked = {
        (metric, matchers["le"])
        for expression in EXPRESSIONS.values()
        for metric, matchers in selectors(expression)
        if "le" in matchers
    }
    assert asked
    assert asked <= bounds


@pytest.mark.parametrize("name", ALERTS)
def test_alert_is_explained(name: str) -> None:
    """Every alert has a severity and a summary in one sentence, and its runbook line leads to an existing heading."""
    alert = ALERTS[name]
    assert alert["labels"]["severity"] in {"page", "ticket"}
    assert alert["annotations"]["summary"].endswith((".", "?"))
    assert alert["annotations"]["runbook"] == f"deploy/README.md#{name.lower()}"
    (section,) = re.findall(rf"^#### {name}\n\n(.+?)(?=\n#|\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
    assert len(section) > 100


def test_the_runbook_knows_no_other_alert() -> None:
    """The headings of alerts in the runbook are the alerts, in their order."""
    assert re.findall(r"^#### (Buraco\w+)$", RUNBOOK, re.MULTILINE) == list(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_alert_is_tested(name: str) -> None:
    """Every alert has a rule test in which it fires, and is silent where nothing is wrong."""
    cases = [(test["name"], case) for test in RULE_TESTS for case in test["alert_rule_test"]]
    mine = [(test, bool(case["exp_alerts"])) for test, case in cases if case["alertname"] == name]
    assert ("Nothing is wrong.", False) in mine
    assert any(fires for _, fires in mine)


def test_dashboard_is_current() -> None:
    """The dashboard is what its code builds: `make generate` writes it."""
    assert DASHBOARD.read_text() == text()


def test_panels_lie_side_by_side() -> None:
    """Panels have unique numbers, fit the 24 columns, and none covers another."""
    covered: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & covered, panel["title"]
        covered |= cells
    numbers = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("panel", [panel for row in ROWS.values() for panel in row], ids=lambda panel: panel.title)
def test_panel_is_explained(panel: Any) -> None:
    """Every panel has a description, and its legends name labels that its expressions keep."""
    assert panel.description.endswith(".")
    for legend, expression in panel.queries.items():
        for label in re.findall(r"\{\{(\w+)\}\}", legend):
            kept = re.search(rf"by \([^)]*\b{label}\b[^)]*\)", expression)
            assert kept or (label == "instance" and " by " not in expression), (legend, expression)


def test_every_metric_is_shown_or_rung() -> None:
    """Every metric of the project is in a panel or a rule."""
    named = {metric for expression in EXPRESSIONS.values() for metric, _ in selectors(expression)}
    named = {re.sub(r"_(bucket|count|sum)$", "", name) for name in named}
    ours = {
        re.sub(r"_(bucket|count|sum)$", "", name) for name in exported() if name.startswith(("buraco_", "grpc_server_"))
    }
    # Exported for comparisons with other services: messages of a stream.
    assert ours - named <= {"grpc_server_msg_received_total", "grpc_server_msg_sent_total", "buraco_workers"}
