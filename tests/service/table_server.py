"""The service as `buraco serve` composes it, on loopback and a store; and players who call it."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import grpc
import grpc.aio
from google.protobuf.message import Message

from buraco.v1 import move_pb2, table_pb2, view_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc as pb_grpc
from buraco_codec.moves import move_to_pb
from buraco_codec.views import view_to_pb
from buraco_rules import PRESETS, Deal, Move, view_of
from buraco_service.access.seat_tokens import SeatTokens, SigningKey
from buraco_service.commands.serve import compose
from buraco_service.configuration.settings import Settings
from buraco_service.observing.metrics import Metrics
from buraco_service.serving.protection import Protection
from buraco_service.serving.server import BuracoServer
from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from buraco_service.tables.deadlines import Deadlines
from buraco_service.tables.state import TableValue
from buraco_service.tables.stored import parse_table

PATIENCE: Final = 60.0
"""Seconds after which a test gives up; nothing takes so long that goes right."""
QUIET: Final = 300.0
"""Heartbeats this far apart come in no test."""
SEED: Final = bytes(range(32))
KEY: Final = SigningKey("first", b"the first key of these tests is long enough for any algorithm...")
RULE_SET: Final = "buraco-plus-classic"
NAMES: Final = ("Ada", "Bo", "Cy", "Di")
# Channels to one address would share a connection otherwise.
_OWN_CONNECTION: Final = (("grpc.use_local_subchannel_pool", 1),)

Metadata = tuple[tuple[str, str], ...]


class Replica(NamedTuple):
    """A running server and a client's connection to it."""

    server: BuracoServer
    store: Store
    metrics: Metrics
    tokens: SeatTokens
    settings: Settings
    channel: grpc.aio.Channel
    tables: pb_grpc.TableServiceStub
    deadlines: Deadlines
    """What carries out due times; here only when a test calls it."""

    async def table(self, table_id: str) -> TableValue:
        """The truth: the table as it is stored."""
        stored = await self.store.load(table_id)
        return parse_table(stored.state, stored.revision)

    @contextlib.asynccontextmanager
    async def connected(self, credentials: grpc.ChannelCredentials | None = None) -> AsyncIterator[Replica]:
        """The same server through a connection of its own."""
        assert self.server.address is not None
        async with connection(self.server.address, credentials) as channel:
            yield self._replace(channel=channel, tables=pb_grpc.TableServiceStub(channel))


def connection(address: str, credentials: grpc.ChannelCredentials | None = None) -> grpc.aio.Channel:
    """A channel that shares its connection with no other; plain text without credentials."""
    if credentials is None:
        return grpc.aio.insecure_channel(address, options=_OWN_CONNECTION)
    return grpc.aio.secure_channel(address, credentials, options=_OWN_CONNECTION)


@contextlib.asynccontextmanager
async def serving(
    place: Path | str,
    *,
    credentials: grpc.ChannelCredentials | None = None,
    clock: Callable[[], float] = time.time,
    **changes: Any,
) -> AsyncIterator[Replica]:
    """A replica that keeps its tables in a file, or where a URL says.

    `changes` are settings (there are no accounts without them); `credentials` the client's, for TLS; `clock` gives the
    time of its tables.
    """
    plain = Settings(
        port=0,
        metrics_port=-1,
        heartbeat=QUIET,
        drain_grace=PATIENCE,
        signing_keys=(KEY,),
        store=f"sqlite:///{place}" if isinstance(place, Path) else place,
        reflection=False,
        credits=False,
    )
    settings = dataclasses.replace(plain, **changes)
    metrics = Metrics(rules.id for rules in PRESETS)
    protection = Protection(settings)
    tokens = protection.tokens
    store = await open_store(settings.store)
    application = compose(settings, metrics, store, protection, clock=clock)
    server = BuracoServer(settings, metrics, store, application.services, application.on_drain, protection)
    await server.start()
    assert server.address is not None
    try:
        async with connection(server.address, credentials) as channel:
            stub = pb_grpc.TableServiceStub(channel)
            yield Replica(server, store, metrics, tokens, settings, channel, stub, application.deadlines)
    finally:
        await server.stop()


