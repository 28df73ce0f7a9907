from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import event_pb2, table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_rules import DrawStock
from buraco_service.configuration.loading import load
from buraco_service.tables import finding as finding_module
from tests.certificates import Mounted
from tests.service import host
from tests.service.announcing import Announcing
from tests.service.host import SECRET, key_set, player_token
from tests.service.refusals import assert_invalid, gathered, refused
from tests.service.scripts import dealt, short_rules
from tests.service.table_server import (
    KEY,
    PATIENCE,
    Player,
    Replica,
    bearing,
    create,
    get,
    join,
    join_raw,
    new_id,
    serving,
    sign_in,
    start,
    unchanged,
    watch,
)
from tests.service.usecases import NOW, UseCases

STORES = ["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"]
INVALID = ("UNAUTHENTICATED", "PLAYER_TOKEN_INVALID")


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    """The keys of the host."""
    path = tmp_path / "player-keys.json"
    path.write_text(key_set(*host.KEYS))
    return path


@pytest.fixture(params=STORES)
async def replicas(request: pytest.FixtureRequest, keys_file: Path) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two servers, each with connections of its own to the same store, of each kind."""
    url: str = request.getfixturevalue(request.param)
    async with serving(url, player_keys_file=keys_file) as one, serving(url, player_keys_file=keys_file) as other:
        yield one, other


@pytest.fixture
async def replica(tmp_path: Path, keys_file: Path) -> AsyncIterator[Replica]:
    """A server that knows the host's keys."""
    async with serving(tmp_path / "tables.db", player_keys_file=keys_file) as running:
        yield running


async def mine(replica: Replica, token: str, **fields: Any) -> list[str]:
    """The ids of all tables that ListTables lists to a player, page by page."""
    found: list[str] = []
    request = pb.ListTablesRequest(mine=True, **fields)
    while True:
        page = await replica.tables.ListTables(request, metadata=bearing(token), timeout=PATIENCE)
        found += [table.id for table in page.tables]
        assert len(page.tables) <= (request.page_size or 50)
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


async def test_seat_of_a_player(replicas: tuple[Replica, Replica]) -> None:
    """A seat belongs to the player who took it, which everybody is shown; the next who takes it has it from then on."""
    here, there = replicas
    guest = await sign_in(here)
    table = await create(here)
    public = watch(there, table.id)
    await public.expect("state")
    joined = await join_raw(here, table.id, guest.player_token, player_name="")
    shown = table_pb2.TableSeat(seat=0, player_name="Zoë", player_id=guest.player_id)
    assert joined.table.seats[0] == shown
    assert (await get(there, table.id)).seats[0] == shown
    (event,) = (await public.expect("events")).events
    assert event.seat_changed == event_pb2.SeatChanged(seat=0, player_name="Zoë", player_id=guest.player_id)
    await Player(there, table.id, 0, joined.token).leave()
    assert (await public.expect("events")).events[0].seat_changed == event_pb2.SeatChanged(seat=0)
    assert (await get(here, table.id)).seats[0] == table_pb2.TableSeat(seat=0)
    await join(here, table.id, seat=0)
    assert (await get(there, table.id)).seats[0] == table_pb2.TableSeat(seat=0, player_name="Ada")


async def test_coming_back(replicas: tuple[Replica, Replica]) -> None:
    """A player who joins again, at any replica, has the same seat, and may play; the table does not change."""
    here, there = replicas
    table = await create(here)
    tokens = [player_token(name) for name in ("ada", "bo")]
    first = [await join_raw(here, table.id, token) for token in tokens]
    for number, token in enumerate(tokens):
        for seat in (None, number):
            again = await join_raw(there, table.id, token, player_name="Another", seat=seat, entropy=b"more")
            assert again.seat == number
            assert again.table == first[1].table
            assert again.token_expires_at.seconds > time.time()
            players = [Player(replica, table.id, number, token) for replica in replicas for token in (again.token,)]
            assert [(await player.look()).view.seat for player in players] == [number, number]
    mover = dealt().seat_to_move
    again = await join_raw(there, table.id, tokens[mover])
    assert (await Player(here, table.id, mover, again.token).submit(DrawStock())).revision == 4
    # The token that came first is good as well.
    assert (await Player(there, table.id, mover, first[mover].token).look()).revision == 4


