from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import grpc.aio
import jwt
import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc as pb_grpc
from buraco_rules import DrawStock
from buraco_service.access.api_keys import ApiKeys
from buraco_service.access.operators import Operators
from buraco_service.access.player_tokens import PlayerTokens
from buraco_service.access.seat_tokens import SeatTokens, SigningKey
from buraco_service.configuration.settings import Settings
from buraco_service.observing.metrics import Metrics
from buraco_service.serving.server import BuracoServer
from buraco_service.serving.table_servicer import TableServicer
from buraco_service.stores.urls import open_store
from buraco_service.tables.deadlines import Deadlines
from buraco_service.tables.feeds import Feeds
from buraco_service.tables.tables import Tables
from tests.service.refusals import refused
from tests.service.scripts import dealt, plain_turn
from tests.service.table_server import (
    KEY,
    QUIET,
    Metadata,
    Play,
    Player,
    Replica,
    create,
    get,
    join,
    join_raw,
    new_id,
    old_token,
    public_view,
    serving,
    start,
    unchanged,
    watch,
)

OTHER_KEY = SigningKey("second", b"another key of these tests, 32 and more")


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


def players_calls(player: Player, metadata: Metadata) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Every call that a token matters to."""
    tables, table_id = player.replica.tables, player.table_id
    moves = [pb.SubmitMovesRequest().moves.add(draw_stock={})]
    submit = pb.SubmitMovesRequest(table_id=table_id, moves=moves, request_id=new_id())
    undo = pb.UndoMoveRequest(table_id=table_id, request_id=new_id())
    leave = pb.LeaveTableRequest(table_id=table_id, request_id=new_id())

    async def play() -> None:
        stream = Play(tables.PlayTable(metadata=metadata))
        await stream.send(open=pb.PlayOpen(table_id=table_id))
        await stream.next()

    return {
        "submit": lambda: tables.SubmitMoves(submit, metadata=metadata),
        "undo": lambda: tables.UndoMove(undo, metadata=metadata),
        "leave": lambda: tables.LeaveTable(leave, metadata=metadata),
        "legal": lambda: tables.ListLegalMoves(
            pb.TableServiceListLegalMovesRequest(table_id=table_id), metadata=metadata
        ),
        "arrange": lambda: tables.ArrangeMeld(
            pb.TableServiceArrangeMeldRequest(table_id=table_id, cards=(1, 2, 3)),  # type: ignore[arg-type]
            metadata=metadata,
        ),
        "play": play,
        "view": lambda: tables.GetView(pb.TableServiceGetViewRequest(table_id=table_id), metadata=metadata),
        "watch": lambda: watch(player.replica, table_id, None, metadata).next(),
    }


async def assert_refused(
    player: Player, metadata: Metadata, reason: str, *, but: Sequence[str] = (), code: str = "UNAUTHENTICATED"
) -> None:
    """Every call of the player with this metadata is refused for this reason, save those named, and changes nothing."""
    with unchanged(player.replica):
        for name, call in players_calls(player, metadata).items():
            if name not in but:
                refusal = await refused(call())
                assert (name, *refusal.short) == (name, code, reason)
                assert refusal.domain == "buraco"


def signed(claims: dict[str, Any], key: SigningKey = KEY, *, algorithm: str = "HS256", kid: str | None = None) -> str:
    """A token with these claims."""
    secret = key.secret if algorithm != "none" else ""
    return jwt.encode(claims, secret, algorithm, headers={"kid": kid or key.kid})


def claims_of(player: Player) -> dict[str, Any]:
    """What the player's token says."""
    claims: dict[str, Any] = jwt.decode(player.token, options={"verify_signature": False})
    return claims


async def test_token_of_a_seat(replica: Replica) -> None:
    """A token is a JWT for one generation of one seat of one table, signed with the first key, good for its life."""
    table = await create(replica)
    player = await join(replica, table.id, seat=1)
    header = jwt.get_unverified_header(player.token)
    assert (header["alg"], header["kid"]) == ("HS256", KEY.kid)
    claims = claims_of(player)
    assert (claims["iss"], claims["tbl"], claims["seat"]) == ("buraco", table.id, 1)
    assert claims["exp"] - claims["iat"] == replica.settings.token_ttl
    assert abs(claims["iat"] - time.time()) < 60
    assert player.token not in str(await get(replica, table.id))


async def test_missing_token(replica: Replica) -> None:
    """What only a player may do needs a token; looking and watching do not."""
    players = await start(replica)
    mover = players[dealt().seat_to_move]
    await assert_refused(mover, (), "TOKEN_MISSING", but=("view", "watch"))
    assert not (await public_view(replica, mover.table_id)).view.hand


@pytest.mark.parametrize(
    "value",
    [
        "nonsense",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Basic dXNlcjpwYXNz",
        "Bearer nonsense",
        "Bearer " + "x" * 4000,
        "Bearer a.b.c",
    ],
)
async def test_no_token_at_all(replica: Replica, value: str) -> None:
    """An authorization that holds no token is refused, by calls that could do without as well."""
    players = await start(replica)
    await assert_refused(players[0], (("authorization", value),), "TOKEN_INVALID")


