"""One attack on one server, and what came of it."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Final, NamedTuple

import grpc

from tests.abuse.attacks import ATTACKS, Target
from tests.abuse.crowd import Crowd, crowd
from tests.abuse.frames import http2_over_tls
from tests.bench.processes import resident_bytes
from tests.certificates import Authority
from tests.service.programs import Program, get

WAYS: Final = ("plain", "tls", "workers")
MAX_GROWTH: Final = 128.0
"""MiB by which a process may grow under attack: twice what messages that are only partly there may hold."""
KINDS: Final = ("updates of players", "looks", "probes", "scrapes")
"""What others have to get done under attack."""
_MOST_ROUNDS: Final = 10
_SETTLE: Final = 0.5
_MESSAGE_BYTES: Final = 65_536
_TRACES: Final = {
    "paths_that_are_no_text": 'grpc_server_started_total{grpc_method="unknown"',
    "strange_headers": 'grpc_server_started_total{grpc_method="GetTable"',
    "headers_alone": 'buraco_refusals_total{limit="peer_unsent_messages"',
    "half_messages": 'buraco_refusals_total{limit="peer_unsent_messages"',
    "web_half_bodies": 'buraco_refusals_total{limit="peer_unsent_messages"',
    "web_bombs": 'buraco_refusals_total{limit="message_bytes"',
    "resets": 'grpc_server_handled_total{grpc_code="CANCELLED",grpc_method="GetTable"',
}
"""What shows in the metrics, by attack."""


class Outcome(NamedTuple):
    """What came of an attack."""

    way: str
    attack: str
    before: float
    peak: float
    noted: Crowd
    traces: float
    faults: list[str]

    @staticmethod
    def heading() -> str:
        """Return the names of what `line` shows."""
        names = f"{'way':8} {'attack':24} {'MiB':>6} {'peak':>6} {'traces':>8} {'longest':>8}"
        return f"{names}  what others got done"

    def line(self) -> str:
        """Return the outcome as a line of a table."""
        done = ", ".join([f"{count} {kind}" for kind, count in sorted(self.noted.done.items())])
        figures = f"{self.before:6.0f} {self.peak:6.0f} {self.traces:8.0f} {self.noted.longest:6.2f} s"
        return f"{self.way:8} {self.attack:24} {figures}  {done}, {len(self.noted.failures)} errors"


async def trial(folder: Path, way: str, attack: str, seconds: float) -> Outcome:
    """Serve, let others in, attack, and look."""
    environment, credentials, context = _protection(folder, way)
    options = ["--workers", "2"] if way == "workers" else []
    program = Program(
        folder, "--store", "sqlite:///tables.db", "--web-port", "0", *options, log=folder / "log", **environment
    )
    try:
        place = await program.ready()
        target = Target(place["address"], place["metrics_address"], place["web_address"], context, _MESSAGE_BYTES)
        async with crowd(target.address, target.metrics_address, credentials) as noted:
            await asyncio.sleep(_SETTLE)
            before = peak = _mebibytes(program.process.pid)
            done, idle = dict(noted.done), list(KINDS)
            # Again, where the machine is too busy for anybody to get anything done meanwhile.
            for _ in range(_MOST_ROUNDS):
                attacking = asyncio.create_task(ATTACKS[attack](target, seconds))
                while not attacking.done():
                    peak = max(peak, _mebibytes(program.process.pid))
                    await asyncio.wait((attacking,), timeout=0.1)
                attacking.result()
                idle = [kind for kind in KINDS if noted.done.get(kind) == done.get(kind)]
                if not idle:
                    break
            await asyncio.sleep(_SETTLE)
        ended = program.process.poll()
        traces = 0.0 if ended is not None else await asyncio.to_thread(_sample, target, _TRACES.get(attack, ""))
    finally:
        program.process.terminate()
        status, _, _ = await program.end()
    log = (folder / "log").read_text()
    faults = list(dict.fromkeys(noted.failures))[:5]
    if ended is not None:
        faults.append(f"the process ended with status {ended}")
    elif status != 0:
        faults.append(f"the process stopped with status {status}")
    if peak - before > MAX_GROWTH:
        faults.append(f"the process grew by {peak - before:.0f} MiB")
    if attack in _TRACES and not traces:
        faults.append("nothing shows in the metrics")
    if "Traceback" in log:
        faults.append(f"exceptions in the log: {log[log.index('Traceback') :][:600]}")
    faults += [f"nobody got any {kind} done under attack" for kind in idle]
    return Outcome(way, attack, before, peak, noted, traces, faults)


def _protection(folder: Path, way: str) -> tuple[dict[str, str], grpc.ChannelCredentials | None, ssl.SSLContext | None]:
    """Return settings, and what a client and an attacker need."""
    if way != "tls":
        return {}, None, None
    authority = Authority()
    certificate, key = authority.pair()
    (folder / "certificate.pem").write_bytes(certificate)
    (folder / "key.pem").write_bytes(key)
    environment = {
        "BURACO_TLS": "tls",
        "BURACO_TLS_CERT_FILE": str(folder / "certificate.pem"),
        "BURACO_TLS_KEY_FILE": str(folder / "key.pem"),
    }
    return environment, authority.trusting(), http2_over_tls(authority.pem)


def _mebibytes(process: int) -> float:
    """Return the resident memory of a process and its children."""
    return sum(map(resident_bytes, (process, *_children(process)))) / 2**20


def _children(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in children.read_text().split()] if children.exists() else []


def _sample(target: Target, beginning: str) -> float:
    """Return the sum of the samples whose line begins like that; its labels in the order in which they are shown."""
    lines = get(f"http://{target.metrics_address}/metrics").splitlines()
    wanted = set(beginning.partition("{")[2].split(",")) - {""}
    name = beginning.partition("{")[0]
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if name and line.startswith(f"{name}{{") and all(label in line for label in wanted)
    )
