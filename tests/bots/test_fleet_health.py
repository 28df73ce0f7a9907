from __future__ import annotations

import asyncio
import contextlib
import threading
from http.client import HTTPConnection

import pytest

from buraco_bots import fleet_health
from buraco_bots.fleet import Fleet
from buraco_bots.fleet_health import Health
from buraco_bots.fleet_metrics import FleetMetrics
from buraco_bots.local_server import local_server
from buraco_bots.scraping import scrape
from buraco_client import BuracoClient
from tests.bots.test_fleet import EAGER, GREEDY, PATIENCE

WORKS, LIVES_ONLY, HANGS = (200, 200), (200, 503), (503, 503)


def probe(port: int) -> tuple[int, int]:
    """The status of both probes: is it live, is it ready?"""

    def status(path: str) -> int:
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    return status("/livez"), status("/readyz")


async def until(port: int, wanted: tuple[int, int]) -> None:
    """Wait until the probes are answered like this."""
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(probe, port) != wanted:
            pass


async def test_ready_while_it_searches() -> None:
    """A fleet is ready while it searches at a server that answers: not before, not at its end, not without the server.

    It is live all the time.
    """
    metrics = FleetMetrics()
    with contextlib.ExitStack() as servers:
        address = servers.enter_context(local_server()).address
        async with BuracoClient(address, timeout=2.0) as client:
            fleet = Fleet(client, GREEDY, EAGER, metrics)
            with metrics.serve("127.0.0.1", 0, Health(lambda: fleet.is_searching)) as port:
                assert await asyncio.to_thread(probe, port) == LIVES_ONLY
                for has_server in (True, False):
                    stop = asyncio.Event()
                    running = asyncio.create_task(fleet.run(stop))
                    await until(port, WORKS)
                    assert "buraco_fleet_seats" in await asyncio.to_thread(scrape, f"127.0.0.1:{port}")
                    if has_server:
                        stop.set()
                    else:
                        await asyncio.to_thread(servers.close)
                    await until(port, LIVES_ONLY)
                    stop.set()
                    await running


def test_not_live_while_its_loop_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fleet whose event loop does not run is neither live nor ready until it runs again."""
    monkeypatch.setattr(fleet_health, "LOOP_SECONDS", 0.2)
    metrics = FleetMetrics()
    is_hanging, may_go_on = threading.Event(), threading.Event()
    answers: list[tuple[int, int]] = []

    async def hang() -> None:
        with metrics.serve("127.0.0.1", 0, Health(lambda: True)) as port:
            thread = threading.Thread(target=ask, args=[port])
            thread.start()
            is_hanging.set()
            may_go_on.wait(PATIENCE)
            await until(port, WORKS)
            await asyncio.to_thread(thread.join)

    def ask(port: int) -> None:
        is_hanging.wait(PATIENCE)
        answers.append(probe(port))
        may_go_on.set()

    asyncio.run(hang())
    assert answers == [HANGS]
