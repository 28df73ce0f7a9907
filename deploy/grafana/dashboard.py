"""Builds the Grafana dashboard: `python -m deploy.grafana.dashboard` writes buraco.json beside this file.

A panel is a few lines here: its title, what it tells, and its queries by their legends. Places and the rest of what
Grafana wants to know follow from these.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

DASHBOARD: Final = Path(__file__).with_name("buraco.json")
_COLUMNS: Final = 24
_ROW_HEIGHT: Final = 1

# The selected job; the name of a fleet's job begins with the service's.
_JOB: Final = 'job="$job"'
_FLEET: Final = 'job=~"$job.*"'
_SERVICES: Final = f'{_JOB}, grpc_service=~"buraco[.].+"'


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: `queries` are PromQL by legend; `unit` is Grafana's name of it."""

    title: str
    description: str
    queries: dict[str, str]
    unit: str = "short"
    kind: Literal["timeseries", "stat", "heatmap"] = "timeseries"
    width: int = 8
    height: int = 7
    stacked: bool = False
    least: float | None = None
    """A stat below this is red."""


def _rate(metric: str, labels: str = "") -> str:
    """Return the expression for the rate of a counter, a second."""
    return f"rate({metric}{{{_JOB}{', ' if labels else ''}{labels}}}[$__rate_interval])"


def _by(label: str, expression: str) -> str:
    return f"sum by ({label}) ({expression})"


def _or_zero(expression: str) -> str:
    """Return an expression that gives zero where no sample exists yet."""
    return f"{expression} or on () vector(0)"


def _quantile(share: float, metric: str, by: str = "", labels: str = _JOB) -> str:
    """Return the expression for a quantile of a histogram, one for each value of the label `by`."""
    return (
        f"histogram_quantile({share}, sum by ({by + ', ' if by else ''}le)"
        f" (rate({metric}_bucket{{{labels}}}[$__rate_interval])))"
    )


def _quantiles(metric: str, labels: str = _JOB) -> dict[str, str]:
    return {f"p{share * 100:g}": _quantile(share, metric, labels=labels) for share in (0.5, 0.95, 0.99)}


def _success_ratio(bad: str, all_: str) -> str:
    """Return the expression for the share that did not go wrong in 30 days."""
    return f"1 - avg_over_time({bad}{{{_JOB}}}[30d]) / (avg_over_time({all_}{{{_JOB}}}[30d]) > 0)"


PLAYERS: Final = (
    Panel(
        "Availability, 30 days",
        "Share of requests that did not fail by a fault of the service. Promised: 99.9 %.",
        {"": _success_ratio("job:buraco_requests_failed:rate5m", "job:buraco_requests:rate5m")},
        unit="percentunit",
        kind="stat",
        width=6,
        height=4,
        least=0.999,
    ),
    Panel(
        "Moves within 0.1 s, 30 days",
        "Share of accepted moves decided within 0.1 s, from the arrival of the request. Promised: 99 %.",
        {"": _success_ratio("job:buraco_moves_slow:rate5m", "job:buraco_moves_ok:rate5m")},
        unit="percentunit",
        kind="stat",
        width=6,
        height=4,
        least=0.99,
    ),
    Panel(
        "Alerts now",
        "Alerts that fire. Their names are headings of deploy/README.md.",
        {"": _or_zero('count(ALERTS{alertstate="firing", alertname=~"Buraco.*"})')},
        kind="stat",
        width=6,
        height=4,
    ),
    Panel(
        "Matches being played",
        "Tables with a running match, in the whole store; counted once a minute.",
        {"": f'max(buraco_tables{{{_JOB}, state="playing"}})'},
        kind="stat",
        width=6,
        height=4,
    ),
    Panel(
        "How long a move takes",
        "From the request, a call or a message of a stream, until it is decided and stored.",
        _quantiles("buraco_move_request_seconds", f'{_JOB}, outcome="ok"'),
        unit="s",
    ),
    Panel(
        "Requests that failed",
        "Share of the last five minutes that failed by a fault of the service, and of moves that took over 0.1 s.",
        {"failed": f"job:buraco_failed:ratio5m{{{_JOB}}}", "slow moves": f"job:buraco_slow:ratio5m{{{_JOB}}}"},
        unit="percentunit",
    ),
    Panel(
        "Requests for moves by outcome",
        "ok: accepted; refused: against the rules or out of turn; failed: by the service; cancelled: by the caller.",
        {"{{outcome}}": _by("outcome", _rate("buraco_move_request_seconds_count"))},
        unit="reqps",
    ),
)

