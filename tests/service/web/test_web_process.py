from __future__ import annotations

import asyncio
import signal
import socket
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_service.configuration.loading import SettingsError, load
from buraco_service.serving.listening import StartError
from buraco_service.serving.web.connections import Connections
from tests.certificates import Authority, Mounted
from tests.service.announcing import PATIENCE, Announcing
from tests.service.programs import Program, get
from tests.service.table_server import Replica, serving
from tests.service.web.http import TABLES, Caller, ask, ask_json, web_address


async def test_a_program_with_a_web_port(tmp_path: Path, programs: list[Program]) -> None:
    """The ready file names the web port, and a signal ends the program in order: streams are asked to reconnect."""
    program = Program(tmp_path, "--web-port", "0")
    programs.append(program)
    address = (await program.ready())["web_address"]
    request = {"ruleSetId": "burraco", "seats": 2, "requestId": "1" * 32}
    table = (await ask_json(address, "CreateTable", request)).json["table"]
    watch = Caller(address, "connect").watch(pb.WatchTableRequest(table_id=table["id"]))
    assert (await anext(watch)).HasField("state")
    program.process.send_signal(signal.SIGTERM)
    assert (await anext(watch)).HasField("reconnect")
    assert await anext(watch, None) is None
    status, _, logs = await program.end()
    assert status == 0
    assert '"event": "stopped"' in logs
    assert "Traceback" not in logs


async def test_no_web_port_unless_it_is_set(tmp_path: Path) -> None:
    """Without the setting there is no web port, and nothing of it is imported."""
    async with serving(tmp_path / "tables.db") as replica:
        assert replica.server.web_address is None
    code = "import sys, buraco_service.commands.serve; assert not {'uvicorn', 'connectrpc'} & sys.modules.keys()"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0


async def test_workers_share_the_web_port(tmp_path: Path, programs: list[Program]) -> None:
    """Several workers serve on one web port, and their calls are counted together."""
    program = Program(tmp_path, "--web-port", "0", "--workers", "2", log=tmp_path / "log")
    programs.append(program)
    ready = await program.ready()
    for _ in range(10):
        assert (await ask_json(ready["web_address"], "ListTables", {})).status == 200
    metrics = await asyncio.to_thread(get, f"http://{ready['metrics_address']}/metrics")
    assert 'buraco_web_calls_total{protocol="connect_json"} 10.0' in metrics
    program.process.terminate()
    assert (await program.end())[0] == 0