async def test_forged_tokens(replica: Replica) -> None:
    """No token is believed that was signed with another key, or not at all, or changed since."""
    players = await start(replica)
    mover = players[dealt().seat_to_move]
    claims = claims_of(mover)
    head, body, signature = mover.token.split(".")

    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    other = claims_of(players[1 - mover.seat])
    forged = {
        "another key of the same name": signed(claims, SigningKey(KEY.kid, OTHER_KEY.secret)),
        "another key": signed(claims, OTHER_KEY),
        "our key under another name": signed(claims, kid="third"),
        "no algorithm": signed(claims, algorithm="none"),
        "no algorithm, our signature": f"{part({'alg': 'none', 'kid': KEY.kid})}.{body}.{signature}",
        "another algorithm": signed(claims, algorithm="HS512"),
        "no kid": jwt.encode(claims, KEY.secret, "HS256"),
        "a kid that is no text": f"{part({'alg': 'HS256', 'kid': [KEY.kid]})}.{body}.{signature}",
        "another seat": f"{head}.{part({**claims, 'seat': 1 - mover.seat, 'jti': other['jti']})}.{signature}",
        "a longer life": f"{head}.{part({**claims, 'exp': claims['exp'] + 1})}.{signature}",
        "no signature": f"{head}.{body}.",
        "another issuer": signed({**claims, "iss": "somebody"}),
        "no table": signed({name: claims[name] for name in claims if name != "tbl"}),
        "no end": signed({name: claims[name] for name in claims if name != "exp"}),
        "a seat that is true": signed({**claims, "seat": True}),
        "a seat that is a text": signed({**claims, "seat": str(mover.seat)}),
    }
    for name, token in forged.items():
        assert token != mover.token, name
        await assert_refused(mover, (("authorization", f"Bearer {token}"),), "TOKEN_INVALID")
    assert (await mover.submit(DrawStock())).revision == 4


async def test_two_tokens(replica: Replica) -> None:
    """Who sends two tokens is not asked which one is meant."""
    players = await start(replica)
    await assert_refused(players[0], (*players[0].metadata, *players[1].metadata), "TOKEN_INVALID")


async def test_tokens_that_fit_no_seat(replica: Replica) -> None:
    """A genuine token is refused where it is another table's, another generation's, or of no seat that exists."""
    players, others = await start(replica), await start(replica)
    mover = players[dealt().seat_to_move]
    claims = claims_of(mover)
    for token in (
        others[mover.seat].token,
        signed({**claims, "jti": "0" * 32}),
        signed({**claims, "jti": ""}),
        signed({**claims, "seat": 1 - mover.seat}),
        signed({**claims, "seat": 2}),
        signed({**claims, "seat": -1}),
        signed({**claims, "tbl": others[0].table_id}),
    ):
        metadata = (("authorization", f"Bearer {token}"),)
        await assert_refused(mover, metadata, "SEAT_NOT_YOURS", code="PERMISSION_DENIED")


async def test_token_of_an_empty_seat(replica: Replica) -> None:
    """An empty token id does not fit an empty seat."""
    table = await create(replica)
    player = await join(replica, table.id, seat=1)
    ghost = player._replace(seat=0, token=signed({**claims_of(player), "seat": 0, "jti": ""}))
    await assert_refused(ghost, ghost.metadata, "SEAT_NOT_YOURS", code="PERMISSION_DENIED")


async def test_token_of_a_seat_given_back(replica: Replica) -> None:
    """With the seat its token is void, whether the seat is empty or another's by now."""
    players = await start(replica)
    await players[0].leave()
    await assert_refused(players[0], players[0].metadata, "SEAT_NOT_YOURS", code="PERMISSION_DENIED")
    substitute = await join(replica, players[0].table_id)
    assert substitute.token != players[0].token
    await assert_refused(players[0], players[0].metadata, "SEAT_NOT_YOURS", code="PERMISSION_DENIED")
    assert (await substitute.look()).view.seat == 0


async def test_expired_token(replica: Replica) -> None:
    """A token whose time is over is refused, one that has a minute left is not."""
    players = await start(replica)
    mover = players[dealt().seat_to_move]
    life = replica.settings.token_ttl
    stale = mover._replace(token=old_token(mover, age=life + 1))
    await assert_refused(mover, stale.metadata, "TOKEN_EXPIRED")
    fresh = mover._replace(token=old_token(mover, age=life - 60))
    assert (await fresh.submit(DrawStock())).revision == 4


async def test_rotated_keys(tmp_path: Path) -> None:
    """After a new key came first the tokens of the old one still hold; after the old one went they do not."""
    path = tmp_path / "tables.db"
    async with serving(path) as replica:
        table_id = (await create(replica)).id
        old = await join(replica, table_id)
    async with serving(path, signing_keys=(OTHER_KEY, KEY)) as replica:
        old = old.at(replica)
        new = await join(replica, table_id)
        assert jwt.get_unverified_header(new.token)["kid"] == OTHER_KEY.kid
        for player in (old, new):
            assert (await player.look()).view.seat == player.seat
    async with serving(path, signing_keys=(OTHER_KEY,)) as replica:
        old, new = old.at(replica), new.at(replica)
        await assert_refused(old, old.metadata, "TOKEN_INVALID")
        assert (await new.look()).view.seat == 1


