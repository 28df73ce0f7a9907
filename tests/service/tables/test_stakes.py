"""Stakes of tables whose players have accounts, as players see them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import event_pb2, table_pb2
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_service.access.api_keys import ApiKey
from buraco_service.accounts.entries import HOUSE
from tests.service.credits import INITIAL, Owner, get_account, grant, owner
from tests.service.endings import abort, offer_draw, rematch, rematch_raw, resign
from tests.service.refusals import gathered, refused
from tests.service.scripts import dealt, plain_turns, short_rules, submitted
from tests.service.table_server import (
    Metadata,
    Player,
    Replica,
    create,
    get,
    join,
    join_raw,
    new_id,
    public_view,
    serving,
    watch,
)

STAKE = 40
TTL = 7200.0


class Clock:
    """The time of a server."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The time of the servers."""
    return Clock()


@pytest.fixture
async def replica(tmp_path: Path, clock: Clock) -> AsyncIterator[Replica]:
    """A server with accounts."""
    async with serving(tmp_path / "tables.db", clock=clock, credits=True, table_ttl=TTL, clock_tolerance=0) as running:
        yield running


@pytest.fixture(params=["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two servers with accounts, each with connections of its own to the same store."""
    url: str = request.getfixturevalue(request.param)
    at_once: dict[str, Any] = {"credits": True, "clock_tolerance": 0}
    async with serving(url, **at_once) as one, serving(url, **at_once) as other:
        yield one, other


async def seated(replica: Replica, seats: int = 2, **fields: Any) -> tuple[list[Owner], list[Player]]:
    """A match that has begun at a table with a stake: who has the accounts, and who has the seats."""
    table = await create(replica, seats=seats, **{"stake": STAKE, **fields})
    owners = [await owner(replica, name) for name in ("Ada", "Bo", "Cy", "Di")[:seats]]
    return owners, [await one.join(table.id) for one in owners]


async def settle(replica: Replica) -> None:
    """Do what is due."""
    while await replica.deadlines.look():
        pass


def counted(replica: Replica, kind: str) -> float:
    """How much of a kind was due and carried out."""
    return replica.metrics.registry.get_sample_value("buraco_due_total", {"kind": kind}) or 0.0


async def test_stake_is_held_and_settled(replica: Replica) -> None:
    """A stake is held when the seat is taken, and settled when the match is over: the table and the views show it."""
    (ada, bo), players = await seated(replica)
    table_id = players[0].table_id
    assert await ada.account() == await bo.account() == (INITIAL, STAKE, INITIAL - STAKE)
    assert (await players[0].view()).credit == INITIAL - STAKE
    table = await resign(players[0])
    assert not table.stakes_settled
    assert await ada.account() == (INITIAL, STAKE, INITIAL - STAKE)
    await settle(replica)
    table = await get(replica, table_id)
    assert table.stakes_settled
    assert list(table.result.payouts) == [-STAKE, STAKE]
    assert await ada.account() == (INITIAL - STAKE, 0, INITIAL - STAKE)
    assert await bo.account() == (INITIAL + STAKE, 0, INITIAL + STAKE)
    assert [(await player.view()).credit for player in players] == [INITIAL - STAKE, INITIAL + STAKE]
    assert await ada.entries() == [("SETTLEMENT", -STAKE, -STAKE), ("HOLD", 0, STAKE), ("GRANT", INITIAL, 0)]
    assert counted(replica, "settlement") == 1
    await settle(replica)
    assert (await get(replica, table_id)).revision == table.revision


async def test_two_replicas_settle_once(replicas: tuple[Replica, Replica]) -> None:
    """Players at two replicas stake, and both replicas settle at the same time: each account gets one entry for it."""
    here, there = replicas
    owners = [await owner(here, "Ada"), (await owner(here, "Bo"))._replace(replica=there)]
    table_ids = [(await create(here, stake=STAKE)).id for _ in range(5)]
    for table_id in table_ids:
        players = await asyncio.gather(*[one.join(table_id, seat=seat) for seat, one in enumerate(owners)])
        await resign(players[1])
    while any(await asyncio.gather(here.deadlines.look(), there.deadlines.look())):
        pass
    assert all([(await get(here, table_id)).stakes_settled for table_id in table_ids])
    for one, won in zip(owners, (STAKE, -STAKE), strict=True):
        assert await one.account() == (INITIAL + 5 * won, 0, INITIAL + 5 * won)
        assert sorted([kind for kind, _, _ in await one.entries()]) == ["GRANT", *["HOLD"] * 5, *["SETTLEMENT"] * 5]


async def test_four_players_by_play(replica: Replica) -> None:
    """A match for four that is played to its end pays both players of the side that wins, and nothing is left over."""
    house = short_rules(4)
    owners, players = await seated(replica, 4, rule_set=rule_set_to_pb(house), target_score=0)
    await submitted(players, plain_turns(dealt(house, 4), 4))
    await settle(replica)
    table = await get(replica, players[0].table_id)
    assert table.stakes_settled
    balances = [(await one.account())[0] for one in owners]
    assert balances == [INITIAL + paid for paid in table.result.payouts]
    assert sum(balances) == 4 * INITIAL


async def test_credit_is_nobody_elses_business(replica: Replica) -> None:
    """The public view has no credit, and no table shows who staked; nor has a view without a stake a credit."""
    (ada, bo), players = await seated(replica)
    view = (await public_view(replica, players[0].table_id)).view
    assert not view.HasField("credit")
    await grant(replica, bo.id, 5)
    assert (await players[0].view()).credit == (await ada.account())[2]
    plain = await create(replica)
    free = [await one.join(plain.id) for one in (ada, bo)]
    assert not (await free[0].view()).HasField("credit")


@pytest.mark.parametrize("end", [abort, None])
async def test_stake_returns_without_a_winner(replica: Replica, end: Callable[..., Any] | None) -> None:
    """After a draw or an aborted match all get their stakes back (R11.3)."""
    (ada, bo), players = await seated(replica)
    if end is not None:
        await end(players[1])
    else:
        for player in players:
            await offer_draw(player)
    await settle(replica)
    for one in (ada, bo):
        assert await one.account() == (INITIAL, 0, INITIAL)
        assert (await one.entries())[0] == ("RELEASE", 0, -STAKE)
    assert (await get(replica, players[0].table_id)).stakes_settled


async def test_leaving_before_the_start(replica: Replica) -> None:
    """Who leaves before the match starts has the stake back at once, and can take the seat again."""
    table = await create(replica, stake=INITIAL)
    ada = await owner(replica)
    for _ in range(2):
        seat = await ada.join(table.id)
        assert await ada.account() == (INITIAL, INITIAL, 0)
        await seat.leave()
        assert await ada.account() == (INITIAL, 0, INITIAL)
    assert [kind for kind, _, _ in await ada.entries()] == ["RELEASE", "HOLD"] * 2 + ["GRANT"]
    assert counted(replica, "release") == 2


async def test_leaving_a_running_match(replica: Replica) -> None:
    """A stake stays at the seat of a running match: whoever takes it over stakes nothing, and needs no account."""
    (ada, bo), players = await seated(replica)
    table_id = players[0].table_id
    await players[0].leave()
    await settle(replica)
    assert await ada.account() == (INITIAL, STAKE, INITIAL - STAKE)
    stranger = await join(replica, table_id, player_name="Eve", seat=0)
    assert not (await stranger.view()).HasField("credit")
    await resign(players[1])
    await settle(replica)
    assert await ada.account() == (INITIAL + STAKE, 0, INITIAL + STAKE)
    assert await bo.account() == (INITIAL - STAKE, 0, INITIAL - STAKE)
    assert not (await stranger.view()).HasField("credit")


async def test_too_few_credits(replica: Replica) -> None:
    """Who cannot pay is refused, the table stays as it was, and a seat is free for who can."""
    table = await create(replica, stake=INITIAL + 1)
    ada = await owner(replica)
    refusal = await refused(ada.join(table.id))
    assert refusal.short == ("FAILED_PRECONDITION", "CREDIT_TOO_LOW")
    assert refusal.metadata == {"available": str(INITIAL), "needed": str(INITIAL + 1)}
    assert (await get(replica, table.id)).revision == 1
    await grant(replica, ada.id, 1)
    await ada.join(table.id)
    other = await create(replica, stake=1)
    assert (await refused(ada.join(other.id))).metadata == {"available": "0", "needed": "1"}


async def test_player_token_is_needed(replica: Replica) -> None:
    """Nobody takes a seat with a stake without a player token; without a stake anybody may."""
    table = await create(replica, stake=1)
    assert (await refused(join(replica, table.id))).short == ("UNAUTHENTICATED", "PLAYER_TOKEN_MISSING")
    await join(replica, (await create(replica)).id)


async def test_coming_back_stakes_once(replica: Replica) -> None:
    """A repeat of a join, and a player who comes back, hold nothing more."""
    table = await create(replica, stake=INITIAL)
    ada = await owner(replica)
    request_id = new_id()
    first = await ada.join(table.id, request_id=request_id)
    assert await ada.join(table.id, request_id=request_id) == first
    assert (await ada.join(table.id)).seat == first.seat
    assert (await refused(ada.join(table.id, seat=1))).reason == "ALREADY_SEATED"
    assert await ada.account() == (INITIAL, INITIAL, 0)
    assert len(await ada.entries()) == 2


async def test_refused_join_keeps_nothing(replica: Replica) -> None:
    """Of players who race for one seat, one has staked; the others have all their credits, at once."""
    table = await create(replica, stake=STAKE)
    owners = [await owner(replica) for _ in range(6)]
    joins = await gathered(*[one.join(table.id, seat=1) for one in owners])
    winners = [one for one, outcome in zip(owners, joins, strict=True) if isinstance(outcome, Player)]
    assert len(winners) == 1
    await settle(replica)
    for one in owners:
        held = STAKE if one in winners else 0
        assert await one.account() == (INITIAL, held, INITIAL - held)
    late = next(one for one in owners if one not in winners)
    assert (await refused(late.join(table.id, seat=1))).reason == "SEAT_TAKEN"


async def test_one_player_from_many_devices(replica: Replica) -> None:
    """A player who joins from several devices at once stakes once."""
    table = await create(replica, stake=INITIAL)
    ada = await owner(replica)
    seats = await asyncio.gather(*[ada.join(table.id) for _ in range(5)])
    assert {seat.seat for seat in seats} == {0}
    assert await ada.account() == (INITIAL, INITIAL, 0)


async def test_rematch_stakes_again(replica: Replica) -> None:
    """The table of a rematch holds the stake anew, and refuses who cannot pay any more."""
    (ada, bo), players = await seated(replica, stake=INITIAL)
    await resign(players[0])
    assert (await refused(rematch_raw(players[1]))).reason == "CREDIT_TOO_LOW"
    await settle(replica)
    again = await rematch(players[1])
    assert await bo.account() == (2 * INITIAL, INITIAL, INITIAL)
    assert (await rematch(players[1])).seat == again.seat
    assert (await refused(rematch_raw(players[0]))).reason == "CREDIT_TOO_LOW"
    await grant(replica, ada.id, INITIAL)
    await rematch(players[0])
    assert await ada.account() == (INITIAL, INITIAL, 0)
    assert (await get(replica, again.table_id)).state == table_pb2.TABLE_STATE_PLAYING


async def test_bots_stake_from_the_house(replica: Replica) -> None:
    """A bot stakes from the account of the house, which may be overdrawn; what it wins or loses is the house's."""
    table = await create(replica, stake=INITIAL)
    ada = await owner(replica)
    await ada.join(table.id)
    joined = await join_raw(replica, table.id, player_name="Bot", bot_level="easy")
    bot = Player(replica, table.id, joined.seat, joined.token)
    account = (await get_account(replica, HOUSE)).account
    assert (account.balance, account.held, account.available) == (0, INITIAL, -INITIAL)
    assert not (await bot.view()).HasField("credit")
    await resign(bot)
    await settle(replica)
    account = (await get_account(replica, HOUSE)).account
    assert (account.balance, account.held, account.available) == (-INITIAL, 0, -INITIAL)
    assert await ada.account() == (2 * INITIAL, 0, 2 * INITIAL)


async def test_only_operators_stake_for_the_house(tmp_path: Path) -> None:
    """Where there are API keys, nobody spends the credits of the house by calling oneself a bot without one."""
    key: Metadata = (("x-api-key", "a secret of an operator"),)
    keys = (ApiKey.of("bots", b"a secret of an operator"),)
    async with serving(tmp_path / "tables.db", credits=True, api_keys=keys) as replica:
        table = await create(replica, stake=STAKE, metadata=key)
        refusal = await refused(join_raw(replica, table.id, player_name="Bot", bot_level="easy"))
        assert refusal.reason == "PLAYER_TOKEN_MISSING"
        assert (await get_account(replica, HOUSE, key)).account.held == 0


async def test_watchers_see_reservations_as_changes_without_events(replica: Replica) -> None:
    """Who watches a table gets its revisions without a gap while stakes are held."""
    table = await create(replica, stake=STAKE)
    updates = watch(replica, table.id)
    await updates.expect("state")
    ada = await owner(replica)
    await ada.join(table.id)
    revisions = [(await updates.expect("events")) for _ in range(2)]
    assert [one.revision for one in revisions] == [2, 3]
    assert [len(one.events) for one in revisions] == [0, 1]
    updates.cancel()


async def test_stakes_return_before_a_table_expires(replica: Replica, clock: Clock) -> None:
    """A waiting table that nobody touches frees its seats and stakes when its life is over; a match is aborted."""
    table = await create(replica, stake=STAKE)
    ada = await owner(replica)
    waiting = await ada.join(table.id)
    owners, players = await seated(replica)
    clock.now += TTL - 1
    await settle(replica)
    assert await ada.account() == (INITIAL, STAKE, INITIAL - STAKE)
    clock.now += 3602
    assert await replica.store.expire(clock.now, 100) == 0
    await settle(replica)
    for one in (ada, *owners):
        assert await one.account() == (INITIAL, 0, INITIAL)
    assert (await get(replica, table.id)).seats[0].player_name == ""
    assert (await refused(waiting.leave())).reason == "SEAT_NOT_YOURS"
    ended = await get(replica, players[0].table_id)
    assert (ended.state, ended.result.how) == (table_pb2.TABLE_STATE_FINISHED, event_pb2.MATCH_END_ABORTED)
    assert counted(replica, "idle") == 2
    clock.now += 1
    assert await replica.store.expire(clock.now, 100) == 2


async def test_moves_do_not_change_what_is_due(replica: Replica, clock: Clock) -> None:
    """A move of a match with stakes leaves the time at which something is due as it is, but for once an hour."""
    _, players = await seated(replica)
    table = await replica.table(players[0].table_id)
    later = [table.advanced(clock.now + seconds).due_at for seconds in range(0, 3600, 100)]
    assert len(set(later)) <= 2
    assert all([due is not None and clock.now + TTL <= due <= clock.now + TTL + 7200 for due in later])


async def test_tables_of_before_are_only_shown(tmp_path: Path) -> None:
    """The stake of a table that was created while accounts were off is never held; those held are settled even so."""
    place = tmp_path / "tables.db"
    at_once: dict[str, Any] = {"clock_tolerance": 0}
    async with serving(place, credits=False, **at_once) as off, serving(place, credits=True, **at_once) as on:
        shown = await create(off, stake=STAKE)
        assert (await off.table(shown.id)).stakes is None
        players = [await join(on, shown.id, player_name=name) for name in ("Ada", "Bo")]
        await resign(players[0])
        await settle(on)
        assert not (await get(on, shown.id)).stakes_settled

        (ada, bo), held = await seated(on)
        await resign(held[0].at(off))
        await settle(off)
        assert (await get(on, held[0].table_id)).stakes_settled
        assert (await ada.account())[0] + STAKE == INITIAL == (await bo.account())[0] - STAKE
