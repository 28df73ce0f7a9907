"""Seats that are kept for bots, and bots that play for absent players, over gRPC at two replicas of each store."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import grpc.aio
import pytest

from buraco.v1 import event_pb2, table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import DrawStock
from buraco_service.access.api_keys import ApiKey
from buraco_service.tables.finishing import finish_turn
from buraco_service.tables.labels import labels_of
from tests.service import host
from tests.service.endings import offer_draw
from tests.service.host import key_set, player_token
from tests.service.refusals import assert_invalid, gathered, read_refusal, refused
from tests.service.scripts import plain_turn, short_rules
from tests.service.table_server import (
    PATIENCE,
    Player,
    Replica,
    Update,
    contents,
    create,
    get,
    join,
    join_raw,
    new_id,
    public_view,
    records,
    serving,
    start,
    unchanged,
    watch,
)
from tests.service.tables.test_timing import CONFIRMATION, TOLERANCE, Clock, Two, alone, deal_of, mover, options, two

__all__ = ["alone", "two"]

TURN: Final = 30.0
LEVEL: Final = "greedy"
BOT: Final[dict[str, Any]] = {"bot_level": LEVEL, "player_name": "Greedy"}


def with_substitutes(**chosen: Any) -> table_pb2.TableOptions:
    """Options of a table where a turn of 30 seconds that is missed makes a seat absent, for which a bot may play."""
    plain: dict[str, Any] = {
        "turn_time": TURN,
        "absent_after_turns": 1,
        "absence": table_pb2.ABSENCE_POLICY_BOT,
        "substitute_level": LEVEL,
    }
    return options(**plain | chosen)


def kept_for_bots(*seats: int, level: str = LEVEL, **chosen: Any) -> table_pb2.TableOptions:
    """Options of a table that keeps seats for bots."""
    message = options(**chosen)
    message.bots.extend([table_pb2.BotSeat(seat=seat, level=level) for seat in seats])
    return message


async def waiting(replica: Replica, level: str = LEVEL, **fields: Any) -> list[str]:
    """The tables with a seat that waits for a bot of a level."""
    found, after = [], ""
    while True:
        request = pb.ListTablesRequest(bot_level=level, page_token=after, **fields)
        page = await replica.tables.ListTables(request, timeout=PATIENCE)
        found += [table.id for table in page.tables]
        after = page.next_page_token
        if not after:
            return found


async def miss_turn(two: Two) -> None:
    """Let the clock finish the running turns of all tables."""
    two.wait(TURN + TOLERANCE + 0.1)
    assert await two.look() >= 1


async def absent(two: Two, seats: int = 2, **chosen: Any) -> tuple[Player, list[Player]]:
    """A match whose first seat to move is absent: its player, and all players by seat."""
    players = await start(two.here, seats=seats, options=with_substitutes(**chosen))
    first = await mover(two.here, players)
    await miss_turn(two)
    return first, players


def kinds(update: Update) -> list[str]:
    """The kinds of the events of an update."""
    return [event.WhichOneof("event") or "" for event in update.message.events]


async def play_turn(replica: Replica, players: list[Player]) -> None:
    """Play a plain turn by whoever is to move."""
    deal = deal_of(await replica.table(players[0].table_id))
    await players[deal.seat_to_move].submit(*plain_turn(deal).moves)


async def lost_seat(call: Any) -> None:
    """A call is refused because its token has no seat."""
    assert (await refused(call)).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


@contextlib.contextmanager
def nothing_stored(replica: Replica) -> Iterator[None]:
    """There is nothing in the store after the block."""
    yield
    assert not any(contents(replica).values())


def rules(turns: int) -> dict[str, Any]:
    """House rules whose deals end after so many turns, as fields of CreateTable."""
    return {"rule_set": rule_set_to_pb(short_rules(turns))}


# ---- seats that are kept for bots ----


async def test_person_and_three_bots(two: Two) -> None:
    """Bots of the level asked for take the seats kept for them, a person the other; the last one starts the match."""
    table = await create(two.here, seats=4, options=kept_for_bots(1, 2, 3))
    assert [seat.bot_level for seat in table.seats] == ["", LEVEL, LEVEL, LEVEL]
    assert await waiting(two.there) == [table.id]
    ada = await join(two.here, table.id)
    assert ada.seat == 0
    for number in range(3):
        assert (await get(two.there, table.id)).state == table_pb2.TABLE_STATE_WAITING
        assert await waiting(two.there) == [table.id]
        joined = await join_raw((two.here, two.there)[number % 2], table.id, bot_level=LEVEL, player_name="")
        assert joined.seat == number + 1
    assert await waiting(two.there) == await waiting(two.here) == []
    started = await get(two.there, table.id)
    assert started.state == table_pb2.TABLE_STATE_PLAYING
    assert [seat.player_name for seat in started.seats] == ["Ada", LEVEL, LEVEL, LEVEL]
    for view in (await ada.view(), (await public_view(two.there, table.id)).view):
        assert [seat.is_bot for seat in view.seats] == [False, True, True, True]


async def test_seats_for_bots_are_no_players(two: Two) -> None:
    """A player cannot take a bot's seat, nor a bot a player's, and nothing changes."""
    table = await create(two.here, seats=4, options=kept_for_bots(1, 3))
    refusal = await refused(join_raw(two.here, table.id, seat=1))
    assert (refusal.short, refusal.metadata) == (("FAILED_PRECONDITION", "BOT_SEAT"), {"seat": "1"})
    for fields in ({"seat": 0}, {"bot_level": "random"}, {"bot_level": "random", "seat": 1}):
        refusal = await refused(join_raw(two.here, table.id, **BOT | fields))
        assert refusal.short == ("FAILED_PRECONDITION", "NO_BOT_WANTED")
    assert (await get(two.there, table.id)).revision == 1
    assert (await join(two.here, table.id)).seat == 0
    assert (await join(two.there, table.id)).seat == 2
    refusal = await refused(join_raw(two.here, table.id))
    assert refusal.short == ("FAILED_PRECONDITION", "TABLE_FULL")
    assert (await join(two.here, table.id, **BOT, seat=3)).seat == 3
    refusal = await refused(join_raw(two.here, table.id, **BOT, seat=3))
    assert (refusal.short, refusal.metadata) == (("FAILED_PRECONDITION", "SEAT_TAKEN"), {"seat": "3"})


async def test_race_of_fleets(two: Two) -> None:
    """Of many bots that want the last seat for bots one gets it, and the others are refused."""
    table = await create(two.here, options=kept_for_bots(1))
    outcomes = await gathered(
        *[join_raw((two.here, two.there)[number % 2], table.id, **BOT, seat=1) for number in range(8)]
    )
    lost = [read_refusal(outcome).reason for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
    assert lost == ["SEAT_TAKEN"] * 7


async def test_bot_leaves(two: Two) -> None:
    """The seat of a bot that leaves waits for another bot, before the match and in it, and for nobody else."""
    table = await create(two.here, options=kept_for_bots(1))
    bot = await join(two.here, table.id, **BOT)
    await bot.leave()
    assert await waiting(two.there) == [table.id]
    ada = await join(two.there, table.id)
    bot = await join(two.here, table.id, **BOT)
    assert await waiting(two.there, state=table_pb2.TABLE_STATE_PLAYING) == []
    await bot.leave()
    assert await waiting(two.there, state=table_pb2.TABLE_STATE_PLAYING) == [table.id]
    assert await waiting(two.there, state=table_pb2.TABLE_STATE_WAITING) == []
    assert (await refused(join_raw(two.here, table.id))).reason == "TABLE_FULL"
    again = await join(two.there, table.id, **BOT)
    assert again.seat == 1
    await play_turn(two.here, [ada, again])


async def test_dead_bot_makes_room(two: Two) -> None:
    """The seat of a bot whose turns the clock has to finish is free for another bot, and the old token is void."""
    table = await create(two.here, options=kept_for_bots(1, turn_time=TURN, absent_after_turns=2))
    ada, bot = await join(two.here, table.id), await join(two.here, table.id, **BOT)
    stream = ada.watch()
    await stream.expect("state")
    for _ in range(2):
        if (await mover(two.here, [ada, bot])) is ada:
            await play_turn(two.here, [ada, bot])
        assert await waiting(two.there) == []
        await miss_turn(two)
    assert await waiting(two.there) == [table.id]
    assert (await get(two.here, table.id)).seats[1] == table_pb2.TableSeat(seat=1, bot_level=LEVEL)
    await lost_seat(bot.look())
    assert (await join(two.there, table.id, **BOT)).seat == 1


async def test_clock_stands_still_for_bots_alone(alone: Two) -> None:
    """A table whose players are all absent stands still, also where bots have seats."""
    table = await create(alone.here, options=kept_for_bots(1, turn_time=TURN, absent_after_turns=1))
    ada, bot = await join(alone.here, table.id), await join(alone.here, table.id, **BOT)
    while (await mover(alone.here, [ada, bot])) is bot:
        await play_turn(alone.here, [ada, bot])
    await miss_turn(alone)
    assert [seat.absent for seat in (await get(alone.here, table.id)).seats] == [True, False]
    assert not (await get(alone.here, table.id)).HasField("turn_expires_at")
    alone.wait(5000.0)
    assert await alone.look() == 0
    await play_turn(alone.here, [ada, bot])
    assert not (await get(alone.here, table.id)).HasField("turn_expires_at")
    await play_turn(alone.here, [ada, bot])
    assert (await get(alone.here, table.id)).HasField("turn_expires_at")


async def test_bots_confirm_no_score(alone: Two) -> None:
    """A score is confirmed when the players have confirmed it: bots are not waited for."""
    chosen = kept_for_bots(1, 3, confirmation_time=CONFIRMATION)
    table = await create(alone.here, seats=4, target_score=500, options=chosen, **rules(4))
    players = [await join(alone.here, table.id, **(BOT if seat % 2 else {}), seat=seat) for seat in range(4)]
    while not deal_of(await alone.here.table(table.id)).ending:
        await play_turn(alone.here, players)
    await players[0].confirm(1)
    assert deal_of(await alone.here.table(table.id)).ending
    await players[2].confirm(1)
    assert deal_of(await alone.here.table(table.id)).match.deal_number == 2


async def test_partner_of_a_bot_resigns_alone(alone: Two) -> None:
    """A player whose partner is a bot resigns for both; a draw needs the agreement of all, bots included."""
    table = await create(alone.here, seats=4, options=kept_for_bots(1, 2))
    players = [await join(alone.here, table.id, **(BOT if seat in (1, 2) else {}), seat=seat) for seat in range(4)]
    for player in (players[0], players[3]):
        offer = pb.OfferDrawRequest(table_id=table.id, request_id=new_id())
        await alone.here.tables.OfferDraw(offer, metadata=player.metadata, timeout=PATIENCE)
    assert (await get(alone.here, table.id)).state == table_pb2.TABLE_STATE_PLAYING
    request = pb.ResignRequest(table_id=table.id, request_id=new_id())
    resigned = (await alone.here.tables.Resign(request, metadata=players[0].metadata, timeout=PATIENCE)).table
    assert (resigned.state, resigned.result.resigned_side) == (table_pb2.TABLE_STATE_FINISHED, 0)
    # The rematch keeps the seats of bots for bots, and the bots of the match may come back, too.
    answers = []
    for player in (players[0], players[1]):
        again = pb.RematchRequest(table_id=table.id, request_id=new_id())
        answers.append(await alone.here.tables.Rematch(again, metadata=player.metadata, timeout=PATIENCE))
    answer = answers[1]
    assert [one.seat for one in answers] == [0, 1]
    assert [seat.bot_level for seat in answer.table.seats] == ["", LEVEL, LEVEL, ""]
    assert await waiting(alone.there) == [answer.table.id]
    assert (await refused(join_raw(alone.here, answer.table.id, seat=2))).reason == "BOT_SEAT"


async def test_unfit_options(alone: Two) -> None:
    """Seats for bots that cannot be are refused, every one by its field, and nothing is stored."""
    bots = [
        table_pb2.BotSeat(seat=seat, level=level) for seat, level in ((0, "Greedy"), (4, "x"), (1, ""), (1, "y" * 33))
    ]
    with nothing_stored(alone.here):
        refusal = await refused(create(alone.here, seats=4, options=table_pb2.TableOptions(bots=bots)))
        assert_invalid(
            refusal,
            "options.bots[0].level",
            "options.bots[1].seat",
            "options.bots[2].level",
            "options.bots[3].level",
            "options.bots[3].seat",
            "options.bots",
        )
        for chosen, field in (
            (kept_for_bots(0, 1), "options.bots"),
            (with_substitutes(substitute_level=""), "options.substitute_level"),
            (with_substitutes(absence=table_pb2.ABSENCE_POLICY_WAIT), "options.substitute_level"),
            (table_pb2.TableOptions(absence=table_pb2.ABSENCE_POLICY_BOT, substitute_level="x"), "options.absence"),
        ):
            assert_invalid(await refused(create(alone.here, options=chosen)), field)
        refusal = await refused(join_raw(alone.here, "0" * 32, bot_level="not a level"))
        assert_invalid(refusal, "bot_level")
        listing = alone.here.tables.ListTables(pb.ListTablesRequest(bot_level="É"), timeout=PATIENCE)
        assert_invalid(await refused(listing), "bot_level")


async def test_api_key_of_bots(sqlite_url: str) -> None:
    """Where the service has API keys, a bot needs one; a player needs none."""
    secret = b"a secret of sixteen bytes or more"
    async with serving(sqlite_url, api_keys=(ApiKey.of("fleet", secret),)) as replica:
        keyed = (("x-api-key", secret.decode()),)
        table = await create(replica, options=kept_for_bots(1), metadata=keyed)
        refusal = await refused(join_raw(replica, table.id, **BOT))
        assert refusal.short == ("UNAUTHENTICATED", "API_KEY_MISSING")
        request = pb.JoinTableRequest(table_id=table.id, request_id=new_id(), **BOT)
        assert (await replica.tables.JoinTable(request, metadata=keyed, timeout=PATIENCE)).seat == 1
        assert (await join(replica, table.id)).seat == 0


async def test_repeated_join_of_a_bot(alone: Two) -> None:
    """The same request of a bot gets the first answer; another level, or none, under its id is another request."""
    table = await create(alone.here, seats=4, options=kept_for_bots(1, 2))
    request_id = new_id()
    first = await join_raw(alone.here, table.id, **BOT, request_id=request_id)
    assert await join_raw(alone.there, table.id, **BOT, request_id=request_id) == first
    for fields in ({"bot_level": ""}, {"bot_level": "random"}):
        refusal = await refused(join_raw(alone.here, table.id, **BOT | fields, request_id=request_id))
        assert refusal.short == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")


# ---- bots that play for absent players ----


async def test_substitute_plays_until_the_player_moves(two: Two) -> None:
    """A bot plays for an absent player, who keeps the seat and takes it back by a move in the middle of a turn."""
    ada, players = await absent(two)
    bo = players[1 - ada.seat]
    assert await waiting(two.there) == [ada.table_id]
    public = watch(two.there, ada.table_id)
    await public.expect("state")
    bot = await join(two.there, ada.table_id, **BOT)
    assert bot.seat == ada.seat
    assert await waiting(two.here) == []
    (event,) = (await public.expect("events")).events
    assert event.substitute_joined == event_pb2.SubstituteJoined(seat=ada.seat, level=LEVEL)
    seat = (await get(two.here, ada.table_id)).seats[ada.seat]
    assert (seat.player_name, seat.absent, seat.bot_level, seat.substitute_level) == (
        *("Ada" if ada.seat == 0 else "Bo", True, ""),
        LEVEL,
    )
    assert (await bo.view()).seats[ada.seat].is_bot
    assert (await bot.view()).seats[ada.seat].is_bot
    assert (await bot.view()).hand == (await bot.at(two.here).view()).hand != []
    await play_turn(two.here, players)
    await public.expect("events")
    stream = await bot.play()
    await stream.expect("state")
    await stream.accepted(await stream.submit(DrawStock()))
    assert (await get(two.there, ada.table_id)).seats[ada.seat].absent
    drawn = (await ada.legal()).moves
    assert len(drawn) > 1
    await ada.submit(*finish_turn(deal_of(await two.there.table(ada.table_id))))
    await lost_seat(stream.next())
    for call in (bot.look(), bot.legal(), bot.submit(DrawStock()), bot.undo(), bot.leave(), bot.confirm(1)):
        await lost_seat(call)
    updates = [await public.next() for _ in range(2)]
    assert [kinds(update)[0] for update in updates] == ["drew", "seat_returned"]
    seat = (await get(two.there, ada.table_id)).seats[ada.seat]
    assert (seat.absent, seat.substitute_level) == (False, "")
    assert not (await bo.view()).seats[ada.seat].is_bot


@pytest.mark.parametrize("way", ["watch", "play"])
async def test_player_takes_the_seat_back_by_a_stream(alone: Two, way: str) -> None:
    """The player's stream ends the substitution at once; one of the bot's own does not."""
    ada, _ = await absent(alone)
    bot = await join(alone.here, ada.table_id, **BOT)
    theirs = bot.watch()
    await theirs.expect("state")
    assert (await get(alone.here, ada.table_id)).seats[ada.seat].substitute_level == LEVEL
    stream = ada.watch() if way == "watch" else await ada.play()
    state = await stream.expect("state")
    assert state.table.seats[ada.seat].substitute_level == ""
    await lost_seat(theirs.next())
    await lost_seat(bot.watch().next())


async def test_player_takes_the_seat_back_by_an_offer(alone: Two) -> None:
    """An offer of the player is a return, too: it is an event of its own, and the bot's stream ends with it."""
    ada, players = await absent(alone)
    bot = await join(alone.here, ada.table_id, **BOT)
    theirs, others = bot.watch(), players[1 - ada.seat].watch()
    for stream in (theirs, others):
        await stream.expect("state")
    await offer_draw(ada)
    assert kinds(await others.next()) == ["seat_returned", "draw_offered"]
    await lost_seat(theirs.next())