async def test_token_that_expires_on_a_stream(tmp_path: Path) -> None:
    """A stream does not outlive its token: the next move, and the next card that would be shown, end it."""
    now = [1_000_000.0]
    store = await open_store(f"sqlite:///{tmp_path / 'tables.db'}")
    metrics = Metrics()
    tokens = SeatTokens((KEY,), ttl=3600)
    tables = Tables(store, tokens, metrics, clock=lambda: now[0])
    servicer = TableServicer(
        tables, Feeds(tables, heartbeat=QUIET), PlayerTokens(tables.tokens), Operators(ApiKeys(), development=True)
    )
    settings = Settings(port=0, metrics_port=-1, store=f"sqlite:///{tmp_path / 'tables.db'}")

    def register(server: grpc.aio.Server) -> None:
        pb_grpc.add_TableServiceServicer_to_server(servicer, server)

    server = BuracoServer(settings, metrics, store, {"buraco.v1.TableService": register})
    await server.start()
    assert server.address is not None
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub = pb_grpc.TableServiceStub(channel)
        replica = Replica(
            *(server, store, metrics, tokens, settings, channel, stub), Deadlines(tables, metrics, tolerance=0.0)
        )
        table_id = (await create(replica)).id
        turn = plain_turn(dealt())
        # The seat that does not begin is taken a minute before the other one: its token is the first to expire.
        early = await join(replica, table_id, seat=1 - turn.seat)
        now[0] += 60
        late = await join(replica, table_id, seat=turn.seat)
        idle, busy = await early.play(), await late.play()
        private, public = early.watch(), watch(replica, table_id)
        for updates in (idle, busy, private, public):
            await updates.expect("state")
        now[0] += 3600 - 60
        assert (await busy.accepted(await busy.submit(turn.moves[0]))).revision == 4
        assert (await public.expect("events")).revision == 4
        for updates in (idle, private):
            assert (await refused(updates.next())).short == ("UNAUTHENTICATED", "TOKEN_EXPIRED")
        now[0] += 60
        await busy.submit(turn.moves[1])
        assert (await refused(busy.next())).short == ("UNAUTHENTICATED", "TOKEN_EXPIRED")
        assert (await get(replica, table_id)).revision == 4
    await server.stop()


def expiry(token: str) -> int:
    """When a token ends."""
    ends: int = jwt.decode(token, options={"verify_signature": False})["exp"]
    return ends


async def renewed(player: Player) -> pb.RenewTokenResponse:
    """RenewToken."""
    request = pb.RenewTokenRequest(table_id=player.table_id)
    return await player.replica.tables.RenewToken(request, metadata=player.metadata)


async def test_renewed_token(replica: Replica) -> None:
    """A good token gets one with a whole life before it, for the same seat; both hold, and nothing changes."""
    players = await start(replica)
    mover = players[dealt().seat_to_move]
    late = mover._replace(token=old_token(mover, age=replica.settings.token_ttl - 60))
    with unchanged(replica):
        answer = await renewed(late)
    assert answer.token_expires_at.seconds == expiry(answer.token)
    assert expiry(answer.token) - time.time() > replica.settings.token_ttl - 60
    fresh = mover._replace(token=answer.token)
    assert claims_of(fresh)["jti"] == claims_of(mover)["jti"]
    assert (await fresh.submit(DrawStock())).revision == 4
    assert (await late.look()).view.seat == mover.seat
    assert (await renewed(fresh)).token


async def test_end_of_a_joined_token(replica: Replica) -> None:
    """Who joins learns when the token expires."""
    table = await create(replica)
    joined = await join_raw(replica, table.id)
    assert joined.token_expires_at.seconds == expiry(joined.token)


async def test_token_that_cannot_be_renewed(replica: Replica) -> None:
    """A token that is missing, over, another table's or of a seat given back is not renewed."""
    players, others = await start(replica), await start(replica)
    life = replica.settings.token_ttl
    request = pb.RenewTokenRequest(table_id=players[0].table_id)
    assert (await refused(replica.tables.RenewToken(request))).short == ("UNAUTHENTICATED", "TOKEN_MISSING")
    over = players[0]._replace(token=old_token(players[0], age=life + 1))
    assert (await refused(renewed(over))).short == ("UNAUTHENTICATED", "TOKEN_EXPIRED")
    foreign = players[0]._replace(token=others[0].token)
    assert (await refused(renewed(foreign))).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    fresh = players[0]._replace(token=(await renewed(players[0])).token)
    await fresh.leave()
    for former in (players[0], fresh):
        assert (await refused(renewed(former))).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    nowhere = players[0]._replace(table_id="nowhere")
    assert (await refused(renewed(nowhere))).short == ("INVALID_ARGUMENT", "REQUEST_INVALID")