def new_id() -> str:
    """A request id that nobody has used."""
    return str(uuid.uuid4())


def bearing(token: str) -> Metadata:
    """The metadata of a player's call."""
    return (("authorization", f"Bearer {token}"),)


def moves_to_pb(moves: Iterable[Move]) -> list[move_pb2.Move]:
    """Moves as they travel."""
    return [move_to_pb(move) for move in moves]


class Player(NamedTuple):
    """Who holds a seat, at the replica that the next calls go to."""

    replica: Replica
    table_id: str
    seat: int
    token: str

    @property
    def metadata(self) -> Metadata:
        """The proof of the seat."""
        return bearing(self.token)

    def at(self, replica: Replica) -> Player:
        """The same player, calling another replica."""
        return self._replace(replica=replica)

    async def submit(
        self, *moves: Move, revision: int | None = None, request_id: str | None = None
    ) -> pb.SubmitMovesResponse:
        """SubmitMoves."""
        request = pb.SubmitMovesRequest(
            table_id=self.table_id, moves=moves_to_pb(moves), revision=revision, request_id=request_id or new_id()
        )
        return await self.replica.tables.SubmitMoves(request, metadata=self.metadata, timeout=PATIENCE)

    async def undo(self, *, revision: int | None = None, request_id: str | None = None) -> pb.UndoMoveResponse:
        """UndoMove."""
        request = pb.UndoMoveRequest(table_id=self.table_id, revision=revision, request_id=request_id or new_id())
        return await self.replica.tables.UndoMove(request, metadata=self.metadata, timeout=PATIENCE)

    async def leave(self, request_id: str | None = None) -> pb.LeaveTableResponse:
        """LeaveTable."""
        request = pb.LeaveTableRequest(table_id=self.table_id, request_id=request_id or new_id())
        return await self.replica.tables.LeaveTable(request, metadata=self.metadata, timeout=PATIENCE)

    async def confirm(self, deal_number: int, request_id: str | None = None) -> pb.ConfirmScoreResponse:
        """ConfirmScore."""
        request = pb.ConfirmScoreRequest(
            table_id=self.table_id, deal_number=deal_number, request_id=request_id or new_id()
        )
        return await self.replica.tables.ConfirmScore(request, metadata=self.metadata, timeout=PATIENCE)

    async def look(self) -> pb.TableServiceGetViewResponse:
        """GetView from the seat."""
        request = pb.TableServiceGetViewRequest(table_id=self.table_id)
        return await self.replica.tables.GetView(request, metadata=self.metadata, timeout=PATIENCE)

    async def view(self) -> view_pb2.View:
        """The view of the seat."""
        return (await self.look()).view

    async def legal(self) -> pb.TableServiceListLegalMovesResponse:
        """ListLegalMoves."""
        request = pb.TableServiceListLegalMovesRequest(table_id=self.table_id)
        return await self.replica.tables.ListLegalMoves(request, metadata=self.metadata, timeout=PATIENCE)

    async def arrange(self, cards: Iterable[int], meld: int | None = None) -> pb.TableServiceArrangeMeldResponse:
        """ArrangeMeld."""
        request = pb.TableServiceArrangeMeldRequest(table_id=self.table_id, meld=meld, cards=cards)  # type: ignore[arg-type]
        return await self.replica.tables.ArrangeMeld(request, metadata=self.metadata, timeout=PATIENCE)

    def watch(self, after: int | None = None, **wanted: Any) -> Updates:
        """WatchTable from the seat; wanted are views, legal moves and chat."""
        return watch(self.replica, self.table_id, after, self.metadata, **wanted)

    async def play(self, after: int | None = None, **wanted: Any) -> Play:
        """PlayTable, opened; wanted are views, legal moves and chat."""
        stream = self.play_unopened()
        await stream.send(open=pb.PlayOpen(table_id=self.table_id, after_revision=after, **wanted))
        return stream

    def play_unopened(self) -> Play:
        """PlayTable before its first message."""
        return Play(self.replica.tables.PlayTable(metadata=self.metadata, timeout=PATIENCE))