async def test_player_takes_the_seat_back_by_joining(tmp_path: Path, sqlite_url: str) -> None:
    """A player with a player token who joins again is there again, and no bot plays for the player any more."""
    keys_file = tmp_path / "keys.json"
    keys_file.write_text(key_set(*host.KEYS))
    clock = Clock()
    clock.now = time.time()  # by which player tokens are checked
    async with serving(sqlite_url, clock=clock, clock_tolerance=TOLERANCE, player_keys_file=keys_file) as replica:
        table = await create(replica, options=with_substitutes())
        tokens = [player_token("ada"), player_token("bo")]
        players = [
            Player(replica, table.id, joined.seat, joined.token)
            for joined in [await join_raw(replica, table.id, token) for token in tokens]
        ]
        first = await mover(replica, players)
        clock.now += TURN + TOLERANCE + 0.1
        assert await replica.deadlines.look() == 1
        bot = await join(replica, table.id, **BOT)
        back = await join_raw(replica, table.id, tokens[first.seat])
        assert (back.seat, back.table.seats[first.seat].substitute_level) == (first.seat, "")
        assert not back.table.seats[first.seat].absent
        await lost_seat(bot.look())
        await Player(replica, table.id, back.seat, back.token).look()


async def test_race_of_player_and_substitute(two: Two) -> None:
    """Of a move of the player and one of the bot, made at once, one is played; the other is refused for that."""
    for number in range(6):
        ada, players = await absent(two)
        bot = await join(two.there, ada.table_id, **BOT)
        await play_turn(two.here, players)
        before = await two.here.table(ada.table_id)
        turn = plain_turn(deal_of(before)).moves
        calls = [ada.at(two.here).submit(*turn), bot.at(two.there).submit(*turn)]
        if number % 2:
            calls.reverse()
        outcomes = await gathered(*calls)
        own, bots = outcomes[:: -1 if number % 2 else 1]
        after = await two.there.table(ada.table_id)
        assert after.revision == before.revision + 1
        assert deal_of(after).turn.number == deal_of(before).turn.number + 1
        if isinstance(own, grpc.aio.AioRpcError):
            assert read_refusal(own).short == ("FAILED_PRECONDITION", "NOT_YOUR_TURN")
            assert isinstance(bots, pb.SubmitMovesResponse)
            assert after.is_absent(ada.seat)
        else:
            assert read_refusal(bots).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
            assert not after.is_absent(ada.seat)


