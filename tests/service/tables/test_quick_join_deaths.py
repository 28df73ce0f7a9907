"""QuickJoin while replicas die between any two steps, are held up, and repeat themselves, on every store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_rules import PRESETS_BY_ID
from buraco_service.errors import ApiError
from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from buraco_service.tables.creators import NOBODY
from buraco_service.tables.finding import is_table
from buraco_service.tables.quick_join import QuickJoins, QuickPlayer
from buraco_service.tables.stakes import RESERVED_SECONDS
from buraco_service.tables.state import Seat, TableState, TableValue
from buraco_service.tables.stored import parse_table
from buraco_service.tables.tables import Tables
from tests.service.table_server import PATIENCE, RULE_SET, SEED, new_id
from tests.service.tables.test_stakes_deaths import INITIAL, STORES, Casino, Died, Life, Moment, die_everywhere, moments

STAKE: Final = 600
"""More than half of what a player has: two cannot be held at once."""


class Wish(NamedTuple):
    """A table for two, which no test but one asks for, because of its target."""

    target: int
    stake: int = 0

    async def join(
        self, tables: Tables, name: str, request_id: str | None = None, player_id: str | None = None
    ) -> pb.QuickJoinResponse:
        """QuickJoin at a replica. Unless it is given, players at tables with a stake have their name as id."""
        now = tables.clock()
        wanted = TableValue(
            id="",
            rules=PRESETS_BY_ID[RULE_SET],
            seats=(Seat(), Seat()),
            target_score=self.target,
            stake=self.stake,
            created_at=now,
            updated_at=now,
            master_seed=SEED,
            seeded_by_creator=False,
            request_ids_bound_since=1,
        )
        player = QuickPlayer(name, b"", (name if self.stake else "") if player_id is None else player_id)
        return await QuickJoins(tables).quick_join(wanted, player, request_id or new_id(), NOBODY, None)

    async def tables(self, store: Store) -> list[TableValue]:
        """All such tables, as they are stored."""
        stored = [table for table in await store.list_tables(None, 1000, None) if is_table(table)]
        found = [parse_table(table.state, table.revision) for table in stored]
        return [table for table in found if table.target_score == self.target]

    async def held(self, store: Store, name: str) -> int:
        """How many seats a player has at them."""
        return [seat.player_name for table in await self.tables(store) for seat in table.seats].count(name)


@pytest.fixture(params=STORES)
async def casino(request: pytest.FixtureRequest) -> AsyncIterator[Casino]:
    """Replicas on a store of each kind."""
    store = await open_store(request.getfixturevalue(request.param))
    yield Casino(store)
    await store.close()


@moments("casino")
@pytest.mark.parametrize("stake", [0, STAKE], ids=["free", "staked"])
@pytest.mark.parametrize(
    ("waiting", "overtaken"), [(False, False), (False, True), (True, True)], ids=["new", "new-met", "found-filled"]
)
async def test_death_at_every_operation(
    casino: Casino, moment: Moment, stake: int, waiting: bool, overtaken: bool
) -> None:
    """Wherever a replica dies, a repeat at another takes one seat in all, also if others fill the table meanwhile."""

    async def join(number: int, life: Life) -> None:
        wish, ada, bo, cy = Wish(number, stake), f"ada {number}", f"bo {number}", f"cy {number}"
        if waiting:
            await wish.join(casino.replica(), cy)
        request_id, first = new_id(), None
        with contextlib.suppress(Died):
            first = await wish.join(casino.replica(life), ada, request_id)
        if overtaken:
            await wish.join(casino.replica(), bo)
        again = await wish.join(casino.replica(), ada, request_id)
        assert first in (None, again)
        assert await wish.held(casino.store, ada) == 1
        assert await wish.join(casino.replica(), ada, request_id) == again
        await casino.carry_out(RESERVED_SECONDS + 1)
        tables = await wish.tables(casino.store)
        assert sum([bool(seat.token_id) for table in tables for seat in table.seats]) == 1 + waiting + overtaken
        if stake:
            await casino.check([table.id for table in tables], [ada, bo, cy])

    assert await die_everywhere(join, moment) > 4


class HeldUp:
    """A store of a replica that is held up before one of its operations, the first with this name."""

    def __init__(self, inner: Any, name: str, reached: asyncio.Event, released: asyncio.Event) -> None:
        self._inner = inner
        self._name = name
        self._reached = reached
        self._released = released

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "ledger":
            return HeldUp(found, self._name, self._reached, self._released)
        if name != self._name or self._reached.is_set():
            return found

        async def call(*arguments: Any) -> Any:
            self._reached.set()
            await self._released.wait()
            return await found(*arguments)

        return call


@pytest.mark.parametrize(
    ("stake", "operation"), [(0, "commit"), (STAKE, "commit"), (STAKE, "append")], ids=["free", "reserving", "holding"]
)
async def test_a_late_call_takes_no_second_seat(casino: Casino, stake: int, operation: str) -> None:
    """A call that was held up before it took its seat takes none when a repeat has taken one elsewhere meanwhile."""
    wish, request_id = Wish(1, stake), new_id()
    reached, released = asyncio.Event(), asyncio.Event()
    await casino.immortal.accounts.newest("Ada")
    slow: Any = HeldUp(casino.store, operation, reached, released)
    late = asyncio.create_task(wish.join(casino.replica(store=slow), "Ada", request_id))
    await asyncio.wait_for(reached.wait(), PATIENCE)
    (chosen,) = await wish.tables(casino.store)
    seats = [await casino.join(casino.replica(), chosen.id, name) for name in ("Bo", "Cy")]
    repeated = await wish.join(casino.replica(), "Ada", request_id)
    assert repeated.table.id != chosen.id
    assert (await casino.table(chosen.id)).state is TableState.PLAYING
    await casino.replica().leave(chosen.id, seats[0], new_id())
    released.set()
    assert await asyncio.wait_for(late, PATIENCE) == repeated
    assert await wish.held(casino.store, "Ada") == 1
    if stake:
        await casino.carry_out(RESERVED_SECONDS + 1)
        await casino.check([table.id for table in await wish.tables(casino.store)], ["Ada", "Bo", "Cy"])


async def test_repeats_at_once_hold_one_stake(casino: Casino) -> None:
    """A request with a stake that is sent many times at once gets one answer, one seat and one hold."""
    for number in range(6):
        wish, ada, bo, request_id = Wish(number, STAKE), f"ada {number}", f"bo {number}", new_id()
        if number % 2:
            await wish.join(casino.replica(), bo)
        replicas = [casino.replica() for _ in range(4)]
        answers = await asyncio.gather(*[wish.join(replica, ada, request_id) for replica in replicas * 2])
        assert answers == answers[:1] * 8
        assert await wish.held(casino.store, ada) == 1
        await casino.carry_out(RESERVED_SECONDS + 1)
        await casino.check([table.id for table in await wish.tables(casino.store)], [ada, bo])


async def test_two_players_stake_at_one_table(casino: Casino) -> None:
    """Two players who come at once to two replicas, where no table fits, stake at one table, and play."""
    for number in range(4):
        wish, players = Wish(number, STAKE), [f"ada {number}", f"bo {number}"]
        answers = await asyncio.gather(*[wish.join(casino.replica(), player) for player in players])
        (table,) = await wish.tables(casino.store)
        assert {answer.table.id for answer in answers} == {table.id}
        assert table.state is TableState.PLAYING
        await casino.carry_out(RESERVED_SECONDS + 1)
        await casino.check([table.id], players)


@pytest.mark.parametrize(("player_id", "reason"), [("", "PLAYER_TOKEN_MISSING"), ("Ada", "CREDIT_TOO_LOW")])
async def test_who_cannot_stake_creates_nothing(casino: Casino, player_id: str, reason: str) -> None:
    """Without a player token, or with too few credits, a QuickJoin with a stake is refused, and no table is created."""
    wish = Wish(1, INITIAL + 1)
    with pytest.raises(ApiError) as refusal:
        await wish.join(casino.replica(), "Ada", player_id=player_id)
    assert refusal.value.reason == reason
    assert await wish.tables(casino.store) == []
