"""TableService over gRPC: requests are validated and passed to the use cases."""

import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final, NamedTuple

import grpc.aio
from google.protobuf.timestamp_pb2 import Timestamp

from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc
from buraco_codec.cards import cards_from_pb
from buraco_codec.moves import move_bytes, moves_from_pb
from buraco_codec.wire import Fields
from buraco_rules import SEED_BYTES, Move, RuleSet
from buraco_service import errors
from buraco_service.access.admission import current_caller
from buraco_service.access.operators import Operators
from buraco_service.access.player_tokens import Player, PlayerTokenMissing, PlayerTokens
from buraco_service.access.seat_tokens import SeatClaims, parse_bearer
from buraco_service.accounts.entries import HOUSE
from buraco_service.requests import (
    RequestProblems,
    is_table_id,
    read_page_size,
    read_request_id,
    read_rule_set,
    read_table_id,
)
from buraco_service.serving.arrangements import MAX_ARRANGED, MIN_ARRANGED, fill_arrangements
from buraco_service.serving.chat_messages import read_message
from buraco_service.serving.metadata import call_metadata
from buraco_service.serving.play_stream import PlayStream
from buraco_service.serving.player_names import normalise_player_name
from buraco_service.serving.table_options import read_options
from buraco_service.tables import deadlines
from buraco_service.tables.arranging import meld_to_extend
from buraco_service.tables.changes import verify_seat
from buraco_service.tables.chat import Chat
from buraco_service.tables.creators import Owner, creator_of, owner_of
from buraco_service.tables.ending import Endings
from buraco_service.tables.feeds import Feeds
from buraco_service.tables.finding import Wanted, find_tables
from buraco_service.tables.invitations import normalise_code
from buraco_service.tables.quick_join import QuickJoins, QuickPlayer
from buraco_service.tables.rematch import Rematches
from buraco_service.tables.spectating import Spectators, check_reader, has_limits
from buraco_service.tables.state import ChatMode, Seat, TableAccess, TableOptions, TableState, TableValue
from buraco_service.tables.stored import table_to_pb
from buraco_service.tables.tables import Tables

Context = grpc.aio.ServicerContext[Any, Any]

_GET_VIEW: Final = Fields(pb.TableServiceGetViewResponse)
_LEGAL_MOVES: Final = Fields(pb.TableServiceListLegalMovesResponse)

MAX_ENTROPY_BYTES: Final = 64
MAX_TARGET: Final = 1_000_000
MAX_STAKE: Final = 10**12
MAX_SEATS: Final = 4
MAX_ID: Final = 64
"""Characters in the id of a rule set."""
MAX_CODE_LENGTH: Final = 64
MAX_PAGE: Final = 200
DEFAULT_PAGE: Final = 50
MAX_RECORDS: Final = 50
DEFAULT_RECORDS: Final = 10