async def test_what_a_substitute_may_not_do(alone: Two) -> None:
    """A substitute plays and leaves: everything that only a player decides is refused, and nothing changes."""
    ada, players = await absent(alone)
    bot = await join(alone.here, ada.table_id, **BOT)
    tables = alone.here.tables
    calls: list[tuple[Any, Any]] = [
        (tables.Resign, pb.ResignRequest()),
        (tables.OfferDraw, pb.OfferDrawRequest()),
        (tables.AbortTable, pb.AbortTableRequest()),
        (tables.Rematch, pb.RematchRequest()),
        (tables.ConfirmScore, pb.ConfirmScoreRequest(deal_number=1)),
    ]
    with unchanged(alone.here):
        for call, refused_request in calls:
            refused_request.table_id, refused_request.request_id = ada.table_id, new_id()
            await lost_seat(call(refused_request, metadata=bot.metadata, timeout=PATIENCE))
    request = pb.RenewTokenRequest(table_id=ada.table_id)
    renewed = await tables.RenewToken(request, metadata=bot.metadata, timeout=PATIENCE)
    fresh = bot._replace(token=renewed.token)
    assert (await fresh.view()).hand
    request_id = new_id()
    left = await fresh.leave(request_id)
    for again in (left, await fresh.leave(request_id)):
        seat = again.table.seats[ada.seat]
        assert (seat.player_name != "", seat.absent, seat.substitute_level) == (True, True, "")
    (event,) = (await watch(alone.here, ada.table_id, left.table.revision - 1).expect("events")).events
    assert event.substitute_left.seat == ada.seat
    await lost_seat(bot.look())
    assert await waiting(alone.there) == [ada.table_id]
    next_bot = await join(alone.here, ada.table_id, **BOT, seat=ada.seat)
    await play_turn(alone.here, players)
    await next_bot.submit(DrawStock())