async def test_one_seat_of_a_table(replicas: tuple[Replica, Replica]) -> None:
    """A player who asks for another seat is refused, and learns the own one; at another table a player has another."""
    here, there = replicas
    table, other = await create(here, seats=4), await create(here)
    token = player_token()
    assert (await join_raw(here, table.id, token, seat=2)).seat == 2
    for asked in (0, 3, 9):
        refusal = await refused(join_raw(there, table.id, token, seat=asked))
        assert refusal.short == ("FAILED_PRECONDITION", "ALREADY_SEATED")
        assert refusal.metadata == {"seat": "2"}
    assert (await get(here, table.id)).revision == 2
    assert (await join_raw(there, other.id, token, seat=1)).seat == 1


async def test_race_of_devices(replicas: tuple[Replica, Replica]) -> None:
    """Of one player's devices that join at once, wherever and for whichever seat, all hold one seat or none."""
    table = await create(replicas[0], seats=4)
    token = player_token()
    asked = [None, 0, 1, 2, 3, None] * 2
    outcomes = await gathered(
        *[join_raw(replicas[number % 2], table.id, token, seat=seat) for number, seat in enumerate(asked)]
    )
    stored = await get(replicas[0], table.id)
    assert stored.revision == 2
    (held,) = [seat.seat for seat in stored.seats if seat.player_id == "ada"]
    assert [seat.player_name for seat in stored.seats].count("") == 3
    joined = [outcome for outcome in outcomes if isinstance(outcome, pb.JoinTableResponse)]
    assert {outcome.seat for outcome in joined} == {held}
    assert len(joined) >= asked.count(None)
    for answer in joined:
        assert (await Player(replicas[1], table.id, held, answer.token).look()).revision == 2


async def test_race_of_players_for_a_seat(replicas: tuple[Replica, Replica]) -> None:
    """Of several players who want one seat one gets it, the others nothing."""
    table = await create(replicas[0], seats=4)
    outcomes = await gathered(
        *[join_raw(replicas[number % 2], table.id, player_token(f"p{number}"), seat=1) for number in range(6)]
    )
    (won,) = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, pb.JoinTableResponse)]
    assert [seat.player_id for seat in (await get(replicas[1], table.id)).seats] == ["", f"p{won}", "", ""]


async def test_my_tables(replicas: tuple[Replica, Replica], monkeypatch: pytest.MonkeyPatch) -> None:
    """A player is listed the tables with a seat of the player's, in every state, however many others there are."""
    monkeypatch.setattr(finding_module, "READ_AT_ONCE", 3)
    here, there = replicas
    tables = [(await create(here)).id for _ in range(17)]
    ada, bo = player_token("ada"), player_token("bo")
    held = sorted(tables[::3])
    for table_id in held:
        await join_raw(here, table_id, ada)
    await join_raw(here, held[0], bo)
    # A name is no id.
    await join_raw(here, tables[1], bo, player_name="ada")
    for size in (0, 1, 2, 6, 200):
        assert await mine(there, ada, page_size=size) == held
    assert await mine(there, ada, state=table_pb2.TABLE_STATE_PLAYING) == held[:1]
    assert await mine(there, ada, state=table_pb2.TABLE_STATE_WAITING) == held[1:]
    assert await mine(there, bo) == sorted([held[0], tables[1]])
    assert await mine(there, player_token("ad")) == []


