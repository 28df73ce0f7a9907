from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_service.configuration.loading import SettingsError, load
from buraco_service.configuration.settings import Settings
from tests.certificates import Authority, Mounted
from tests.service.announcing import Announcing
from tests.service.table_server import PATIENCE, Replica, connection, create, get, serving, start, watch

NOWHERE = pb.GetTableRequest(table_id="0" * 32)
QUICKLY = 0.1
RELOADED = "changed files are in use"
KEPT = "changed files cannot be used, those before are kept"


@pytest.fixture
def secrets(tmp_path: Path) -> Mounted:
    """Where the server's certificate is."""
    return Mounted(tmp_path / "secrets")


def put(secrets: Mounted, authority: Authority, **more: bytes) -> dict[str, Any]:
    """Puts a certificate there; the settings that name it."""
    certificate, key = authority.pair()
    secrets.put(cert=certificate, key=key, **more)
    files = {"tls_cert_file": secrets.path("cert"), "tls_key_file": secrets.path("key")}
    return {"tls": "tls", "reload_interval": QUICKLY} | files


async def reached(replica: Replica, credentials: grpc.ChannelCredentials | None) -> bool:
    """Whether a new connection with these credentials gets an answer."""
    assert replica.server.address is not None
    async with connection(replica.server.address, credentials) as channel:
        call: Any = channel.unary_unary("/buraco.v1.TableService/GetTable", pb.GetTableRequest.SerializeToString)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(NOWHERE, timeout=PATIENCE)
    code = caught.value.code()
    assert code in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE)
    return code is grpc.StatusCode.NOT_FOUND


async def test_tls(tmp_path: Path, secrets: Mounted) -> None:
    """With TLS whoever trusts the certificate plays; whoever does not, or speaks plain text, gets no connection."""
    authority = Authority()
    settings = put(secrets, authority)
    async with serving(tmp_path / "tables.db", credentials=authority.trusting(), **settings) as replica:
        assert len(await start(replica)) == 2
        assert await reached(replica, authority.trusting())
        assert not await reached(replica, Authority().trusting())
        assert not await reached(replica, None)


async def test_mutual_tls(tmp_path: Path, secrets: Mounted) -> None:
    """With mutual TLS only clients with a certificate of the client CA get a connection."""
    authority, clients = Authority(), Authority()
    settings = put(secrets, authority, ca=clients.pem)
    settings |= {"tls": "mtls", "tls_client_ca_file": secrets.path("ca")}
    async with serving(tmp_path / "tables.db", credentials=authority.trusting(clients), **settings) as replica:
        assert len(await start(replica)) == 2
        assert not await reached(replica, authority.trusting())
        assert not await reached(replica, authority.trusting(Authority()))
        assert not await reached(replica, authority.trusting(authority))


async def test_new_certificate(tmp_path: Path, secrets: Mounted, log_stream: Announcing) -> None:
    """A certificate that is exchanged serves the connections to come; those that are open go on."""
    old, new = Authority(), Authority()
    async with serving(tmp_path / "tables.db", credentials=old.trusting(), **put(secrets, old)) as replica:
        table_id = (await create(replica)).id
        stream = watch(replica, table_id)
        await stream.expect("state")
        put(secrets, new)
        await log_stream.wait_for(lambda: bool(log_stream.lines(RELOADED)))
        assert await reached(replica, new.trusting())
        assert not await reached(replica, old.trusting())
        assert (await get(replica, table_id)).id == table_id
        async with replica.connected(new.trusting()) as newcomer:
            await newcomer.tables.JoinTable(
                pb.JoinTableRequest(table_id=table_id, player_name="Ada", request_id="0" * 32), timeout=PATIENCE
            )
        assert (await stream.expect("events")).revision == 2


async def test_new_client_authority(tmp_path: Path, secrets: Mounted, log_stream: Announcing) -> None:
    """The CA of the clients can be exchanged as well."""
    authority, old, new = Authority(), Authority(), Authority()
    certificate, key = authority.pair()
    secrets.put(cert=certificate, key=key, ca=old.pem)
    settings: dict[str, Any] = {"tls": "mtls", "reload_interval": QUICKLY, "tls_client_ca_file": secrets.path("ca")}
    settings |= {"tls_cert_file": secrets.path("cert"), "tls_key_file": secrets.path("key")}
    async with serving(tmp_path / "tables.db", credentials=authority.trusting(old), **settings) as replica:
        assert not await reached(replica, authority.trusting(new))
        secrets.put(cert=certificate, key=key, ca=old.pem + new.pem)
        await log_stream.wait_for(lambda: bool(log_stream.lines(RELOADED)))
        assert await reached(replica, authority.trusting(new))
        assert await reached(replica, authority.trusting(old))


