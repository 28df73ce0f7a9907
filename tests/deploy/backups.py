"""Runs the backup scripts as an operator does, and plays moves that they have to keep."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from buraco_codec.moves import moves_from_pb
from tests.deploy.monitoring import DEPLOY
from tests.service.table_server import Player


async def run(script: str, *arguments: str | Path, path: Path | None = None) -> tuple[int, str]:
    """Run a script; return its exit status and output. Programs in `path` are found first."""
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = f"{path}{os.pathsep}{environment['PATH']}"
    command = [DEPLOY / "backup" / script, *arguments]
    done = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    return done.returncode, done.stdout + done.stderr


async def play(players: Sequence[Player], moves: int) -> None:
    """Make legal moves for the seats to move."""
    for _ in range(moves):
        for player in players:
            legal = (await player.legal()).moves
            if legal:
                await player.submit(*moves_from_pb(legal[-1:]))
                break


def names(folder: Path) -> list[str]:
    """Return the names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())
