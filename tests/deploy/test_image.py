"""The image, built from this checkout, run as the chart runs it, and played on."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any, Final

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from packaging.utils import canonicalize_name

from buraco_client import BuracoClient
from tests.deploy import image
from tests.deploy.image import Container
from tests.deploy.programs import Missing
from tests.servers.processes import free_port
from tests.test_house import PROJECT, RUNTIME_LOCK, pins

pytestmark = [pytest.mark.image, pytest.mark.timeout(1800)]

PATIENCE: Final = 60.0
SERVING: Final = health_pb2.HealthCheckResponse.SERVING
COMPILERS: Final = ("as", "c++", "cc", "clang", "g++", "gcc", "go", "ld", "make", "rustc")
DISTRIBUTIONS: Final = """
import importlib.metadata, json
print(json.dumps({d.name: d.version for d in importlib.metadata.distributions(path=__import__("sys").path[1:])}))
"""


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The image of this checkout; fail, instead of skip, if a tool is missing."""
    try:
        image.check_tools()
    except Missing as reason:
        pytest.fail(str(reason))
    image.build()


@pytest.fixture(scope="module")
def port() -> int:
    """Return the port of the service."""
    return free_port()


@pytest.fixture(scope="module")
def running(built: None, port: int) -> Iterator[Container]:
    """The service as the image starts it, on its own volume."""
    on_loopback = {"BURACO_HOST": "127.0.0.1", "BURACO_METRICS_HOST": "127.0.0.1"}
    container = Container(BURACO_PORT=str(port), BURACO_METRICS_PORT=str(free_port()), **on_loopback)
    try:
        container.start()
        yield container
    finally:
        container.remove()


async def serving(address: str, container: Container) -> None:
    """Wait until the table service is healthy."""
    async with asyncio.timeout(PATIENCE), grpc.aio.insecure_channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest(service="buraco.v1.TableService")
        answer = await stub.Check(request, wait_for_ready=True)
        assert answer.status == SERVING, container.log


def test_image_describes_itself() -> None:
    """Labels, user, signal and start are those of the Dockerfile."""
    described = image.described()
    assert described["User"] == "65532:65532"
    assert described["StopSignal"] == "SIGTERM"
    assert (described["Entrypoint"], described["Cmd"]) == (["buraco"], ["serve"])
    assert set(described["ExposedPorts"]) == {"50051/tcp", "9464/tcp"}
    labels = {name.rpartition(".")[2]: value for name, value in described["Labels"].items()}
    assert labels["title"] == PROJECT["project"]["name"]
    assert labels["version"] == PROJECT["project"]["version"]
    assert labels["licenses"] == PROJECT["project"]["license"]
    assert labels["revision"] == image.REVISION
    assert labels["description"]


async def test_real_move_is_played(running: Container, port: int) -> None:
    """Confined, with only its volume to write to, the service is healthy and accepts a move."""
    address = f"127.0.0.1:{port}"
    await serving(address, running)
    async with BuracoClient(address) as client:
        table = await client.create_table("buraco-plus-classic", 2)
        seats = [await client.join_table(table.id, name) for name in ("Ada", "Bo")]
        offers = [await seat.list_legal_moves() for seat in seats]
        (seat, offer) = next((seat, offer) for seat, offer in zip(seats, offers, strict=True) if offer.moves)
        answer = await seat.submit([offer.moves[0]], offer.revision)
        assert answer.revision > offer.revision
        assert answer.events
        assert (await client.get_table(table.id)).revision == answer.revision


def test_nothing_else_can_be_written(running: Container) -> None:
    """The program has no privileges, and its root file system is read-only."""
    assert running.execute("id", "-u").stdout.strip() == "65532"
    for place in ("/", "/opt/buraco", "/tmp", "/run"):
        assert running.execute("touch", f"{place}/file").returncode != 0, place
    assert running.execute("touch", "/var/lib/buraco/file").returncode == 0
    status = running.execute("cat", "/proc/1/status").stdout
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status


def test_no_compilers_are_inside(running: Container) -> None:
    """No program that builds others is on the path, and no package for building is installed."""
    for name in COMPILERS:
        assert running.execute("sh", "-c", f"command -v {name}").returncode != 0, name


def test_packages_are_the_locked_ones(running: Container) -> None:
    """The packages are those that serving and playing need, at the versions of the lock, and this distribution."""
    done = running.execute("/opt/buraco/bin/python", "-c", DISTRIBUTIONS)
    installed = {canonicalize_name(name): version for name, version in json.loads(done.stdout).items()}
    own = canonicalize_name(PROJECT["project"]["name"])
    assert installed.pop(own) == PROJECT["project"]["version"]
    locked = {name: str(pin.version) for name, pin in pins(RUNTIME_LOCK).items()}
    assert installed.items() <= locked.items()
    assert "grpcio" in installed
    assert not installed.keys() & {"editables", "hatchling", "pip", "setuptools"}


def test_modules_are_compiled(running: Container) -> None:
    """Python has the bytecode of all modules, since it cannot write any."""
    names = ("*.py", "*.pyc")
    sources, compiled = (
        running.execute("find", "/opt/buraco", "-path", "*/buraco_service/*", "-name", name).stdout for name in names
    )
    assert len(sources.split()) == len(compiled.split()) > 0


def test_rules_are_compiled(running: Container) -> None:
    """The rules run as C."""
    show = "import buraco_rules.play.apply as turn; print(turn.__file__)"
    assert running.execute("/opt/buraco/bin/python", "-c", show).stdout.strip().endswith(".so")


async def test_sigterm_ends_it_in_order(running: Container, port: int) -> None:
    """SIGTERM stops the service within its grace with status 0; started again it still has its tables."""
    address = f"127.0.0.1:{port}"
    await serving(address, running)
    async with BuracoClient(address) as client:
        table = await client.create_table("buraco-plus-classic", 2)
        began = time.monotonic()
        running.signal("TERM")
        assert running.wait(PATIENCE) == 0, running.log
        assert time.monotonic() - began < 20
        events = [json.loads(line)["event"] for line in running.log.splitlines()]
        assert events[-1] == "stopped"
        running.start()
        await serving(address, running)
        assert (await client.get_table(table.id)).id == table.id


def test_production_wants_keys() -> None:
    """Without signing keys production mode ends at once, with the reason."""
    container = Container(BURACO_MODE="production")
    try:
        container.start()
        assert container.wait(PATIENCE) == 2
        assert "BURACO_SIGNING_KEYS" in container.log
    finally:
        container.remove()