class TableServicer(table_service_pb2_grpc.TableServiceServicer):
    """Every RPC of TableService. Errors leave as ApiError; `calls` turns them into statuses."""

    def __init__(
        self,
        tables: Tables,
        feeds: Feeds,
        players: PlayerTokens,
        operators: Operators,
        *,
        chat: ChatMode = ChatMode.ALL,
    ) -> None:
        self._tables = tables
        self._repository = tables.repository
        self._feeds = feeds
        self._players = players
        self._operators = operators
        self._endings = Endings(tables)
        self._rematches = Rematches(tables)
        self._quick_joins = QuickJoins(tables)
        self._chat = Chat(tables, chat)
        self._spectators = Spectators(tables)

    async def CreateTable(self, request: pb.CreateTableRequest, context: Context) -> pb.CreateTableResponse:
        """See the contract."""
        problems = RequestProblems()
        opening = _read_opening(request, problems)
        given = request.HasField("seed")
        problems.check("seed", not given or len(request.seed) == SEED_BYTES, f"{SEED_BYTES} bytes")
        request_id = read_request_id(request.request_id, problems)
        if opening is None or problems:
            raise problems.error()
        return await self._tables.create(
            opening.rules,
            request.seats,
            target_score=opening.target_score,
            stake=request.stake,
            master_seed=request.seed if given else secrets.token_bytes(SEED_BYTES),
            seeded_by_creator=given,
            request_id=request_id,
            owner=self._owner(self._player(context)),
            options=opening.options,
        )

    async def QuickJoin(self, request: pb.QuickJoinRequest, context: Context) -> pb.QuickJoinResponse:
        """See the contract."""
        problems = RequestProblems()
        opening = _read_opening(request, problems)
        player = self._player(context)
        name = _read_own_name(request.player_name, player, problems)
        _check_entropy(request.entropy, problems)
        request_id = read_request_id(request.request_id, problems)
        if opening is not None and opening.options.access is not TableAccess.PUBLIC:
            problems.add(("options", "access"), "only tables that everybody may join")
        if opening is None or problems:
            raise problems.error()
        now = self._tables.clock()
        wanted = TableValue(
            id="",
            rules=opening.rules,
            seats=(Seat(),) * request.seats,
            target_score=opening.target_score,
            stake=request.stake,
            created_at=now,
            updated_at=now,
            master_seed=secrets.token_bytes(SEED_BYTES),
            seeded_by_creator=False,
            request_ids_bound_since=1,
            options=opening.options,
        )
        seeker = QuickPlayer(name, request.entropy, "" if player is None else player.id)
        return await self._quick_joins.quick_join(wanted, seeker, request_id, self._owner(player), current_caller())

    async def RemovePlayer(self, request: pb.RemovePlayerRequest, context: Context) -> pb.RemovePlayerResponse:
        """See the contract."""
        table_id, request_id = _read_ids(request, RequestProblems())
        player = self._player(context)
        creator = creator_of("" if player is None else player.id, current_caller())
        answer = await self._tables.remove_player(table_id, request.seat, creator, request_id)
        return pb.RemovePlayerResponse.FromString(answer)

    async def GetTable(self, request: pb.GetTableRequest, context: Context) -> pb.GetTableResponse:
        """See the contract."""
        table = await self._repository.get(read_table_id(request.table_id))
        return pb.GetTableResponse(table=table_to_pb(table))

    async def ListTables(self, request: pb.ListTablesRequest, context: Context) -> pb.ListTablesResponse:
        """See the contract."""
        problems = RequestProblems()
        size = read_page_size(request.page_size, DEFAULT_PAGE, MAX_PAGE, problems)
        after = request.page_token
        problems.check("page_token", not after or is_table_id(after), "the token of the page before")
        problems.check("state", int(request.state) in (0, *TableState), "no state of a table")
        problems.check("access", int(request.access) in (0, *TableAccess), "no access of a table")
        problems.check("rule_set_id", len(request.rule_set_id) <= MAX_ID, f"at most {MAX_ID} characters")
        problems.check("free_seats", request.free_seats <= MAX_SEATS, f"at most {MAX_SEATS}")
        problems.raise_if_any()
        player = self._player(context) if request.mine else None
        if request.mine and player is None:
            raise PlayerTokenMissing
        wanted = Wanted(
            state=TableState(int(request.state)) if request.state else None,
            rule_set_id=request.rule_set_id,
            free_seats=request.free_seats,
            access=TableAccess(int(request.access)) if request.access else None,
            min_stake=request.min_stake,
            max_stake=request.max_stake if request.HasField("max_stake") else None,
            updated_after=_seconds(request.updated_after) if request.HasField("updated_after") else None,
            player_id="" if player is None else player.id,
        )
        found, after = await find_tables(self._repository.store.list_tables, wanted, size, after)
        return pb.ListTablesResponse(tables=map(table_to_pb, found), next_page_token=after)

    async def JoinTable(self, request: pb.JoinTableRequest, context: Context) -> pb.JoinTableResponse:
        """See the contract."""
        problems = RequestProblems()
        player = self._player(context)
        name = _read_own_name(request.player_name, player, problems)
        code = normalise_code(request.invitation_code)
        problems.check("invitation_code", len(code) <= MAX_CODE_LENGTH, f"at most {MAX_CODE_LENGTH} characters")
        _check_entropy(request.entropy, problems)
        table_id, request_id = _read_ids(request, problems)
        seat = request.seat if request.HasField("seat") else None
        player_id, caller = "" if player is None else player.id, current_caller()
        stakes_for_house = request.bot_level and self._operators.includes(caller)
        return await self._tables.join(
            *(table_id, seat, name, request.entropy, request_id, caller, player_id, code),
            account_id=HOUSE if stakes_for_house else None,
        )

    async def SignInAsGuest(self, request: pb.SignInAsGuestRequest, context: Context) -> pb.SignInAsGuestResponse:
        """See the contract."""
        problems = RequestProblems()
        name = _read_name("name", request.name, problems)
        problems.raise_if_any()
        guest = self._players.issue_to_guest(name, self._tables.clock())
        expires_at = Timestamp(seconds=guest.expires_at)
        return pb.SignInAsGuestResponse(player_token=guest.token, player_id=guest.player_id, expires_at=expires_at)

    async def RenewToken(self, request: pb.RenewTokenRequest, context: Context) -> pb.RenewTokenResponse:
        """See the contract."""
        return await self._tables.renew(read_table_id(request.table_id), self._seat_claims(context))

    async def LeaveTable(self, request: pb.LeaveTableRequest, context: Context) -> pb.LeaveTableResponse:
        """See the contract."""
        table_id, request_id = _read_ids(request, RequestProblems())
        return await self._tables.leave(table_id, self._seat_claims(context), request_id)

    # Answers that are stored or put together as bytes, and messages of the streams, are returned as bytes.
    async def GetView(  # type: ignore[override]
        self, request: pb.TableServiceGetViewRequest, context: Context
    ) -> bytes:
        """See the contract."""
        table_id = read_table_id(request.table_id)
        claims = self._claims(context)
        table = await self._spectators.see(await self._repository.get(table_id), claims)
        view = self._repository.view(table, None if claims is None else claims.seat)
        return _GET_VIEW.revision(table.revision) + (b"" if view is None else _GET_VIEW.view(view))

    async def ListLegalMoves(  # type: ignore[override]
        self, request: pb.TableServiceListLegalMovesRequest, context: Context
    ) -> bytes:
        """See the contract."""
        table_id = read_table_id(request.table_id)
        claims = self._seat_claims(context)
        table = await self._repository.get(table_id)
        moves = table.legal_moves(verify_seat(table, claims))
        listed = [_LEGAL_MOVES.moves(move_bytes(move)) for move in moves]
        return b"".join([_LEGAL_MOVES.revision(table.revision), *listed])

    async def ArrangeMeld(
        self, request: pb.TableServiceArrangeMeldRequest, context: Context
    ) -> pb.TableServiceArrangeMeldResponse:
        """See the contract."""
        problems = RequestProblems()
        meld = request.meld if request.HasField("meld") else None
        least, count = MIN_ARRANGED if meld is None else 1, len(request.cards)
        problems.check("cards", least <= count <= MAX_ARRANGED, f"{least} to {MAX_ARRANGED} cards, not {count}")
        cards = cards_from_pb(request.cards, "cards", problems) if not problems else ()
        table_id = read_table_id(request.table_id, problems)
        problems.raise_if_any()
        claims = self._seat_claims(context)
        table = await self._repository.get(table_id)
        base = meld_to_extend(table, verify_seat(table, claims), meld, cards)
        response = pb.TableServiceArrangeMeldResponse(revision=table.revision)
        fill_arrangements(response, table.rules, base, cards)
        return response

    async def SubmitMoves(self, request: pb.SubmitMovesRequest, context: Context) -> bytes:  # type: ignore[override]
        """See the contract."""
        problems = RequestProblems()
        request_id = read_request_id(request.request_id, problems)
        table_id = read_table_id(request.table_id, problems)
        moves: tuple[Move, ...] = problems.collect(lambda: moves_from_pb(request.moves), ())
        problems.raise_if_any()
        revision = request.revision if request.HasField("revision") else None
        accepted = await self._tables.submit(
            table_id, self._seat_claims(context), moves, revision, request_id, with_view=True
        )
        return accepted.answer

    async def UndoMove(self, request: pb.UndoMoveRequest, context: Context) -> bytes:  # type: ignore[override]
        """See the contract."""
        table_id, request_id = _read_ids(request, RequestProblems())
        revision = request.revision if request.HasField("revision") else None
        accepted = await self._tables.undo_move(
            table_id, self._seat_claims(context), revision, request_id, with_view=True
        )
        return accepted.answer

    async def ConfirmScore(self, request: pb.ConfirmScoreRequest, context: Context) -> pb.ConfirmScoreResponse:
        """See the contract."""
        problems = RequestProblems()
        request_id = read_request_id(request.request_id, problems)
        table_id = read_table_id(request.table_id, problems)
        problems.check("deal_number", request.deal_number > 0, "the number of the deal whose score is shown")
        problems.raise_if_any()
        claims = self._seat_claims(context)
        return await deadlines.confirm(self._tables, table_id, claims, request.deal_number, request_id)

    async def WatchTable(  # type: ignore[override]
        self, request: pb.WatchTableRequest, context: Context
    ) -> AsyncIterator[bytes]:
        """See the contract."""
        after = request.after_revision if request.HasField("after_revision") else None
        table_id = read_table_id(request.table_id)
        claims = self._seat_claims(context) if request.legal_moves else self._claims(context)
        async with (
            self._feeds.open(
                table_id,
                claims,
                views=request.views,
                legal_moves=request.legal_moves,
                chat=request.chat,
                after_message=request.after_message,
            ) as feed,
            aclosing(self._feeds.follow(feed, after)) as updates,
        ):
            async for update in updates:
                yield update

    # grpc.aio also takes a coroutine that writes by itself, where the stub has an iterator.
    async def PlayTable(  # type: ignore[override]
        self, request_iterator: AsyncIterator[pb.PlayTableRequest], context: Context
    ) -> None:
        """See the contract."""
        claims = self._seat_claims(context)
        first = await anext(request_iterator, None)
        if first is None:
            return
        problems = RequestProblems()
        problems.check("open", first.HasField("open"), "must be the first message")
        problems.raise_if_any()
        opening = first.open
        table_id = read_table_id(opening.table_id)
        after = opening.after_revision if opening.HasField("after_revision") else None
        async with self._feeds.open(
            table_id,
            claims,
            views=opening.views,
            legal_moves=opening.legal_moves,
            chat=opening.chat,
            after_message=opening.after_message,
        ) as feed:
            stream = PlayStream(self._tables, self._feeds, feed, table_id, claims, request_iterator, context.write)
            await stream.run(after)

    async def GetRecord(self, request: pb.GetRecordRequest, context: Context) -> pb.GetRecordResponse:
        """See the contract."""
        problems = RequestProblems()
        size = read_page_size(request.page_size, DEFAULT_RECORDS, MAX_RECORDS, problems)
        table_id = read_table_id(request.table_id, problems)
        problems.raise_if_any()
        table = await self._repository.get(table_id)
        # Where everybody may see the record, a token is not looked at: it may have ended.
        claims = self._claims(context) if has_limits(table) else None
        deals = await self._spectators.read_records(table, claims, request.after_deal, size + 1)
        cut_off = deals.pop() if deals and not deals[-1].ending else None
        return pb.GetRecordResponse(deals=deals[:size], more=len(deals) > size, cut_off=cut_off)

    async def Resign(self, request: pb.ResignRequest, context: Context) -> bytes:  # type: ignore[override]
        """See the contract."""
        table_id, request_id = _read_ids(request, RequestProblems())
        claims = self._seat_claims(context)
        return await self._endings.resign(table_id, claims, request_id, withdraw=request.withdraw)

    async def OfferDraw(self, request: pb.OfferDrawRequest, context: Context) -> bytes:  # type: ignore[override]
        """See the contract."""
        table_id, request_id = _read_ids(request, RequestProblems())
        claims = self._seat_claims(context)
        return await self._endings.offer_draw(table_id, claims, request_id, withdraw=request.withdraw)

    async def AbortTable(self, request: pb.AbortTableRequest, context: Context) -> bytes:  # type: ignore[override]
        """See the contract."""
        table_id, request_id = _read_ids(request, RequestProblems())
        return await self._endings.abort(table_id, self._seat_claims(context), request_id)

    async def Rematch(self, request: pb.RematchRequest, context: Context) -> pb.RematchResponse:
        """See the contract."""
        problems = RequestProblems()
        _check_entropy(request.entropy, problems)
        table_id, request_id = _read_ids(request, problems)
        claims = self._seat_claims(context)
        owner = Owner(current_caller())
        return await self._rematches.rematch(table_id, claims, request.entropy, request_id, owner)

    async def SendChat(self, request: pb.SendChatRequest, context: Context) -> pb.SendChatResponse:
        """See the contract."""
        problems = RequestProblems()
        message = read_message(request, problems)
        table_id, request_id = _read_ids(request, problems)
        return await self._chat.send(table_id, self._seat_claims(context), message, request_id)

    async def ListChat(self, request: pb.ListChatRequest, context: Context) -> pb.ListChatResponse:
        """See the contract."""
        problems = RequestProblems()
        size = read_page_size(request.page_size, DEFAULT_PAGE, MAX_PAGE, problems)
        table_id = read_table_id(request.table_id, problems)
        problems.raise_if_any()
        claims = self._claims(context)
        table = await self._repository.get(table_id)
        check_reader(table, claims)
        return await self._chat.list_messages(table, claims, request.after_message, size)

    def _claims(self, context: Context) -> SeatClaims | None:
        """Return the claims of the caller's token; None without a token."""
        token = parse_bearer(call_metadata(context))
        return None if token is None else self._tables.tokens.verify(token, self._tables.clock())

    def _seat_claims(self, context: Context) -> SeatClaims:
        """Return the claims of the caller's token. Raise TOKEN_MISSING without one."""
        claims = self._claims(context)
        if claims is None:
            raise errors.token_missing()
        return claims

    def _owner(self, player: Player | None) -> Owner:
        """Return for whom a call opens a table."""
        player_id = "" if player is None else player.id
        return owner_of(player_id, current_caller(), players_may=self._tables.max_player_tables > 0)

    def _player(self, context: Context) -> Player | None:
        """Return the player of the caller's player token; None without a token."""
        return self._players.read_bearer(call_metadata(context), self._tables.clock())