SERVICE: Final = (
    Panel(
        "Calls by method",
        "Calls that ended, in a second. Streams end late: see Watchers for those that are open.",
        {"{{grpc_method}}": f"sum by (grpc_method) (rate(grpc_server_handled_total{{{_SERVICES}}}[$__rate_interval]))"},
        unit="reqps",
        stacked=True,
    ),
    Panel(
        "Calls by status",
        "UNAVAILABLE and INTERNAL are faults of the service.",
        {"{{grpc_code}}": f"sum by (grpc_code) (rate(grpc_server_handled_total{{{_SERVICES}}}[$__rate_interval]))"},
        unit="reqps",
    ),
    Panel(
        "How long calls take: p99 by method",
        "Calls with one answer; streams last as long as somebody watches.",
        {
            "{{grpc_method}}": _quantile(
                0.99, "grpc_server_handling_seconds", "grpc_method", f'{_SERVICES}, grpc_type="UNARY"'
            )
        },
        unit="s",
    ),
    Panel(
        "Calls in flight",
        "Open calls and streams, and calls whose message has not arrived (BuracoMessagesWithheld).",
        {
            "calls": f"sum(grpc_server_started_total{{{_SERVICES}}}) - sum(grpc_server_handled_total{{{_SERVICES}}})",
            "streams": f"sum(buraco_watches{{{_JOB}}})",
            "messages not sent": f"sum(buraco_unsent_messages{{{_JOB}}})",
        },
    ),
    Panel(
        "Refused for a token, a key or a limit",
        "Limits concurrent_calls and watches are the replica's (BuracoFull), the others those of one caller.",
        {"{{reason}} {{limit}}": _or_zero(_by("reason, limit", _rate("buraco_refusals_total")))},
        unit="reqps",
    ),
    Panel(
        "Web port",
        "Calls by protocol, open connections, and those that were closed for what they did.",
        {
            "{{protocol}}": _by("protocol", _rate("buraco_web_calls_total")),
            "connections": f"sum(buraco_web_connections{{{_JOB}}})",
            "closed: {{cause}}": _by("cause", _rate("buraco_web_connections_dropped_total")),
        },
    ),
    Panel(
        "Event loop: how late it wakes up, p95",
        "More than a few milliseconds mean that the process has more to do than a core can.",
        {"{{instance}}": _quantile(0.95, "buraco_event_loop_lag_seconds", "instance")},
        unit="s",
    ),
    Panel(
        "Processor",
        "Cores in use. A worker can use one.",
        {"{{instance}}": _rate("process_cpu_seconds_total")},
    ),
    Panel(
        "Memory",
        "Resident, all workers of a replica together.",
        {"{{instance}}": f"process_resident_memory_bytes{{{_JOB}}}"},
        unit="bytes",
    ),
    Panel(
        "Replicas",
        "Replicas that answer Prometheus, by version.",
        {"{{version}}": f"count by (version) (buraco_build_info{{{_JOB}}})", "down": f"sum(up{{{_JOB}}} == bool 0)"},
    ),
)

STORE: Final = (
    Panel(
        "Operations",
        "Operations of the store, a second.",
        {"{{operation}}": _by("operation", _rate("buraco_store_operations_total"))},
        unit="ops",
        stacked=True,
    ),
    Panel(
        "How long operations take: p99",
        "A move is one commit; most other calls read one revision.",
        {"{{operation}}": _quantile(0.99, "buraco_store_operation_seconds", "operation")},
        unit="s",
    ),
    Panel(
        "Operations by outcome, ok left out",
        "unavailable and error are faults; conflict, remembered (a stored answer) and not_found are ordinary.",
        {"{{outcome}}": _or_zero(_by("outcome", _rate("buraco_store_operations_total", 'outcome!="ok"')))},
        unit="ops",
    ),
    Panel(
        "Commits that lost a race",
        "They are repeated. Many mean that several clients move for one seat, or that one table is very busy.",
        {"conflicts": f"sum({_rate('buraco_store_conflicts_total')})"},
        unit="ops",
    ),
    Panel(
        "Watchers",
        "Streams that watch or play a table, and the subscriptions to the store behind them.",
        {
            "streams": f"sum(buraco_watches{{{_JOB}}})",
            "subscriptions": f"sum(buraco_store_watchers{{{_JOB}}})",
            "players seen": f"sum(buraco_present_seats{{{_JOB}}})",
        },
    ),
    Panel(
        "Tables",
        "In the store, finished ones until they expire; counted once a minute.",
        {"{{state}}": f"max by (state) (buraco_tables{{{_JOB}}})"},
    ),
)