async def test_repeat(replica: Replica) -> None:
    """The same request gets the first answer, and a request of another player under its id is refused."""
    table = await create(replica)
    request_id = new_id()
    first = await join_raw(replica, table.id, player_token("ada"), request_id=request_id)
    await join(replica, table.id)
    with unchanged(replica):
        assert await join_raw(replica, table.id, player_token("ada"), request_id=request_id) == first
        for other in (player_token("bo"), player_token("ada", name="x"), None):
            names = {} if other is None or "bo" in other else {"player_name": ""}
            refusal = await refused(join_raw(replica, table.id, other, request_id=request_id, **names))
            assert refusal.short == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")


async def test_after_the_seat_token_has_ended(tmp_path: Path) -> None:
    """Joining again gives a player a fresh token when the first has ended, under the first request id as well."""
    now = [NOW]
    async with serving(tmp_path / "tables.db") as replica:
        cases = UseCases(replica.store)
        cases.tables.clock = lambda: now[0]
        created = await create(replica)
        request_id = new_id()
        first = await cases.tables.join(created.id, None, "Ada", b"", request_id, None, "ada")
        claims = cases.tables.tokens.verify(first.token, NOW)
        now[0] = NOW + 1_000_000
        for again in (request_id, new_id()):
            joined = await cases.tables.join(created.id, None, "Ada", b"", again, None, "ada")
            fresh = cases.tables.tokens.verify(joined.token, now[0])
            assert (fresh.seat, fresh.token_id) == (0, claims.token_id)
            assert joined.token_expires_at.seconds == fresh.expires_at > now[0]
        assert (await get(replica, created.id)).revision == 2


async def test_leaving(replica: Replica) -> None:
    """A player who has left has no seat: the tokens are void, and joining again takes a seat anew."""
    players = await start(replica)
    table_id = players[0].table_id
    await players[0].leave()
    token = player_token()
    joined = await join_raw(replica, table_id, token)
    again = await join_raw(replica, table_id, token)
    await Player(replica, table_id, 0, again.token).leave()
    for void in (joined.token, again.token):
        player = Player(replica, table_id, 0, void)
        assert (await refused(player.look())).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    taken = await join_raw(replica, table_id, token)
    assert (taken.seat, taken.table.revision) == (0, 7)
    assert (await Player(replica, table_id, 0, taken.token).look()).view.seat == 0


async def test_full_and_finished_tables(replica: Replica) -> None:
    """At a full table and after the match a player comes back to the own seat, and others get none."""
    cases = UseCases(replica.store)
    rules = short_rules(4)
    created = await cases.tables.create(
        rules, 2, target_score=0, stake=0, master_seed=bytes(32), seeded_by_creator=True, request_id=new_id()
    )
    table_id = created.table.id
    joined = [await join_raw(replica, table_id, player_token(name)) for name in ("ada", "bo")]
    assert (await refused(join_raw(replica, table_id, player_token("cy")))).reason == "TABLE_FULL"
    players = [Player(replica, table_id, number, answer.token) for number, answer in enumerate(joined)]
    while (table := await replica.table(table_id)).result is None:
        assert table.deal is not None
        await players[table.deal.seat_to_move].submit(table.legal_moves(table.deal.seat_to_move)[-1])
    again = await join_raw(replica, table_id, player_token("bo"), player_name="")
    assert (again.seat, again.table.state) == (1, table_pb2.TABLE_STATE_FINISHED)
    assert (await Player(replica, table_id, 1, again.token).look()).view.seat == 1
    assert (await refused(join_raw(replica, table_id, player_token("cy")))).reason == "TABLE_FINISHED"


async def test_names(replica: Replica) -> None:
    """JoinTable's name is taken, else the token's; without either only a player with a seat may join."""
    table = await create(replica, seats=4)
    named = await join_raw(replica, table.id, player_token("a", name="  Zoe\u0308  Q "), player_name="")
    assert named.table.seats[0].player_name == "Zoë Q"
    given = await join_raw(replica, table.id, player_token("b"), player_name="Bo")
    assert given.table.seats[1].player_name == "Bo"
    with unchanged(replica):
        for name in (None, "", "\u202e", "x" * 65):
            assert_invalid(
                await refused(join_raw(replica, table.id, player_token("c", name=name), player_name="")), "player_name"
            )
            assert (await join_raw(replica, table.id, player_token("b", name=name), player_name="")).seat == 1
        assert_invalid(
            await refused(join_raw(replica, table.id, player_token("b"), player_name="\u202e")), "player_name"
        )
        assert_invalid(await refused(join_raw(replica, table.id, player_name="")), "player_name")