async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """A web port that cannot be had stops the start with a message, and frees the other port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=rf"127.0.0.1:{port} \(--host, --web-port\): Address already in use"):
            async with serving(tmp_path / "tables.db", web_port=port):
                pass


async def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is not installed the start fails with its name."""
    for name in [name for name in sys.modules if name.startswith("buraco_service.serving.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(StartError, match="--web-port needs the extra `web`"):
        async with serving(tmp_path / "tables.db", web_port=0):
            pass


async def test_the_end_of_the_web_server_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When nobody looks after the web port's connections any more, the server reports that it has crashed."""

    def fail(_: Connections) -> None:
        raise RuntimeError("by hand")

    async with serving(tmp_path / "tables.db", web_port=0) as replica:
        monkeypatch.setattr(Connections, "sweep", fail)
        async with asyncio.timeout(PATIENCE):
            assert str(await replica.server.crashed()) == "by hand"


def put(secrets: Mounted, authority: Authority, **more: bytes) -> dict[str, Any]:
    """Puts a certificate there; the settings that name it."""
    certificate, key = authority.pair()
    secrets.put(cert=certificate, key=key, **more)
    files = {"tls_cert_file": secrets.path("cert"), "tls_key_file": secrets.path("key")}
    return {"tls": "tls", "reload_interval": 0.1} | files


async def reached(replica: Replica, context: ssl.SSLContext) -> bool:
    """Whether a new connection is answered."""
    host, port = web_address(replica).split(":")
    try:
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        answered = (await reader.readline()).startswith(b"HTTP/1.1 404")
        writer.close()
    except (ssl.SSLError, ConnectionError):
        return False
    return answered


def trusting(authority: Authority, client: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    """What a client that trusts an authority connects with."""
    context = ssl.create_default_context(cadata=authority.pem.decode())
    if client is not None:
        context.load_cert_chain(*client)
    return context


async def test_tls_is_that_of_grpc(tmp_path: Path, log_stream: Announcing) -> None:
    """The web port has the certificate of the other one, also once its files have changed."""
    secrets, first, second = Mounted(tmp_path / "secrets"), Authority(), Authority()
    settings = put(secrets, first)
    async with serving(tmp_path / "tables.db", web_port=0, credentials=first.trusting(), **settings) as replica:
        assert await reached(replica, trusting(first))
        assert not await reached(replica, trusting(second))
        put(secrets, second)
        await log_stream.wait_for(lambda: bool(log_stream.lines("changed files are in use")))
        async with asyncio.timeout(PATIENCE):
            while not await reached(replica, trusting(second)):  # noqa: ASYNC110 - nothing says when
                await asyncio.sleep(0.01)
        assert not await reached(replica, trusting(first))


async def test_client_certificates_are_asked_for(tmp_path: Path) -> None:
    """With mtls only clients with a certificate of the client CA are served at the web port, too."""
    secrets, server, clients = Mounted(tmp_path / "secrets"), Authority(), Authority()
    settings = put(secrets, server, ca=clients.pem) | {"tls": "mtls", "tls_client_ca_file": secrets.path("ca")}
    certificate, key = clients.pair("client.example")
    pair = (tmp_path / "client.crt", tmp_path / "client.key")
    pair[0].write_bytes(certificate)
    pair[1].write_bytes(key)
    async with serving(tmp_path / "t.db", web_port=0, credentials=server.trusting(clients), **settings) as replica:
        assert await reached(replica, trusting(server, pair))
        assert not await reached(replica, trusting(server))


async def test_old_connections_are_closed(tmp_path: Path) -> None:
    """A connection that has reached its age is closed behind an answer, so that clients find new replicas."""
    async with serving(tmp_path / "tables.db", web_port=0, max_connection_age=0.5) as replica:
        reader, writer = await asyncio.open_connection(*web_address(replica).split(":"))
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            assert b"404" in await reader.readline()
            await reader.read()
        writer.close()


async def test_a_second_stop_ends_what_still_runs(tmp_path: Path) -> None:
    """A second stop does not wait for a call that does not end by itself."""
    async with serving(tmp_path / "tables.db", web_port=0, message_timeout=2 * PATIENCE) as replica:
        reader, writer = await asyncio.open_connection(*web_address(replica).split(":"))
        head = f"POST /{TABLES}/ListTables HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}expect: 100-continue\r\ncontent-length: 100\r\n\r\n".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 100 ")
        # The first would wait for the grace, which is as long.
        async with asyncio.timeout(PATIENCE / 2):
            stopping = asyncio.create_task(replica.server.stop())
            await asyncio.sleep(0)
            await replica.server.stop()
            await stopping
            await reader.read()
        writer.close()
        assert await is_closed(web_address(replica))


async def is_closed(address: str) -> bool:
    """Whether nobody listens."""
    try:
        await ask(address, "/")
    except ConnectionError:
        return True
    return False


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"BURACO_WEB_ROOT": "/page"}, "BURACO_WEB_ROOT is given, but BURACO_WEB_PORT is not"),
        ({"BURACO_WEB_ORIGINS": "*"}, "BURACO_WEB_ORIGINS is given, but BURACO_WEB_PORT is not"),
        ({"BURACO_WEB_PORT": "0", "BURACO_WEB_ORIGINS": "example.org"}, "is no list of origins"),
        ({"BURACO_WEB_PORT": "0", "BURACO_WEB_ORIGINS": "https://example.org/"}, "is no list of origins"),
        ({"BURACO_WEB_PORT": "0", "BURACO_WEB_ORIGINS": ","}, "is empty"),
        ({"BURACO_WEB_PORT": "70000"}, "is out of range"),
    ],
)
def test_settings_that_cannot_be(environment: dict[str, str], problem: str) -> None:
    """Settings of the web port that mean nothing are refused with the reason."""
    with pytest.raises(SettingsError, match=problem.replace("(", r"\(")):
        load(environment, {})


def test_settings() -> None:
    """Origins are a list; `*` is one of them."""
    found = load({"BURACO_WEB_PORT": "8080", "BURACO_WEB_ORIGINS": "https://example.org, http://[::1]:5173,*"}, {})
    assert (found.web_port, found.web_root) == (8080, None)
    assert found.web_origins == ("https://example.org", "http://[::1]:5173", "*")
