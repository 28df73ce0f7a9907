"""Reads what deploy/ configures for Prometheus and Grafana."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from prometheus_client.metrics_core import Metric

from buraco_bots.fleet_metrics import FleetMetrics
from buraco_rules import PRESETS
from buraco_service.observing.metrics import Metrics
from buraco_service.workers.metrics import SupervisorMetrics

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy"
PROMETHEUS: Final = DEPLOY / "prometheus"
RUNBOOK: Final = (DEPLOY / "README.md").read_text()

# Added by Prometheus itself.
ADDED_METRICS: Final = {"up": {"job", "instance"}, "ALERTS": {"alertname", "alertstate", "severity", "job"}}
ADDED_LABELS: Final = {"job", "instance"}


def _yaml(name: str) -> Any:
    return yaml.safe_load((PROMETHEUS / name).read_text())


RULES: Final[list[dict[str, Any]]] = [rule for group in _yaml("rules.yml")["groups"] for rule in group["rules"]]
ALERTS: Final = {rule["alert"]: rule for rule in RULES if "alert" in rule}
RECORDED: Final = {rule["record"]: rule for rule in RULES if "record" in rule}
RULE_TESTS: Final[list[dict[str, Any]]] = _yaml("rules_test.yml")["tests"]


def exported() -> dict[str, set[str]]:
    """Return the labels of every series that service, supervisor and fleet can export, by its name."""
    found: dict[str, set[str]] = {}
    for family in _families():
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def _families() -> Iterator[Metric]:
    service, fleet = Metrics([preset.id for preset in PRESETS]), FleetMetrics()
    # A series with labels exists only after its first event.
    service.method("UNARY", "buraco.v1.TableService", "GetTable").observe_end("OK", 0.001)
    service.count_moves("open", "accepted")
    service.count_violation("GAP")
    service.count_deal("open", "closed")
    service.observe_scores("open", ["clean"], [100])
    service.count_match("open")
    service.count_cut_off_match("open", "resigned")
    service.count_created_table("open")
    service.set_stored_tables({"playing": 1})
    service.count_refusal("LIMIT_REACHED", "watches")
    service.count_web_call("connect")
    service.count_dropped_connection("unread")
    service.observe_store_operation("commit", "ok", 0.001)
    fleet.observe_choice("greedy", 0.001)
    fleet.count_fault("greedy", "late")
    for registry in (service.registry, fleet.registry, SupervisorMetrics().registry):
        yield from registry.collect()


def selectors(expression: str) -> list[tuple[str, dict[str, str]]]:
    """Return the metrics in a PromQL expression, each with its matchers by label."""
    plain = re.sub(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)", " ", expression)
    found = []
    for name, matchers in re.findall(r"\b([a-zA-Z_:][\w:]*)\b(?!\s*\()(?:\{([^}]*)\})?", _without_strings(plain)):
        if name not in _WORDS:
            index = int(matchers.strip("§") or -1)
            found.append((name, _matchers(plain, index)))
    return found


_WORDS: Final = {"and", "or", "unless", "bool", "offset", "s", "m", "h", "d", "__rate_interval"}
_BRACES: Final = re.compile(r"\{([^}]*)\}")


def _without_strings(expression: str) -> str:
    """Return the expression with a number in place of the contents of each pair of braces, and without ranges."""
    numbers = iter(range(10_000))
    plain = _BRACES.sub(lambda _: f"{{§{next(numbers)}§}}", expression)
    return re.sub(r"\[[^\]]*\]", " ", plain)


def _matchers(expression: str, index: int) -> dict[str, str]:
    if index < 0:
        return {}
    return dict(re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', _BRACES.findall(expression)[index]))


def expressions_by_owner(dashboard: dict[str, Any]) -> dict[str, str]:
    """Return every expression of rules and dashboard, by its alert, rule or panel."""
    rules = {str(rule.get("alert") or rule["record"]): str(rule["expr"]) for rule in RULES}
    panels = {
        f"{panel['title']} {target['refId']}": str(target["expr"])
        for panel in dashboard["panels"]
        for target in panel.get("targets", ())
    }
    assert not rules.keys() & panels.keys()
    return rules | panels