async def test_bad_player_tokens(tmp_path: Path, keys_file: Path, log_stream: Announcing) -> None:
    """A token that proves nobody is refused by all that takes one, changes nothing, and is in no log."""
    async with serving(tmp_path / "tables.db", player_keys_file=keys_file, log_format="json") as replica:
        table = await create(replica)
        guest = await sign_in(replica)
        bad = {
            player_token(aud="other"): INVALID,
            player_token(exp=1_000_000): ("UNAUTHENTICATED", "PLAYER_TOKEN_EXPIRED"),
            player_token(key=host.make_rsa("unknown")): INVALID,
            player_token(key=host.make_secret("shared", b"x" * 32)): INVALID,
            host.unsigned({"alg": "none", "kid": "shared"}, {"sub": "a", "aud": "player", "exp": 2e9}): INVALID,
            player_token("guest-" + "a" * 26): INVALID,
            player_token("a\nb"): INVALID,
            player_token("a" * 129): INVALID,
            guest.player_token + "x": INVALID,
            "x" * 4097: INVALID,
            "not-a-token": INVALID,
            "two words": INVALID,
        }
        with unchanged(replica):
            for token, reason in bad.items():
                listing = replica.tables.ListTables(pb.ListTablesRequest(mine=True), metadata=bearing(token))
                for call in (join_raw(replica, table.id, token), listing):
                    refusal = await refused(call)
                    assert refusal.short == reason
                    assert token[:20] not in refusal.message
            missing = await refused(replica.tables.ListTables(pb.ListTablesRequest(mine=True)))
            assert missing.short == ("UNAUTHENTICATED", "PLAYER_TOKEN_MISSING")
            # Only `mine` looks at it.
            await replica.tables.ListTables(pb.ListTablesRequest(), metadata=bearing("not-a-token"))
    logged = log_stream.getvalue()
    assert "PLAYER_TOKEN_INVALID" in logged
    for token in (*bad, guest.player_token):
        assert not any(part in logged for part in token.split(".") if len(part) > 8)
    assert guest.player_id not in logged


async def test_each_token_in_its_place(replica: Replica) -> None:
    """A player token is no seat token; a seat token with JoinTable is ignored, as before there were player tokens."""
    guest = await sign_in(replica)
    table = await create(replica)
    joined = await join_raw(replica, table.id, guest.player_token)
    other = await join(replica, table.id)
    for token in (guest.player_token, player_token()):
        player = Player(replica, table.id, 0, token)
        stream = await player.play()
        renew = replica.tables.RenewToken(pb.RenewTokenRequest(table_id=table.id), metadata=bearing(token))
        calls: list[Awaitable[Any]] = [
            player.submit(DrawStock()),
            player.undo(),
            player.leave(),
            player.look(),
            player.legal(),
        ]
        for call in (*calls, stream.next(), player.watch().next(), renew):
            assert (await refused(call)).short == ("UNAUTHENTICATED", "TOKEN_INVALID")
    second = await create(replica)
    for token in (joined.token, other.token):
        assert (await join_raw(replica, second.id, token)).table.seats[0].player_id == ""
    listing = replica.tables.ListTables(pb.ListTablesRequest(mine=True), metadata=bearing(joined.token))
    assert (await refused(listing)).short == ("UNAUTHENTICATED", "PLAYER_TOKEN_MISSING")


