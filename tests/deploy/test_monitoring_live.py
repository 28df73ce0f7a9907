"""Metrics, rules and dashboard in a real Prometheus: `make monitoring-test`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
from deploy.grafana.dashboard import DASHBOARD

from buraco_client import BuracoClient, BuracoError
from tests.deploy.prometheus import Prometheus, check, running
from tests.servers.service import START
from tests.servers.valkey import DURABLE, Valkey
from tests.service.programs import Program, get

pytestmark = pytest.mark.monitoring

BOARD: Final[dict[str, Any]] = json.loads(DASHBOARD.read_text())
_RULE_SETS: Final = ("open", "burraco", "closed-dirty")
_PLAYING: Final = 6
_MATCHES: Final = 6


def test_rules_are_good(promtool: str) -> None:
    """Promtool finds no problem in rules and configuration."""
    assert "SUCCESS" in check(promtool, "check", "rules", "rules.yml")
    assert "SUCCESS" in check(promtool, "check", "config", "prometheus.yml")


def test_alerts_fire_for_their_reason(promtool: str) -> None:
    """Every alert fires for its cause, and for nothing else."""
    assert "SUCCESS" in check(promtool, "test", "rules", "rules_test.yml")


@contextlib.asynccontextmanager
async def fleet(server: str, folder: Path) -> AsyncIterator[str]:
    """A fleet of bots in a process of its own; gives the address of its metrics."""
    command = [sys.executable, "-m", "buraco_service", "fleet", "--server", server, "--bots", "greedy,random"]
    options = ["--seats-limit", str(2 * _PLAYING), "--courtesy", "0", "--grace", "0", "--metrics-port", "0"]
    log = folder / "fleet.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(*command, *options, stdout=output, stderr=output)
    try:
        async with asyncio.timeout(START):
            while not (found := re.search(r"metrics at (\S+)", log.read_text())):
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.05)
        yield found[1]
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def keep_tables_open(client: BuracoClient) -> None:
    """Keep a table open for bots, of one rule set after the other, until cancelled."""
    for rule_set in (_RULE_SETS[number % len(_RULE_SETS)] for number in range(100_000)):
        with contextlib.suppress(BuracoError):
            await client.create_table(rule_set, seats=2, target_score=0)
        await asyncio.sleep(0.5)


@pytest.fixture
async def load(tmp_path: Path, prometheus: str) -> AsyncIterator[tuple[Prometheus, Valkey, list[str]]]:
    """A server and a fleet that plays at it, scraped; the store, and where the metrics are."""
    store = Valkey(tmp_path / "valkey", *DURABLE)
    store.start()
    program = Program(tmp_path, BURACO_STORE=store.url, BURACO_LOG_LEVEL="warning")
    try:
        ready = await program.ready()
        async with (
            fleet(ready["address"], tmp_path) as bots,
            BuracoClient(ready["address"]) as client,
            running(prometheus, tmp_path, {"buraco": ready["metrics_address"], "buraco-fleet": bots}) as scraping,
        ):
            opening = asyncio.create_task(keep_tables_open(client))
            try:
                yield scraping, store, [ready["metrics_address"], bots]
            finally:
                opening.cancel()
    finally:
        program.process.terminate()
        await program.end()
        store.stop()


def as_grafana_asks(expression: str) -> str:
    """Return an expression with the dashboard's variables filled in."""
    return expression.replace("$job", "buraco").replace("$__rate_interval", "1m")


async def test_under_load(load: tuple[Prometheus, Valkey, list[str]], promtool: str) -> None:
    """Under bot load every query of every panel returns data, and no alert fires; the metrics are clean.

    When the store is stopped, the alert of the store fires, and the requests that fail are seen; when it is back, the
    alert ends by itself.
    """
    prometheus, store, addresses = load

    async def enough_played() -> bool:
        finished = await prometheus.query('sum(buraco_fleet_sittings_total{outcome="finished"})')
        # Rates need two scrapes of the last event.
        return (
            bool(finished)
            and finished[0] >= 2 * _MATCHES
            and bool(await prometheus.query("sum(rate(buraco_matches_finished_total[1m])) > 0"))
        )

    await prometheus.until(enough_played, 240)
    for address in addresses:
        text = await asyncio.to_thread(get, f"http://{address}/metrics")
        check(promtool, "check", "metrics", standard_input=text.encode())
    queries = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]

    async def all_shown() -> bool:
        # Some use recorded rules, which takes an evaluation or two.
        return all([await prometheus.query(as_grafana_asks(query)) for query in queries])

    with contextlib.suppress(TimeoutError):
        await prometheus.until(all_shown, 60)
    assert [query for query in queries if not await prometheus.query(as_grafana_asks(query))] == []
    assert await prometheus.firing() == set()
    assert await prometheus.broken_rules() == []

    await asyncio.to_thread(store.stop)

    async def store_alert() -> bool:
        return "BuracoStoreUnavailable" in await prometheus.firing()

    await prometheus.until(store_alert, 240)
    assert await prometheus.query("job:buraco_failed:ratio5m > 0")
    await asyncio.to_thread(store.start)

    async def quiet() -> bool:
        return "BuracoStoreUnavailable" not in await prometheus.firing()

    await prometheus.until(quiet, 240)
