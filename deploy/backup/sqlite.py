#!/usr/bin/env python3
"""Backs up and restores the SQLite store. Needs nothing but Python, so that it can also be piped into a container.

python3 sqlite.py backup DATABASE FILE     while the service runs; FILE must not exist
python3 sqlite.py check FILE
python3 sqlite.py restore FILE DATABASE    while nothing runs on DATABASE; the old one is kept beside it
"""

import argparse
import contextlib
import os
import shutil
import sqlite3
import sys
import time
from pathlib import Path

APPLICATION_ID = 0x42755263
"""The application id of the service's databases."""


class Refused(Exception):
    """Nothing was changed; the message has the reason."""


def backup(database: Path, file: Path) -> str:
    """Copy a database as it is at one moment; the service may run. Return a report. Raise Refused."""
    if not database.is_file():
        raise Refused(f"there is no {database}")
    if file.exists():
        raise Refused(f"{file} already exists")
    draft = file.with_name(file.name + ".part")
    draft.unlink(missing_ok=True)
    try:
        with (
            contextlib.closing(_open(database, "ro")) as source,
            contextlib.closing(sqlite3.connect(draft)) as target,
        ):
            # In one step: a write during a copy in several steps would restart the copy.
            source.backup(target)
            # One file instead of three.
            target.execute("PRAGMA journal_mode = DELETE")
        tables = check(draft)
        _sync(draft)
        draft.rename(file)
        _sync(file.parent)
    finally:
        draft.unlink(missing_ok=True)
    return f"{tables} in {file}"


def check(file: Path) -> str:
    """Read a whole backup; return its number of tables. Raise Refused if it is damaged, or not a backup."""
    if not file.is_file():
        raise Refused(f"there is no {file}")
    if file.with_name(file.name + "-wal").exists():
        raise Refused(f"{file} is not a backup: it has a log beside it")
    try:
        with contextlib.closing(_open(file, "ro&immutable=1")) as db:
            (application,) = db.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION_ID:
                raise Refused(f"{file} is not a database of the service")
            (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                raise Refused(f"{file} is damaged: {found}")
            (count,) = db.execute("SELECT count(*) FROM tables").fetchone()
    except sqlite3.Error as error:
        raise Refused(f"{file} cannot be read: {error}") from None
    return f"{count} tables"


def restore(file: Path, database: Path) -> str:
    """Put a backup in the place of a database, which is kept beside it. Return a report. Raise Refused."""
    tables = check(file)
    draft = database.with_name(database.name + ".part")
    shutil.copyfile(file, draft)
    try:
        _sync(draft)
        kept = ""
        if database.exists():
            _close_log(database)
            aside = database.with_name(f"{database.name}.{time.strftime('%Y%m%dT%H%M%S')}")
            database.rename(aside)
            kept = f"; the old one is {aside}"
        draft.rename(database)
        _sync(database.parent)
    finally:
        draft.unlink(missing_ok=True)
    return f"{tables} in {database}{kept}"


def _open(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True)


def _close_log(database: Path) -> None:
    """Move the write-ahead log into the database. Raise Refused if anybody else has it open."""
    try:
        with contextlib.closing(_open(database, "rw")) as db:
            db.execute("PRAGMA busy_timeout = 0")
            db.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        raise Refused(f"{database} is in use, stop the service first ({error})") from None
    except sqlite3.DatabaseError:
        # A database that is being replaced may be damaged; its log is kept with it.
        for suffix in ("-wal", "-shm"):
            log = database.with_name(database.name + suffix)
            if log.exists():
                log.rename(log.with_name(f"{log.name}.damaged"))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, places in (("backup", ("database", "file")), ("check", ("file",)), ("restore", ("file", "database"))):
        command = commands.add_parser(name)
        for place in places:
            command.add_argument(place, type=Path)
    given = parser.parse_args()
    try:
        if given.command == "backup":
            report = backup(given.database, given.file)
        elif given.command == "restore":
            report = restore(given.file, given.database)
        else:
            report = check(given.file)
    except (Refused, OSError, sqlite3.Error) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{report}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
