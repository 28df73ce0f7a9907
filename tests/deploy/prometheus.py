"""A real Prometheus with the rules and jobs of deploy/, on other ports and with shorter intervals."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.deploy.monitoring import PROMETHEUS

_START: Final = 60.0
_INTERVAL: Final = "1s"


class Prometheus:
    """A running Prometheus."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def query(self, expression: str) -> list[float]:
        """Return the result of an instant query, without NaN. Raise HTTPError for a bad one."""
        found = await self._get("query", query=expression)
        values = [float(series["value"][1]) for series in found["result"]]
        return [value for value in values if math.isfinite(value)]

    async def firing(self) -> set[str]:
        """Return the alerts that fire."""
        found = await self._get("alerts")
        return {alert["labels"]["alertname"] for alert in found["alerts"] if alert["state"] == "firing"}

    async def broken_rules(self) -> list[str]:
        """Return the errors of rules."""
        found = await self._get("rules")
        return [rule["lastError"] for group in found["groups"] for rule in group["rules"] if rule.get("lastError")]

    async def until(self, wanted: Callable[[], Any], seconds: float) -> None:
        """Wait until a condition holds, checked once a second. Raise TimeoutError."""
        async with asyncio.timeout(seconds):
            while not await wanted():  # noqa: ASYNC110 - another process is asked
                await asyncio.sleep(1)

    async def _get(self, what: str, **parameters: str) -> Any:
        url = f"http://{self._address}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"

        def read() -> Any:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)

        answer = await asyncio.to_thread(read)
        assert answer["status"] == "success", answer
        return answer["data"]


@contextlib.asynccontextmanager
async def running(program: str, folder: Path, targets: Mapping[str, str]) -> AsyncIterator[Prometheus]:
    """Run Prometheus as deploy/ configures it; it scrapes these addresses, by job, every second."""
    settings = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    settings["global"] = dict.fromkeys(settings["global"], _INTERVAL)
    for job in settings["scrape_configs"]:
        job["static_configs"] = [{"targets": [targets[job["job_name"]]]}]
    # Without an interval of its own a group uses the short global one; alerts keep their `for`.
    rules = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())
    for group in rules["groups"]:
        group.pop("interval", None)
    (folder / "rules.yml").write_text(yaml.safe_dump(rules))
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
    address = f"127.0.0.1:{_free_port()}"
    options = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address={address}"]
    with (folder / "prometheus.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(program, *options, cwd=folder, stdout=log, stderr=log)
    try:
        await _ready(address, process, folder / "prometheus.log")
        yield Prometheus(address)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _ready(address: str, process: asyncio.subprocess.Process, log: Path) -> None:
    def answers() -> bool:
        try:
            with urllib.request.urlopen(f"http://{address}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    async with asyncio.timeout(_START):
        while not await asyncio.to_thread(answers):
            assert process.returncode is None, f"see {log}"
            await asyncio.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def check(promtool: str, *arguments: str, standard_input: bytes | None = None) -> str:
    """Return the output of promtool. Fail if it finds a problem."""
    done = subprocess.run(
        [promtool, *arguments], input=standard_input, cwd=PROMETHEUS, capture_output=True, timeout=300, check=False
    )
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said