async def create(replica: Replica, *, metadata: Metadata = (), **fields: Any) -> table_pb2.Table:
    """CreateTable, by default one deal of Classic for two with known cards."""
    if "rule_set" not in fields:
        fields.setdefault("rule_set_id", RULE_SET)
    plain: dict[str, Any] = {"seats": 2, "target_score": 0, "seed": SEED, "request_id": new_id()}
    request = pb.CreateTableRequest(**plain | fields)
    return (await replica.tables.CreateTable(request, metadata=metadata, timeout=PATIENCE)).table


async def get(replica: Replica, table_id: str) -> table_pb2.Table:
    """GetTable."""
    return (await replica.tables.GetTable(pb.GetTableRequest(table_id=table_id), timeout=PATIENCE)).table


async def join_raw(
    replica: Replica, table_id: str, player_token: str | None = None, **fields: Any
) -> pb.JoinTableResponse:
    """JoinTable, as nobody in particular or as the player of a player token."""
    request = pb.JoinTableRequest(**{"table_id": table_id, "player_name": "Ada", "request_id": new_id()} | fields)
    metadata = () if player_token is None else bearing(player_token)
    return await replica.tables.JoinTable(request, metadata=metadata, timeout=PATIENCE)


async def join(replica: Replica, table_id: str, **fields: Any) -> Player:
    """JoinTable, as the player who has joined."""
    joined = await join_raw(replica, table_id, **fields)
    return Player(replica, table_id, joined.seat, joined.token)


async def sign_in(replica: Replica, name: str = "Zoë") -> pb.SignInAsGuestResponse:
    """SignInAsGuest."""
    return await replica.tables.SignInAsGuest(pb.SignInAsGuestRequest(name=name), timeout=PATIENCE)


async def start(replica: Replica, *, entropies: Sequence[bytes] = (), **fields: Any) -> list[Player]:
    """A table whose seats are all taken, as its players by seat."""
    table = await create(replica, **fields)
    return [
        await join(replica, table.id, player_name=NAMES[seat], entropy=entropies[seat] if entropies else b"")
        for seat in range(len(table.seats))
    ]


async def public_view(replica: Replica, table_id: str) -> pb.TableServiceGetViewResponse:
    """GetView without a token."""
    request = pb.TableServiceGetViewRequest(table_id=table_id)
    return await replica.tables.GetView(request, timeout=PATIENCE)


async def records(replica: Replica, table_id: str, **fields: Any) -> pb.GetRecordResponse:
    """GetRecord."""
    return await replica.tables.GetRecord(pb.GetRecordRequest(table_id=table_id, **fields), timeout=PATIENCE)


def watch(replica: Replica, table_id: str, after: int | None = None, metadata: Metadata = (), **wanted: Any) -> Updates:
    """WatchTable, by default for everybody; wanted are views, legal moves and chat."""
    request = pb.WatchTableRequest(table_id=table_id, after_revision=after, **wanted)
    return Updates(replica.tables.WatchTable(request, metadata=metadata, timeout=PATIENCE))


def shown_view(deal: Deal, seat: int | None, *names: str) -> view_pb2.View:
    """The view of a deal at a table whose players have these names, by default those of `start`."""
    view = view_to_pb(view_of(deal, seat))
    for shown, name in zip(view.seats, names or NAMES, strict=False):
        shown.player_name = name
    return view


class Update(NamedTuple):
    """A message of a stream: the name of the field that is set, and the field."""

    kind: str
    message: Any


END: Final = Update("end", None)
"""In the place of an update: the stream has ended, and all is well."""