class _Opening(NamedTuple):
    """How a table is to be opened."""

    rules: RuleSet
    target_score: int
    options: TableOptions


def _read_opening(request: Any, problems: RequestProblems) -> _Opening | None:
    """Return what a CreateTable or QuickJoin asks for; add a problem for what cannot be, None without rules."""
    rules = read_rule_set(request, problems)
    problems.check("seats", request.seats in (2, 4), f"2 or 4, not {request.seats}")
    problems.check("target_score", request.target_score <= MAX_TARGET, f"at most {MAX_TARGET}")
    problems.check("stake", request.stake <= MAX_STAKE, f"at most {MAX_STAKE}")
    options = read_options(request.options, problems)
    if rules is None:
        return None
    usual = rules.usual_targets[0] if rules.usual_targets else 0
    return _Opening(rules, request.target_score if request.HasField("target_score") else usual, options)


def _read_own_name(sent: str, player: Player | None, problems: RequestProblems) -> str:
    """Return the name that a player sent, or else that of the player token: without one that can be shown the player
    may still come back to a seat.
    """
    if sent or player is None:
        return _read_name("player_name", sent, problems)
    return _read_name("player_name", player.name, RequestProblems())


def _seconds(time: Timestamp) -> float:
    return time.seconds + time.nanos / 1e9


def _read_name(field: str, sent: str, problems: RequestProblems) -> str:
    """Return a player's name in its normal form; add a problem and return "" if it cannot be shown."""
    try:
        return normalise_player_name(sent)
    except ValueError as error:
        problems.add(field, str(error))
        return ""


def _check_entropy(entropy: bytes, problems: RequestProblems) -> None:
    problems.check("entropy", len(entropy) <= MAX_ENTROPY_BYTES, f"at most {MAX_ENTROPY_BYTES} bytes")


def _read_ids(request: Any, problems: RequestProblems) -> tuple[str, str]:
    """Return the table id and the request id of a mutating call. Raise INVALID_ARGUMENT if there is any problem."""
    request_id = read_request_id(request.request_id, problems)
    table_id = read_table_id(request.table_id, problems)
    problems.raise_if_any()
    return table_id, request_id