GAME: Final = (
    Panel(
        "Moves by rule set",
        "Accepted moves in a second, those of ValidateMoves among them.",
        {"{{rule_set}}": _by("rule_set", _rate("buraco_moves_total", 'outcome="accepted"'))},
        unit="ops",
        stacked=True,
    ),
    Panel(
        "Rules that moves broke",
        "The ten most frequent. Many of a new client: its author should read move.proto.",
        {"{{reason}}": _or_zero(f"topk(10, {_by('reason', _rate('buraco_violations_total'))})")},
        unit="ops",
    ),
    Panel(
        "Tables opened",
        "By rule set, in an hour.",
        {"{{rule_set}}": f"3600 * {_by('rule_set', _rate('buraco_tables_created_total'))}"},
    ),
    Panel(
        "Deals by ending",
        "Finished deals in an hour. Many that end by the limit of turns: players who do not want to close.",
        {"{{ending}}": f"3600 * {_by('ending', _rate('buraco_deals_finished_total'))}"},
    ),
    Panel(
        "Deals and matches by rule set",
        "Finished in an hour, and matches that players ended before.",
        {
            "{{rule_set}}, deals": f"3600 * {_by('rule_set', _rate('buraco_deals_finished_total'))}",
            "{{rule_set}}, matches": f"3600 * {_by('rule_set', _rate('buraco_matches_finished_total'))}",
            "matches, {{how}}": f"3600 * {_by('how', _rate('buraco_matches_cut_off_total'))}",
        },
    ),
    Panel(
        "Buracos of a deal",
        "By kind, both sides together.",
        {
            "{{kind}}": f"sum by (kind) ({_rate('buraco_buracos_total')})"
            f" / on () group_left () (sum({_rate('buraco_deals_finished_total')}) > 0)"
        },
    ),
    Panel(
        "Scores of a deal",
        "What a side scored; half of the scores are between p25 and p75.",
        {f"p{share * 100:g}": _quantile(share, "buraco_deal_score_points") for share in (0.25, 0.5, 0.75, 0.95)},
    ),
    Panel(
        "Scores, all of them",
        "How many sides scored how much.",
        {"{{le}}": f"sum by (le) (increase(buraco_deal_score_points_bucket{{{_JOB}}}[$__rate_interval]))"},
        kind="heatmap",
        width=16,
    ),
)

BOTS: Final = (
    Panel(
        "How long bots think: p99",
        "For one move that came in time. Each bot has a thread of its own; those of a fleet share one processor.",
        {"{{bot}}": _quantile(0.99, "buraco_bot_think_seconds", "bot", _FLEET)},
        unit="s",
    ),
    Panel(
        "Faults of bots",
        "Moves that were late, illegal or an error; overdue: calls that have not returned yet.",
        {
            "{{bot}} {{fault}}": "sum by (bot, fault)"
            f" (increase(buraco_bot_faults_total{{{_FLEET}}}[$__rate_interval]))",
            "overdue": f"sum (buraco_bot_overdue_calls{{{_FLEET}}})",
        },
    ),
    Panel(
        "Seats that bots hold",
        "By instance of a fleet.",
        {"{{instance}}": f"buraco_fleet_seats{{{_FLEET}}}"},
    ),
    Panel(
        "How bots left their tables",
        "finished is normal; bot_failed is a fault of the bot, seat_lost one of service or network.",
        {"{{outcome}}": f"sum by (outcome) (increase(buraco_fleet_sittings_total{{{_FLEET}}}[$__rate_interval]))"},
    ),
)

ROWS: Final = {"Players' experience": PLAYERS, "Service": SERVICE, "Store": STORE, "Game": GAME, "Bots": BOTS}


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in ROWS.items():
        panels.append(_row(title, len(panels) + 1, top))
        top, left, tallest = top + _ROW_HEIGHT, 0, 0
        for panel in row:
            if left + panel.width > _COLUMNS:
                top, left, tallest = top + tallest, 0, 0
            panels.append(_panel(panel, len(panels) + 1, left, top))
            left, tallest = left + panel.width, max(tallest, panel.height)
        top += tallest
    return {
        "uid": "buraco",
        "title": "Buraco",
        "description": "Generated by deploy/grafana/dashboard.py. deploy/README.md explains each alert.",
        "tags": ["buraco"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [_data_source(), _job()]},
        "panels": panels,
    }


def _data_source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _job() -> dict[str, Any]:
    return {
        "name": "job",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": "label_values(buraco_build_info, job)", "refId": "job"},
        "current": {"text": "buraco", "value": "buraco"},
        "refresh": 2,
    }


_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


def _row(title: str, number: int, top: int) -> dict[str, Any]:
    place = {"x": 0, "y": top, "w": _COLUMNS, "h": _ROW_HEIGHT}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}


def _panel(panel: Panel, number: int, left: int, top: int) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + index), "datasource": _SOURCE, "expr": expression, "legendFormat": legend or "__auto"}
        for index, (legend, expression) in enumerate(panel.queries.items())
    ]
    defaults: dict[str, Any] = {"unit": panel.unit}
    options: dict[str, Any] = {}
    if panel.kind == "timeseries":
        options = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
        defaults["min"] = 0 if "Scores" not in panel.title else None
        defaults["custom"] = {"fillOpacity": 10, "stacking": {"mode": "normal" if panel.stacked else "none"}}
    elif panel.kind == "stat":
        options = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background" if panel.least else "value"}
        if panel.least is not None:
            defaults["decimals"] = 3
            steps = [{"color": "red", "value": None}, {"color": "green", "value": panel.least}]
            defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    elif panel.kind == "heatmap":
        options = {"calculate": False, "yAxis": {"unit": "short"}, "color": {"mode": "scheme", "scheme": "Oranges"}}
        for target in targets:
            target["format"] = "heatmap"
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "gridPos": {"x": left, "y": top, "w": panel.width, "h": panel.height},
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
    }


def text() -> str:
    """Return the contents of the file."""
    return json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    DASHBOARD.write_text(text(), encoding="utf-8")
