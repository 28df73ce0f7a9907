"""Stakes and accounts while replicas die between any two steps, race, and repeat themselves, on every store."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, Literal, cast, get_args

import pytest

from buraco_rules import PRESETS_BY_ID
from buraco_service.access.seat_tokens import SeatClaims, SeatTokens
from buraco_service.accounts.entries import HOUSE, Entry, EntryKind, parse_entry
from buraco_service.errors import ApiError
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from buraco_service.tables.deadlines import Deadlines
from buraco_service.tables.ending import Endings
from buraco_service.tables.stakes import RESERVED_SECONDS
from buraco_service.tables.state import TableState, TableValue
from buraco_service.tables.stored import parse_table
from buraco_service.tables.tables import Tables
from tests.service.table_server import KEY, RULE_SET, SEED, new_id

INITIAL: Final = 1000
STAKE: Final = 300
Moment = Literal["before", "after"]
STORES: Final = ("sqlite_url", "redis_url", "redis_cluster_url", "postgres_url")


class Died(BaseException):
    """The process of the replica has ended."""


class Mortal:
    """A store, or its ledger, of a replica that dies at one of its operations, before or after it is carried out."""

    def __init__(self, inner: Any, life: Life) -> None:
        self._inner = inner
        self._life = life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return Mortal(found, self._life) if name == "ledger" else self._life.limit(found)


class Life:
    """How many operations a replica carries out."""

    def __init__(self, length: int, moment: Moment) -> None:
        self.died = False
        self._left = length
        self._moment = moment

    def limit(self, operation: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """The operation, as long as the replica lives."""

        async def call(*arguments: Any) -> Any:
            self._left -= 1
            if self.died or (self._left == 0 and self._moment == "before"):
                self.died = True
                raise Died
            try:
                return await operation(*arguments)
            finally:
                if self._left == 0:
                    self.died = True
                    raise Died

        return call


class Clock:
    """The time of all replicas."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Casino:
    """Replicas on one store, and what their players do."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = Clock()
        self.immortal = self.replica()

    def replica(self, life: Life | None = None, store: Store | None = None) -> Tables:
        """A replica, which may die."""
        store = store or self.store
        reached = store if life is None else cast(Store, Mortal(store, life))
        tokens = SeatTokens((KEY,), 3600)
        return Tables(
            reached, tokens, Metrics(), clock=self.clock, table_ttl=7200, credits=True, initial_credits=INITIAL
        )

    async def open(self, stake: int = STAKE) -> str:
        """A table for two."""
        rules = PRESETS_BY_ID[RULE_SET]
        created = await self.immortal.create(
            rules, 2, target_score=0, stake=stake, master_seed=SEED, seeded_by_creator=True, request_id=new_id()
        )
        return created.table.id

    async def join(self, tables: Tables, table_id: str, player: str, request_id: str | None = None) -> SeatClaims:
        """Take the first free seat."""
        player_id = "" if player == HOUSE else player
        joined = await tables.join(
            *(table_id, None, player, b"", request_id or new_id()), player_id=player_id, account_id=player
        )
        return tables.tokens.verify(joined.token, self.clock())

    async def table(self, table_id: str) -> TableValue:
        """The table as it is stored."""
        stored = await self.store.load(table_id)
        return parse_table(stored.state, stored.revision)

    async def carry_out(self, later: float = 0.0) -> None:
        """Let time pass, and another replica do what is due."""
        self.clock.now += later
        while await Deadlines(self.replica(), Metrics(), tolerance=0).look():
            pass

    async def entries(self, player: str) -> list[Entry]:
        """All entries of an account, the oldest first, each of which follows from the one before."""
        found = [parse_entry(entry.payload) for entry in await self.store.ledger.entries(player, 10_000)][::-1]
        before = Entry()
        for number, entry in enumerate(found, 1):
            assert entry.number == number
            assert entry.balance == before.balance + entry.amount
            assert entry.held == before.held + entry.held_amount >= 0
            assert entry.available >= 0 or player == HOUSE
            before = entry
        return found

    async def check(self, table_ids: Sequence[str], players: Sequence[str]) -> None:
        """Nothing is lost, nothing comes from nowhere, and only what is at a seat is held."""
        tables = [await self.table(table_id) for table_id in table_ids]
        total = granted = 0
        for player in players:
            entries = await self.entries(player)
            seats = [
                (table.stake, seat.stake.key)
                for table in tables
                if table.stakes and not table.stakes.settled
                for seat in table.seats
                if seat.stake and seat.stake.account_id == player
            ]
            newest = entries[-1] if entries else Entry()
            assert newest.held == sum([stake for stake, _ in seats]), (player, entries)
            assert len({key for _, key in seats}) == len(seats)
            total += newest.balance
            granted += sum([entry.amount for entry in entries if entry.kind is EntryKind.GRANT])
        assert total == granted
        for table in tables:
            assert table.stakes is not None
            assert not table.stakes.reserved
            assert not table.stakes.releasing

    async def balances(self, *players: str) -> list[int]:
        """What accounts have."""
        return [(await self.entries(player))[-1].balance for player in players]


@pytest.fixture(params=STORES)
async def stores(request: pytest.FixtureRequest) -> AsyncIterator[list[Store]]:
    """Two stores on the same tables and accounts, as replicas have them."""
    opened = [await open_store(request.getfixturevalue(request.param)) for _ in range(2)]
    yield opened
    for store in opened:
        await store.close()


@pytest.fixture
def casino(stores: list[Store]) -> Casino:
    """Replicas on a store."""
    return Casino(stores[0])


async def die_everywhere(act: Callable[[int, Life], Awaitable[None]], moment: Moment) -> int:
    """Do something again and again, dying at its first operation, then at its second, and so on until it survives."""
    for length in itertools.count(1):
        life = Life(length, moment)
        await act(length, life)
        if not life.died:
            return length
    raise AssertionError


def moments(fixture: str) -> pytest.MarkDecorator:
    """Die at both moments on SQLite; on the other stores that a fixture takes only before, and after in the slow tests.

    After an operation is before the next one, but for what the replica that dies has got to know.
    """
    return pytest.mark.parametrize(
        (fixture, "moment"),
        [
            pytest.param(url, moment, marks=pytest.mark.slow if url != STORES[0] and moment == "after" else ())
            for url in STORES
            for moment in get_args(Moment)
        ],
        indirect=[fixture],
    )


MOMENTS = moments("stores")


@MOMENTS
@pytest.mark.parametrize("retries", [True, False])
async def test_join_is_whole_wherever_it_dies(casino: Casino, moment: Moment, retries: bool) -> None:
    """Wherever the replica of a join dies, the stake is held once if the seat is taken in the end, else not at all."""

    async def join(number: int, life: Life) -> None:
        table_id, player, request_id = await casino.open(), f"ann {number}", new_id()
        try:
            await casino.join(casino.replica(life), table_id, player, request_id)
        except Died:
            if retries:
                await casino.join(casino.replica(), table_id, player, request_id)
        await casino.carry_out(RESERVED_SECONDS + 1)
        await casino.check([table_id], [player])
        is_seated = (await casino.table(table_id)).seats[0].player_id == player
        assert is_seated or (life.died and not retries)

    assert await die_everywhere(join, moment) > 8


@MOMENTS
async def test_retry_holds_once(casino: Casino, moment: Moment) -> None:
    """Who has credits for one stake only gets the seat with a retry, whatever request dies, and with a new one, too."""

    async def join(number: int, life: Life) -> None:
        table_id, player = await casino.open(INITIAL), f"ben {number}"
        try:
            await casino.join(casino.replica(life), table_id, player)
        except Died:
            await casino.join(casino.replica(), table_id, player)
        assert (await casino.table(table_id)).seats[0].player_id == player
        await casino.carry_out(RESERVED_SECONDS + 1)
        await casino.check([table_id], [player])

    await die_everywhere(join, moment)


@MOMENTS
async def test_leaving_releases_wherever_it_dies(casino: Casino, moment: Moment) -> None:
    """Wherever the replica dies that lets a player leave before the start, or that releases: it is released once."""

    async def leave(number: int, life: Life) -> None:
        table_id, player, request_id = await casino.open(), f"cid {number}", new_id()
        claims = await casino.join(casino.immortal, table_id, player)
        try:
            await casino.replica(life).leave(table_id, claims, request_id)
        except Died:
            await casino.replica().leave(table_id, claims, request_id)
        await casino.carry_out()
        await casino.check([table_id], [player])
        kinds = [entry.kind for entry in await casino.entries(player)]
        assert kinds == [EntryKind.GRANT, EntryKind.HOLD, EntryKind.RELEASE]

    assert await die_everywhere(leave, moment) > 4


@MOMENTS
@pytest.mark.parametrize("draw", [True, False])
async def test_settlement_wherever_it_dies(casino: Casino, moment: Moment, draw: bool) -> None:
    """Wherever the replica dies that settles, each account gets once what the match paid, and the table shows it."""

    async def settle(number: int, life: Life) -> None:
        table_id, players = await casino.open(), [f"{name} {number}" for name in ("dan", "eve")]
        seats = [await casino.join(casino.immortal, table_id, player) for player in players]
        endings = Endings(casino.immortal)
        if draw:
            await endings.abort(table_id, seats[0], new_id())
        else:
            await endings.resign(table_id, seats[0], new_id(), withdraw=False)
        deadlines = Deadlines(casino.replica(life), Metrics(), tolerance=0)
        with contextlib.suppress(Died):
            await deadlines.look()
        await casino.carry_out()
        await casino.check([table_id], players)
        table = await casino.table(table_id)
        assert table.stakes is not None
        assert table.stakes.settled
        paid = 0 if draw else STAKE
        assert await casino.balances(*players) == [INITIAL - paid, INITIAL + paid]
        shown = [seat.stake.credit for seat in table.seats if seat.stake]
        assert shown == [INITIAL - paid, INITIAL + paid]
        assert [len(await casino.entries(player)) for player in players] == [3, 3]

    assert await die_everywhere(settle, moment) > 6


@MOMENTS
@pytest.mark.parametrize("playing", [True, False])
async def test_idle_table_gives_stakes_back_wherever_it_dies(casino: Casino, moment: Moment, playing: bool) -> None:
    """A table that nobody touches gives the stakes back before it expires, whoever dies meanwhile."""

    async def idle(number: int, life: Life) -> None:
        table_id, players = await casino.open(), [f"{name} {number}" for name in ("fay", "gus")][: 1 + playing]
        for player in players:
            await casino.join(casino.immortal, table_id, player)
        casino.clock.now += 3 * 7200
        assert await casino.store.expire(casino.clock.now - 7200, 100) >= 0
        with contextlib.suppress(Died):
            await Deadlines(casino.replica(life), Metrics(), tolerance=0).look()
        await casino.carry_out()
        await casino.check([table_id], players)
        assert await casino.balances(*players) == [INITIAL] * len(players)
        table = await casino.table(table_id)
        assert table.state is (TableState.FINISHED if playing else TableState.WAITING)
        assert table.due_at is None
        assert await casino.store.expire(casino.clock.now + 1, 100) >= 1

    assert await die_everywhere(idle, moment) > 6


async def test_released_hold_voids_a_slow_join(casino: Casino) -> None:
    """A join that comes back after its reservation was given up holds anew, and neither a stake is lost nor missing."""
    table_id = await casino.open()
    slow = casino.replica()
    hold, reached, go_on = slow.accounts.hold, asyncio.Event(), asyncio.Event()

    async def slow_hold(*arguments: Any) -> Entry:
        if not reached.is_set():
            reached.set()
            await go_on.wait()
        return await hold(*arguments)

    slow.accounts.hold = slow_hold  # type: ignore[method-assign, assignment]
    joining = asyncio.create_task(casino.join(slow, table_id, "hal"))
    await reached.wait()
    await casino.carry_out(RESERVED_SECONDS + 1)
    go_on.set()
    await joining
    await casino.check([table_id], ["hal"])
    kinds = [entry.kind for entry in await casino.entries("hal")]
    assert kinds == [EntryKind.GRANT, EntryKind.RELEASE, EntryKind.HOLD]


async def test_hold_released_before_the_commit_voids_the_join(casino: Casino) -> None:
    """A join whose stake was released between the hold and its commit takes no seat with it, but holds anew."""
    table_id = await casino.open()
    slow = casino.replica()
    hold, calls = slow.accounts.hold, itertools.count()

    async def held_and_given_up(*arguments: Any) -> Entry:
        entry = await hold(*arguments)
        if next(calls) == 0:
            await casino.carry_out(RESERVED_SECONDS + 1)
        return entry

    slow.accounts.hold = held_and_given_up  # type: ignore[method-assign, assignment]
    await casino.join(slow, table_id, "ida")
    await casino.check([table_id], ["ida"])
    kinds = [entry.kind for entry in await casino.entries("ida")]
    assert kinds == [EntryKind.GRANT, EntryKind.HOLD, EntryKind.RELEASE, EntryKind.HOLD]


class Gamblers:
    """Players and bots who do anything, and repeat it."""

    def __init__(self, casino: Casino, rng: random.Random) -> None:
        self.players = ["jo", "kim", "lea", "max", HOUSE]
        self.table_ids: list[str] = []
        self._casino = casino
        self._rng = rng
        self._seats: list[SeatClaims] = []

    async def open(self) -> None:
        """Open a table with some stake."""
        self.table_ids.append(await self._casino.open(self._rng.choice([100, 300, 900])))

    async def live(self, tables: Tables) -> None:
        """Ask a replica for this and that, as long as it lives."""
        for _ in range(12):
            act = self._choose()
            for _ in range(self._rng.choice([1, 1, 2])):
                with contextlib.suppress(ApiError):
                    await act(tables)

    def _choose(self) -> Callable[[Tables], Awaitable[Any]]:
        rng, request_id = self._rng, new_id()
        table_id, player = rng.choice(self.table_ids), rng.choice(self.players)

        async def join(tables: Tables) -> None:
            self._seats.append(await self._casino.join(tables, table_id, player, request_id))

        acts: list[Callable[[Tables], Awaitable[Any]]] = [
            *(join, join, join),
            lambda tables: Deadlines(tables, Metrics(), tolerance=0).look(),
            lambda tables: tables.accounts.grant(player, 50, "", request_id, ""),
            lambda tables: tables.accounts.grant(player, -50, "", request_id, ""),
        ]
        if self._seats:
            claims = rng.choice(self._seats)
            table_id = claims.table_id
            acts += [
                lambda tables: tables.leave(table_id, claims, request_id),
                lambda tables: Endings(tables).resign(table_id, claims, request_id, withdraw=False),
                lambda tables: Endings(tables).abort(table_id, claims, request_id),
            ]
        return rng.choice(acts)


@pytest.mark.parametrize("rounds", [6, pytest.param(60, marks=pytest.mark.slow)])
async def test_credits_are_conserved_whatever_happens(stores: list[Store], rounds: int) -> None:
    """While replicas die and start again, and players and bots join, leave, end matches and repeat all that, balances
    sum up to what was granted, and nothing is held in the end but what is at seats.
    """
    casino = Casino(stores[0])
    rng = random.Random(seed := secrets.token_hex(4))
    crowd = Gamblers(casino, rng)
    for number in range(rounds):
        await crowd.open()
        lives = [Life(rng.randint(1, 150), rng.choice(["before", "after"])) for _ in range(4)]
        replicas = [casino.replica(life, stores[place % 2]) for place, life in enumerate(lives)]
        outcomes = await asyncio.gather(*map(crowd.live, replicas), return_exceptions=True)
        assert all([outcome is None or isinstance(outcome, Died) for outcome in outcomes]), (seed, outcomes)
        if number % 3 == 2:
            await casino.carry_out(RESERVED_SECONDS + 1)
            await casino.check(crowd.table_ids, crowd.players)
    for _ in range(2):
        await casino.carry_out(3 * 7200)
    await casino.check(crowd.table_ids, crowd.players)
    ends = [(await casino.entries(player) or [Entry()])[-1] for player in crowd.players]
    assert [entry.held for entry in ends] == [0] * len(ends), seed
    assert sum([entry.number for entry in ends]) > 4 * rounds, "or little happened"