def told_more(log_stream: Announcing, before: int) -> bool:
    """Whether it was logged once more that files cannot be used."""
    return len(log_stream.lines(KEPT)) > before


async def test_broken_new_certificate(tmp_path: Path, secrets: Mounted, log_stream: Announcing) -> None:
    """New files that cannot be used are logged once, without their content, and the old certificate stays."""
    old, new = Authority(), Authority()
    certificate, _ = new.pair()
    _, stranger = new.pair()
    async with serving(tmp_path / "tables.db", credentials=old.trusting(), **put(secrets, old)) as replica:
        for broken in (stranger, b"no PEM at all"):
            told_before = len(log_stream.lines(KEPT))
            secrets.put(cert=certificate, key=broken)
            await log_stream.wait_for(partial(told_more, log_stream, told_before))
            assert await reached(replica, old.trusting())
        put(secrets, new)
        await log_stream.wait_for(lambda: bool(log_stream.lines(RELOADED)))
        assert await reached(replica, new.trusting())
    logged = log_stream.lines(KEPT)
    assert len(logged) == 2
    assert all(line["level"] == "error" and str(secrets.path("cert")) in line["cause"] for line in logged)
    assert stranger.splitlines()[1].decode() not in log_stream.getvalue()


def problems_of(**environment: Path | str) -> tuple[str, ...]:
    """What is wrong with the settings."""
    with pytest.raises(SettingsError) as caught:
        load({f"BURACO_{name.upper()}": str(value) for name, value in environment.items()}, {})
    return caught.value.problems


def test_settings_of_tls(secrets: Mounted) -> None:
    """TLS needs its files, each kind of TLS its own, and files that would be ignored are a mistake."""
    authority = Authority()
    put(secrets, authority, ca=authority.pem)
    cert, key, ca = (secrets.path(name) for name in ("cert", "key", "ca"))
    assert problems_of(tls="tls") == (
        "BURACO_TLS_CERT_FILE is needed with BURACO_TLS tls",
        "BURACO_TLS_KEY_FILE is needed with BURACO_TLS tls",
    )
    assert problems_of(tls="mtls", tls_cert_file=cert, tls_key_file=key) == (
        "BURACO_TLS_CLIENT_CA_FILE is needed with BURACO_TLS mtls",
    )
    assert problems_of(tls_cert_file=cert) == ("BURACO_TLS_CERT_FILE is given, but BURACO_TLS is off",)
    assert problems_of(tls="tls", tls_cert_file=cert, tls_key_file=key, tls_client_ca_file=ca) == (
        "BURACO_TLS_CLIENT_CA_FILE is given, but BURACO_TLS is tls",
    )
    given = {"BURACO_TLS": "mtls", "BURACO_TLS_CERT_FILE": str(cert), "BURACO_TLS_KEY_FILE": str(key)}
    assert load({**given, "BURACO_TLS_CLIENT_CA_FILE": str(ca)}, {}) == Settings(
        tls="mtls", tls_cert_file=cert, tls_key_file=key, tls_client_ca_file=ca
    )


@pytest.mark.parametrize("broken", ["cert", "key", "ca"])
@pytest.mark.parametrize("content", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"\xff"])
def test_files_that_are_no_certificate(secrets: Mounted, broken: str, content: bytes) -> None:
    """A file that holds nothing of use stops the start with a message that names it."""
    authority = Authority()
    certificate, key = authority.pair()
    secrets.put(**{"cert": certificate, "key": key, "ca": authority.pem} | {broken: content})
    files = {f"tls_{name}_file": secrets.path(name) for name in ("cert", "key")}
    (problem,) = problems_of(tls="mtls", tls_client_ca_file=secrets.path("ca"), **files)
    assert problem.startswith("BURACO_TLS mtls cannot be used: ")
    assert str(secrets.path(broken)) in problem
    secrets.path(broken).unlink()
    (problem,) = problems_of(tls="mtls", tls_client_ca_file=secrets.path("ca"), **files)
    assert problem.endswith("No such file or directory")
