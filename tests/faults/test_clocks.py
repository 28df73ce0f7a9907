from __future__ import annotations

import asyncio
import random
from pathlib import Path

from buraco_client import BuracoClient
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import Crowd, Game, find_stored_problems
from tests.faults.test_moving import target_of
from tests.service.scripts import short_rules

ROOT = Path(__file__).parents[2]
HOURS = 3600.0


class Clock:
    """The clock of one replica."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.environment = {"TESTED_CLOCK": str(file), "PYTHONPATH": str(ROOT)}
        self.jump(0.0)

    def jump(self, seconds: float) -> None:
        """Make the clock wrong by this from now on."""
        whole = self._file.with_suffix(".new")
        whole.write_text(str(seconds))
        whole.replace(self._file)


async def test_jumps(sqlite_url: str, replica: MakeReplica, tmp_path: Path) -> None:
    """Clocks that jump by hours, each its own way, lose no call, table or seat; a table's time does not go back.

    Stores have no clock of their own, so that the test runs with one of them.
    """
    clocks = [Clock(tmp_path / f"clock-{number}") for number in range(2)]
    replicas = [replica(sqlite_url, module="tests.faults.clock", **clock.environment) for clock in clocks]
    clocks[0].jump(-30 * HOURS)
    await asyncio.gather(*[one.start() for one in replicas])
    rng = random.Random("clocks")
    games: list[Game] = []
    times: dict[str, list[int]] = {}
    async with Crowd([one.address for one in replicas], rng) as crowd, BuracoClient(target_of(replicas)) as client:
        for errors in ((13 * HOURS, -13 * HOURS), (-13 * HOURS, 13 * HOURS)):
            for clock, error in zip(clocks, errors, strict=True):
                clock.jump(error)
            games.append(await crowd.begin(short_rules(4), target=10_000))
            for game in games * 6:
                table = await client.get_table(game.table_id)
                times.setdefault(table.id, []).append(table.updated_at.ToNanoseconds())
                await crowd.play(game, table.revision + 2)
        assert crowd.failures == []
        # A seat's token, issued by either replica at any of these times, is valid at both, and can be renewed.
        for game in games:
            seat = client.restore_seat(game.table_id, 0, game.tokens[0])
            for _ in replicas:
                await seat.renew()
                await seat.get_view()
    assert all(moments == sorted(moments) for moments in times.values())
    assert await find_stored_problems(sqlite_url, [(game, ()) for game in games]) == []
    clocks[0].jump(24 * HOURS)
    assert await replicas[0].stop() == 0
    assert len({line["timestamp"][:10] for line in replicas[0].log_lines("call")}) > 1, "or its clock was right"
    await replicas[0].start()  # which at once looks for tables to expire
    async with BuracoClient(target_of(replicas)) as client:
        assert {table.id async for table in client.list_tables()} == {game.table_id for game in games}