async def test_who_may_play_for_an_absent_player(alone: Two) -> None:
    """Only a bot of the level asked for, one at a time, and for no player who is there."""
    ada, players = await absent(alone)
    other = players[1 - ada.seat]
    for fields in ({"bot_level": "random"}, {"seat": other.seat}):
        refusal = await refused(join_raw(alone.here, ada.table_id, **BOT | fields))
        assert refusal.short == ("FAILED_PRECONDITION", "NO_BOT_WANTED")
    assert (await refused(join_raw(alone.here, ada.table_id, seat=ada.seat))).reason == "TABLE_FULL"
    outcomes = await gathered(*[join_raw(alone.here, ada.table_id, **BOT, seat=ada.seat) for _ in range(5)])
    lost = [read_refusal(outcome).reason for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
    assert lost == ["SEAT_TAKEN"] * 4
    plain = await start(alone.here, options=options(turn_time=TURN, absent_after_turns=1))
    await miss_turn(alone)
    assert (await refused(join_raw(alone.here, plain[0].table_id, **BOT))).reason == "NO_BOT_WANTED"


async def test_late_substitute_is_replaced(alone: Two) -> None:
    """A bot for which the clock had to finish the turn plays no more, and another may."""
    ada, players = await absent(alone)
    bot = await join(alone.here, ada.table_id, **BOT)
    await play_turn(alone.here, players)
    revision = (await get(alone.here, ada.table_id)).revision
    assert await waiting(alone.here) == []
    await miss_turn(alone)
    update = await watch(alone.here, ada.table_id, revision).next()
    assert kinds(update)[:2] == ["substitute_left", "turn_timed_out"]
    await lost_seat(bot.submit(DrawStock()))
    assert await waiting(alone.here) == [ada.table_id]


async def test_bots_do_not_play_for_nobody(alone: Two) -> None:
    """When the last player is absent, too, no bot plays on, and the table stands still until a player comes back."""
    ada, players = await absent(alone)
    other = players[1 - ada.seat]
    bot = await join(alone.here, ada.table_id, **BOT)
    await miss_turn(alone)
    table = await get(alone.here, ada.table_id)
    assert [(seat.absent, seat.substitute_level) for seat in table.seats] == [(True, "")] * 2
    assert not table.HasField("turn_expires_at")
    await lost_seat(bot.submit(DrawStock()))
    assert await waiting(alone.here) == []
    assert (await refused(join_raw(alone.here, ada.table_id, **BOT))).reason == "NO_BOT_WANTED"
    alone.wait(5000.0)
    assert await alone.look() == 0
    await (await other.play()).expect("state")
    assert await waiting(alone.here) == [ada.table_id]
    again = await join(alone.here, ada.table_id, **BOT)
    await play_turn(alone.here, [again if seat == again.seat else other for seat in range(2)])


async def test_clock_goes_on_beside_a_substitute(alone: Two) -> None:
    """A substitute's moves are timed as its player's were, and do not make the player present."""
    ada, players = await absent(alone)
    bot = await join(alone.here, ada.table_id, **BOT)
    await play_turn(alone.here, players)
    alone.wait(20.0)
    await play_turn(alone.here, [bot if seat == bot.seat else players[seat] for seat in range(2)])
    table = await get(alone.here, ada.table_id)
    assert (table.seats[ada.seat].absent, table.seats[ada.seat].substitute_level) == (True, LEVEL)
    assert table.turn_expires_at.ToMicroseconds() / 1e6 == pytest.approx(alone.clocks[0].now + TURN)


async def test_substitute_to_the_end(two: Two) -> None:
    """A substitute plays a match to its end, score by score without confirming one, and its stream ends well."""
    fields = rules(4) | {"target_score": 2000}
    players = await start(two.here, options=with_substitutes(confirmation_time=CONFIRMATION), **fields)
    ada = await mover(two.here, players)
    other = players[1 - ada.seat]
    await miss_turn(two)
    bot = await join(two.there, ada.table_id, **BOT)
    playing = [bot if seat == bot.seat else other for seat in range(2)]
    stream = bot.watch()
    for _ in range(2):
        table = await two.here.table(ada.table_id)
        while not deal_of(table).ending:
            await play_turn(two.here, playing)
            table = await two.here.table(ada.table_id)
        deal_number = deal_of(table).match.deal_number
        await other.confirm(deal_number)
        assert deal_of(await two.there.table(ada.table_id)).match.deal_number == deal_number + 1
    assert len((await records(two.there, ada.table_id)).deals) == 2
    request = pb.ResignRequest(table_id=ada.table_id, request_id=new_id())
    await two.here.tables.Resign(request, metadata=other.metadata, timeout=PATIENCE)
    updates = await stream.rest()
    assert kinds(updates[-1])[-1] == "match_ended"
    assert await waiting(two.there) == []
    assert (await bot.view()).seat == ada.seat


async def test_player_leaves_to_a_substitute(alone: Two) -> None:
    """A player who leaves for good ends the substitution: the seat is free for everybody."""
    ada, _ = await absent(alone, seats=4)
    bot = await join(alone.here, ada.table_id, **BOT)
    left = await ada.leave()
    assert left.table.seats[ada.seat] == table_pb2.TableSeat(seat=ada.seat)
    await lost_seat(bot.look())
    assert (await join(alone.here, ada.table_id, player_name="Eve")).seat == ada.seat


async def test_labels_are_those_of_the_table(two: Two) -> None:
    """What the store lists a table by is at any time what the table as it is stored says."""
    ada, players = await absent(two, seats=4)

    async def check() -> None:
        table = await two.here.table(ada.table_id)
        listed = [stored.table_id for stored in await two.there.store.list_labelled(f"bot:{LEVEL}", 10, None)]
        assert (f"bot:{LEVEL}" in labels_of(table)) == (listed == [ada.table_id])

    await check()
    bot = await join(two.here, ada.table_id, **BOT)
    await check()
    await play_turn(two.here, players)
    await check()
    await miss_turn(two)
    await check()
    await bot.leave()
    await check()
    await asyncio.gather(ada.watch().expect("state"))
    await check()
    for player in players:
        await player.leave()
        await check()
