from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from buraco_bots.arena.command import arena
from buraco_bots.match_command import match
from buraco_bots.server_access import Access
from buraco_client import ApiKeyRejected, BuracoClient, Tls, Unavailable
from tests.certificates import Authority

BURACO = Path(sysconfig.get_path("scripts")) / "buraco"
SECRET = "a secret of sixteen bytes or more"
START = 60.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a server and of those who call it."""
    folder = tmp_path_factory.mktemp("access")
    servers, clients = Authority(), Authority()
    for name, (certificate, key) in {"server": servers.pair(), "client": clients.pair("bots.example")}.items():
        (folder / f"{name}.crt").write_bytes(certificate)
        (folder / f"{name}.key").write_bytes(key)
    (folder / "server-ca.crt").write_bytes(servers.pem)
    (folder / "client-ca.crt").write_bytes(clients.pem)
    (folder / "api-keys").write_text(f"bots {SECRET}\n")
    (folder / "api-key").write_text(f"{SECRET}\n")
    (folder / "signing-keys").write_text("first a signing key of thirty-two bytes or more\n")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A server in production mode that asks for client certificates and API keys."""
    ready = folder / "ready.json"
    settings = {
        "mode": "production",
        "port": "0",
        "metrics_port": "-1",
        "ready_file": ready,
        "store": f"sqlite:///{folder}/tables.db",
        "tls": "mtls",
        "tls_cert_file": folder / "server.crt",
        "tls_key_file": folder / "server.key",
        "tls_client_ca_file": folder / "client-ca.crt",
        "signing_keys_file": folder / "signing-keys",
        "api_keys_file": folder / "api-keys",
    }
    environment = os.environ | {f"BURACO_{name.upper()}": str(value) for name, value in settings.items()}
    with subprocess.Popen(
        [sys.executable, "-m", "buraco_service", "serve"], env=environment, stderr=subprocess.DEVNULL
    ) as process:
        try:
            deadline = time.monotonic() + START
            while not ready.exists():
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield json.loads(ready.read_text())["address"]
        finally:
            process.terminate()
            assert process.wait(30) == 0


def options(folder: Path) -> list[str]:
    """What a command needs to get in."""
    files = {"tls-ca": "server-ca.crt", "tls-cert": "client.crt", "tls-key": "client.key", "api-key": "api-key"}
    return [text for option, name in files.items() for text in (f"--{option}-file", str(folder / name))]


def tls_of(folder: Path) -> Tls:
    """The same for a client."""
    return Tls(folder / "server-ca.crt", folder / "client.crt", folder / "client.key")


def test_access_shows_no_key() -> None:
    """What a command needs to get in can be shown without showing the key."""
    assert SECRET not in repr(Access(api_key=SECRET))


def test_match_over_mutual_tls(folder: Path, address: str) -> None:
    """`buraco match` plays at a server that asks for a certificate and an API key."""
    answer = subprocess.run(
        [BURACO, "match", "--server", address, "--target", "0", "--rule-set", "open", "--json", *options(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert len(json.loads(answer.stdout)["deals"]) == 1


def test_arena_over_mutual_tls(folder: Path, address: str) -> None:
    """`buraco arena` plays there, with the certificates and the API key in its workers, and shows no key."""
    answer = subprocess.run(
        [BURACO, "arena", "--server", address, "--pairs", "1", "--workers", "1", "--json", *options(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert json.loads(answer.stdout)["pairings"][0]["win_rate"]["value"] is not None
    assert SECRET not in answer.stdout


def test_fleet_over_mutual_tls(folder: Path, address: str) -> None:
    """`buraco fleet` sits down there, with its API key from the environment."""

    async def open_table() -> str:
        async with BuracoClient(address, tls=tls_of(folder), api_key=SECRET) as client:
            return (await client.create_table("open", 4, target_score=0)).id

    reach = options(folder)[:-2]
    with subprocess.Popen(
        [BURACO, "fleet", "--server", address, "--seats-limit", "1", "--courtesy", "0", *reach],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"BURACO_CLIENT_API_KEY": SECRET},
    ) as process:
        table_id = asyncio.run(open_table())
        assert process.stderr
        assert f"INFO greedy at seat 0 of table {table_id}" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 0, rest


async def test_who_is_left_outside(folder: Path, address: str) -> None:
    """Without a certificate there is no connection, without an API key no table."""
    async with BuracoClient(address, tls=Tls(folder / "server-ca.crt"), timeout=2.0) as client:
        with pytest.raises(Unavailable):
            await client.create_table("open", 2)
    async with BuracoClient(address, tls=tls_of(folder)) as client:
        with pytest.raises(ApiKeyRejected):
            await client.create_table("open", 2)
        assert all([table.id async for table in client.list_tables()])


async def test_name_in_the_certificate(folder: Path, address: str) -> None:
    """A server whose certificate is for another name is reached only where that name is given."""
    for name, reached in (("localhost", True), ("elsewhere.example", False)):
        tls = Tls(folder / "server-ca.crt", folder / "client.crt", folder / "client.key", name)
        async with BuracoClient(address, tls=tls, timeout=60.0 if reached else 2.0) as client:
            with contextlib.nullcontext() if reached else pytest.raises(Unavailable):
                assert all([table.id async for table in client.list_tables()])


@pytest.mark.parametrize(
    ("arguments", "key", "what"),
    [
        (["--tls"], None, "give --server"),
        (["--server", "localhost:1", "--tls-cert-file", "client.crt"], None, "go together"),
        (["--server", "localhost:1", "--api-key-file", "api-key"], SECRET, "not from both"),
        (["--server", "localhost:1", "--api-key-file", "client.crt"], None, "one line of printable ASCII"),
        (["--server", "localhost:1", "--tls-ca-file", "missing"], None, "does not exist"),
    ],
)
def test_commands_misused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], key: str | None, what: str
) -> None:
    """Options that contradict each other are answered with exit code 2 and the reason, never with a key."""
    monkeypatch.chdir(folder)
    if key is not None:
        monkeypatch.setenv("BURACO_CLIENT_API_KEY", key)
    for command in (match, arena):
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 2
        assert what in result.output
        assert SECRET not in result.output