async def test_tables_without_players(replica: Replica) -> None:
    """A table whose players have no player tokens is stored as an earlier version stores it."""
    players = await start(replica)
    await players[0].leave()
    stored = await replica.store.load(players[0].table_id)
    message = table_pb2.StoredTable.FromString(stored.state)
    fields = {field.name for seat in message.seats for field, _ in seat.ListFields()}
    assert fields == {"player_name", "token_id", "joined_at"}
    joined = await join_raw(replica, players[0].table_id, player_token())
    assert [seat.player_id for seat in joined.table.seats] == ["ada", ""]


async def test_guests_where_they_are_not_allowed(tmp_path: Path) -> None:
    """Where guests are off nobody becomes one, and those who are stay who they are."""
    path = tmp_path / "tables.db"
    async with serving(path) as replica:
        guest = await sign_in(replica)
    async with serving(path, guests=False) as replica:
        assert (await refused(sign_in(replica))).short == ("FAILED_PRECONDITION", "SIGN_IN_DISABLED")
        joined = await join_raw(replica, (await create(replica)).id, guest.player_token)
        assert joined.table.seats[0].player_id == guest.player_id


def test_guests_by_mode() -> None:
    """Guests are on in development mode, and off in production mode, unless it is set otherwise."""
    production = {"BURACO_MODE": "production", "BURACO_TLS": "off", "BURACO_SIGNING_KEYS": "k:" + "s" * 32}
    assert load({}, {}).guests
    assert not load(production, {}).guests
    assert load(production | {"BURACO_GUESTS": "on"}, {}).guests
    assert not load({}, {"guests": False}).guests


async def test_guests(replica: Replica) -> None:
    """Guests need a name that can be shown, and no key; each is another player until the token ends."""
    first, second = await asyncio.gather(sign_in(replica), sign_in(replica))
    assert first.player_id != second.player_id
    assert abs(first.expires_at.seconds - time.time() - 2_592_000) < PATIENCE
    for name in ("", " ", "\u202e", "x" * 65):
        assert_invalid(await refused(sign_in(replica, name)), "name")


async def test_changed_keys_of_the_host(tmp_path: Path, log_stream: Announcing) -> None:
    """A changed file of keys is used without a restart; one that cannot be used changes nothing but the log."""
    secrets = Mounted(tmp_path / "secrets")
    secrets.put(keys=key_set(SECRET))
    path = secrets.path("keys")
    async with serving(tmp_path / "tables.db", player_keys_file=path, reload_interval=0.1) as replica:
        table = await create(replica, seats=4)
        fresh = host.make_ed25519("fresh")
        assert (await refused(join_raw(replica, table.id, player_token("bo", fresh)))).short == INVALID
        assert (await join_raw(replica, table.id, player_token("ada"))).seat == 0
        secrets.put(keys=key_set(fresh))
        await log_stream.wait_for(partial(_has_logged, log_stream, "changed files are in use"))
        assert (await join_raw(replica, table.id, player_token("bo", fresh))).seat == 1
        assert (await refused(join_raw(replica, table.id, player_token("ada")))).short == INVALID
        secrets.put(keys='{"keys": [{"kid": "k", "kty": "oct", "k": "c2hvcnQtc2VjcmV0"}]}')
        await log_stream.wait_for(
            partial(_has_logged, log_stream, "changed files cannot be used, those before are kept")
        )
        assert (await join_raw(replica, table.id, player_token("bo", fresh))).seat == 1
    assert "c2hvcnQ" not in log_stream.getvalue()
    assert str(SECRET.jwk["k"]) not in log_stream.getvalue()


def _has_logged(log_stream: Announcing, event: str) -> bool:
    return any(line["what"] == "player keys" for line in log_stream.lines(event))


def test_keys_that_cannot_be_used(tmp_path: Path) -> None:
    """The service does not start with a file of keys that cannot be used."""
    path = tmp_path / "keys"
    path.write_text(f"first {KEY.secret.decode()}\n")
    with pytest.raises(Exception, match=r"BURACO_PLAYER_KEYS_FILE '.*' is no key set") as caught:
        load({"BURACO_PLAYER_KEYS_FILE": str(path)}, {})
    assert KEY.secret.decode() not in str(caught.value)
