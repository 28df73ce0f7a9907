from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from buraco.v1 import table_pb2
from buraco_rules import PRESETS, RuleSet, match_result
from tests.service.refusals import gathered
from tests.service.scripts import dealt, played, turns
from tests.service.table_server import END, get, serving, start


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
async def test_match(tmp_path: Path, rules: RuleSet, seats: int) -> None:
    """A match of one deal of every rule set goes over the streams of its players as it goes in the rules."""
    steps = list(played(dealt(rules, seats), random.Random(100 + seats)))
    result = match_result(steps[-1].after)
    assert result is not None
    async with serving(tmp_path / "tables.db") as replica:
        players = await start(replica, rule_set_id=rules.id, seats=seats)
        streams = [await player.play() for player in players]
        for stream in streams:
            await stream.expect("state")
        revision = 1 + seats
        for turn in turns(steps):
            revision += 1
            mover = streams[turn.seat]
            assert (await mover.accepted(await mover.submit(*turn.moves))).revision == revision
            for stream in streams:
                if stream is not mover:
                    assert (await stream.expect("events")).revision == revision
        for stream in streams:
            assert await stream.next() is END
        table = await get(replica, players[0].table_id)
        assert table.state == table_pb2.TABLE_STATE_FINISHED
        assert tuple(table.result.scores) == result.scores
        assert (table.result.winner if table.result.HasField("winner") else None) == result.winner
        assert (await replica.table(table.id)).deal == steps[-1].after


@pytest.mark.slow
async def test_many_tables_at_once(tmp_path: Path) -> None:
    """Forty matches at two replicas at the same time do not disturb each other."""
    path = tmp_path / "tables.db"
    async with contextlib.AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(serving(path)) for _ in range(2)]
        matches = [
            (await start(replicas[0], seats=4, seed=bytes([number]) * 32), bytes([number]) * 32) for number in range(40)
        ]
        scripts = [list(played(dealt(seats=4, seed=seed), random.Random(1))) for _, seed in matches]
        waiting = [list(turns(steps)) for steps in scripts]
        rng = random.Random(7)
        while any(waiting):
            calls = []
            for (players, _), script in zip(matches, waiting, strict=True):
                if script:
                    turn = script.pop(0)
                    calls.append(players[turn.seat].at(rng.choice(replicas)).submit(*turn.moves))
            for answer in await gathered(*calls):
                assert answer.revision > 5
        for (players, _), steps in zip(matches, scripts, strict=True):
            assert (await replicas[1].table(players[0].table_id)).deal == steps[-1].after