class Updates:
    """The messages that come down a stream."""

    def __init__(self, call: Any) -> None:
        self._call = call

    async def next(self) -> Update:
        """The next message, END after the last. Raises AioRpcError where the stream ends with an error."""
        message = await self._call.read()
        if message is grpc.aio.EOF:
            code = await self._call.code()
            assert code is grpc.StatusCode.OK, code
            return END
        kind = message.WhichOneof("update")
        return Update(kind, getattr(message, kind))

    async def expect(self, kind: str) -> Any:
        """The next message, which must be of this kind."""
        update = await self.next()
        assert update.kind == kind, update
        return update.message

    async def until(self, revision: int) -> list[Update]:
        """The messages up to the one of a revision."""
        found = [await self.next()]
        while revision_of(found[-1]) != revision:
            assert found[-1] is not END
            found.append(await self.next())
        return found

    async def rest(self) -> list[Update]:
        """The messages up to the end of the stream."""
        found = [await self.next()]
        while found[-1] is not END:
            found.append(await self.next())
        return found[:-1]

    def cancel(self) -> None:
        """Hang up."""
        self._call.cancel()


class Play(Updates):
    """A PlayTable stream."""

    async def send(self, **request: Message) -> None:
        """Send a request."""
        await self._call.write(pb.PlayTableRequest(**request))  # type: ignore[arg-type]

    async def close(self) -> None:
        """Say that no request follows."""
        await self._call.done_writing()

    async def submit(self, *moves: Move, revision: int | None = None, request_id: str | None = None) -> str:
        """Send moves; returns the id of the request."""
        chosen = request_id or new_id()
        await self.send(submit=pb.PlaySubmit(moves=moves_to_pb(moves), revision=revision, request_id=chosen))
        return chosen

    async def undo(self, *, revision: int | None = None, request_id: str | None = None) -> str:
        """Ask for an undo; returns the id of the request."""
        chosen = request_id or new_id()
        await self.send(undo=pb.PlayUndo(revision=revision, request_id=chosen))
        return chosen

    async def accepted(self, request_id: str) -> pb.PlayAccepted:
        """The next message, which must accept the request."""
        answer: pb.PlayAnswer = await self.expect("answer")
        assert answer.request_id == request_id
        assert answer.HasField("accepted"), answer
        return answer.accepted

    async def denied(self, request_id: str) -> pb.PlayError:
        """The next message, which must refuse the request."""
        answer: pb.PlayAnswer = await self.expect("answer")
        assert answer.request_id == request_id
        assert answer.HasField("error"), answer
        return answer.error


async def opened(players: Sequence[Player], **options: Any) -> list[Play]:
    """The streams of all players, whose first states have come."""
    streams = [await player.play(**options) for player in players]
    for stream in streams:
        await stream.expect("state")
    return streams


def revision_of(update: Update) -> int | None:
    """The revision that a message brings its reader to; None for one without news."""
    kind, message = update
    if kind == "state":
        return int(message.table.revision)
    if kind == "events":
        return int(message.revision)
    if kind == "answer" and message.HasField("accepted"):
        return int(message.accepted.revision)
    return None


def contents(replica: Replica) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that the store holds, as rows by table of the database."""
    path = replica.settings.store.removeprefix("sqlite:///")
    with contextlib.closing(sqlite3.connect(path)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {name: db.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}  # noqa: S608 - our names


@contextlib.contextmanager
def unchanged(replica: Replica) -> Any:
    """The store holds afterwards, byte for byte, what it held before."""
    before = contents(replica)
    yield
    assert contents(replica) == before
    assert any(before.values()), "or nothing was looked at"


def old_token(player: Player, *, age: float) -> str:
    """The player's own token, had it been issued so many seconds ago."""
    claims = player.replica.tokens.verify(player.token, time.time())
    return player.replica.tokens.issue(claims.table_id, claims.seat, claims.token_id, time.time() - age)
