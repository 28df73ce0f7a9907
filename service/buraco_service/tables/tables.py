"""The use cases of tables but watching one. Any replica may serve any call."""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final
from uuid import uuid4

from google.protobuf.timestamp_pb2 import Timestamp

from buraco.v1 import table_pb2, table_service_pb2
from buraco_codec.moves import move_bytes
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.wire import Fields
from buraco_rules import Move, RuleSet
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims, SeatTokens
from buraco_service.accounts.accounts import Accounts
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import AlreadyAnswered, Store, StoredAnswer
from buraco_service.tables import changes, earlier
from buraco_service.tables.changes import Change, is_substitute, verify_player_or_substitute, verify_seat
from buraco_service.tables.counting import MoveTimer, count_illegal
from buraco_service.tables.creators import NOBODY, Owner
from buraco_service.tables.entries import Entry
from buraco_service.tables.idempotency import Request, derive_table_id, serialise_optional
from buraco_service.tables.invitations import check_invited, make_code, remove_player
from buraco_service.tables.players import AlreadySeated
from buraco_service.tables.presence import Presence
from buraco_service.tables.recent import RecentTables
from buraco_service.tables.repository import Accepted, TableRepository
from buraco_service.tables.staking import Staking
from buraco_service.tables.state import NO_OPTIONS, Seat, TableAccess, TableOptions, TableState, TableValue
from buraco_service.tables.stored import table_to_pb
from buraco_service.tables.stored_timing import options_to_pb
from buraco_service.tables.substitutes import join_as_bot, leave_as_substitute
from buraco_service.tables.timing import come_back
from buraco_service.tables.views import table_view_bytes

_RETRY_AFTER: Final = 10.0
"""Seconds after which an owner of too many tables may try again: until then one of them may be over."""
_LONGEST_LIFETIME: Final = 315_360_000.0
_SUBMITTED: Final = Fields(table_service_pb2.SubmitMovesResponse)
_TABLE_ALONE: Final = Fields(table_service_pb2.LeaveTableResponse)


class Tables:
    """The use cases.

    `clock` gives seconds since the epoch; an API key has `max_owned` unfinished tables at a time, a player who needs no
    key `max_player_tables` that wait; a table untouched for `table_ttl` seconds may be removed. `credits`: whether
    accounts hold the stakes of new tables; they are opened with `initial_credits`.
    """

    def __init__(
        self,
        store: Store,
        tokens: SeatTokens,
        metrics: Metrics,
        *,
        clock: Callable[[], float] = time.time,
        max_owned: int = 1000,
        max_player_tables: int = 0,
        table_ttl: float = math.inf,
        credits: bool = False,
        initial_credits: int = 1000,
    ) -> None:
        self.tokens = tokens
        self.metrics = metrics
        self.clock = clock
        self._max_owned = max_owned
        self.max_player_tables = max_player_tables
        # Half of it, because clocks differ.
        self.repository = TableRepository(store, RecentTables(max_age=table_ttl / 2, clock=clock), metrics)
        self.accounts = Accounts(store.ledger, metrics, clock=clock, initial=initial_credits)
        lifetime = min(table_ttl, _LONGEST_LIFETIME)
        self.staking = Staking(self.repository, self.accounts, metrics, clock=clock, holds=credits, lifetime=lifetime)
        self.presence = Presence(store, metrics, clock=clock)

    async def create(
        self,
        rules: RuleSet,
        seats: int,
        *,
        target_score: int,
        stake: int,
        master_seed: bytes,
        seeded_by_creator: bool,
        request_id: str,
        owner: Owner = NOBODY,
        options: TableOptions = NO_OPTIONS,
    ) -> table_service_pb2.CreateTableResponse:
        """Create a table that waits for players, or return the one that this request created before.

        Raise LIMIT_REACHED for an owner of too many, or REQUEST_ID_REUSED.
        """
        now = self.clock()
        table = TableValue(
            id=derive_table_id(request_id),
            rules=rules,
            seats=(Seat(),) * seats,
            target_score=target_score,
            stake=stake,
            created_at=now,
            updated_at=now,
            master_seed=master_seed,
            seeded_by_creator=seeded_by_creator,
            request_ids_bound_since=1,
            options=options,
            invitation_code=make_code() if options.access is TableAccess.INVITATION else "",
            creator=owner.creator,
            stakes=self.staking.of_new_table(stake),
        )
        content = [b"%d %d %d" % (seats, target_score, stake), master_seed if seeded_by_creator else b""]
        chosen = options_to_pb(options)
        if chosen is not None:
            content.append(chosen.SerializeToString(deterministic=True))
        request = Request.of(
            "create", request_id, owner.name or "", rule_set_to_pb(rules).SerializeToString(), *content
        )
        answer = table_service_pb2.CreateTableResponse(table=table_to_pb(table), invitation_code=table.invitation_code)
        first: StoredAnswer | None
        try:
            await self.check_owned(owner)
            await self.repository.create(table, request, answer.SerializeToString(), owner.name)
            return answer
        except AlreadyAnswered as known:
            first = known.stored_answer
        except errors.ApiError:
            first = await self.repository.store.find_answer(table.id, request_id)
            if first is None:
                raise
        stored = request.answer_in(first.answer)
        if stored is None and earlier.is_same_create(first.answer, table):
            stored = first.answer
        if stored is None:
            raise errors.request_id_reused()
        return table_service_pb2.CreateTableResponse.FromString(stored)

    async def check_owned(self, owner: Owner) -> None:
        """Raise LIMIT_REACHED for an owner of too many tables; those being created meanwhile are not counted."""
        if owner.name is None:
            return
        states = [TableState.WAITING] if owner.is_player else [TableState.WAITING, TableState.PLAYING]
        count = sum([await self.repository.store.count_owned(owner.name, state.status) for state in states])
        if owner.is_player and count >= self.max_player_tables:
            message = f"you have as many tables that wait as a player may have ({self.max_player_tables})"
            raise errors.limit_reached("player_tables", self.max_player_tables, message, _RETRY_AFTER)
        if not owner.is_player and count >= self._max_owned:
            message = f"you have as many unfinished tables as an API key may have ({self._max_owned})"
            raise errors.limit_reached("key_tables", self._max_owned, message, _RETRY_AFTER)

    async def join(
        self,
        table_id: str,
        seat: int | None,
        player_name: str,
        entropy: bytes,
        request_id: str,
        caller: str | None = None,
        player_id: str = "",
        invitation_code: str = "",
        account_id: str | None = None,
        bot_level: str = "",
    ) -> table_service_pb2.JoinTableResponse:
        """Let a player take a seat (None: the first free one), and issue its token.

        A player with an id who has that seat comes back to it: nothing changes but the token, and that the player is
        not absent any more. No token is stored: a repeat gets one that is issued from what is stored, and is equal to
        the first; a player with an id gets a fresh one if the first has ended. The account (None: the player's) stakes
        where the table asks for it. With `bot_level` a bot joins, as `join_as_bot` says. Raise what that,
        `check_invited`, `changes.join` and `Staking.join` raise, AlreadySeated only if another seat is asked for.
        """
        token_id = uuid4().hex
        now = self.clock()

        def decide(table: TableValue) -> Change:
            if bot_level:
                return join_as_bot(table, seat, player_name, entropy, token_id, now, bot_level)
            check_invited(table, player_id, invitation_code)
            return changes.join(table, seat, player_name, entropy, token_id, now, player_id)

        content = [serialise_optional(seat), player_name.encode(), entropy]
        if player_id:
            # Without one a request is bound as by earlier versions.
            content.append(player_id.encode())
        if invitation_code:
            content.append(b"code " + invitation_code.encode())
        if bot_level:
            content.append(b"bot " + bot_level.encode())
        request = Request.of("join", request_id, caller or "", *content)
        is_same = partial(earlier.is_same_join, seat, player_name)
        try:
            account_id = player_id if account_id is None else account_id
            accepted = await self.staking.join(table_id, account_id, request, decide, stored_join(token_id), is_same)
        except AlreadySeated as held:
            if seat not in (None, held.seat):
                raise
            table = held.table
            if table.is_absent(held.seat):
                table = await self.come_back(table, held.seat)
            return self.seated(AlreadySeated(table, held.seat).stored_join, int(now), renews=True)
        joined = table_pb2.StoredJoin.FromString(accepted.answer)
        return self.seated(joined, joined.table.updated_at.seconds, renews=bool(player_id))

    def seated(self, joined: table_pb2.StoredJoin, since: int, *, renews: bool) -> table_service_pb2.JoinTableResponse:
        """Return the answer to whoever has taken a seat, with the token of `since`: seconds since the epoch.

        `renews`: in place of one that has ended, the token is issued anew.
        """
        now = self.clock()
        if renews and self.tokens.expiry_of(since) <= now:
            since = int(now)
        return table_service_pb2.JoinTableResponse(
            seat=joined.seat,
            token=self.tokens.issue(joined.table.id, joined.seat, joined.token_id, since),
            token_expires_at=Timestamp(seconds=self.tokens.expiry_of(since)),
            table=joined.table,
        )

    async def remove_player(self, table_id: str, seat: int, creator: str, request_id: str) -> bytes:
        """Free a seat for the creator of the table, and return the serialised RemovePlayerResponse.

        Raise what `invitations.remove_player` and `TableRepository.change` raise.
        """
        now = self.clock()
        request = Request.of("remove", request_id, creator, b"%d" % seat)
        decide = partial(remove_player, seat=seat, creator=creator, now=now)
        accepted = await self.repository.change(table_id, None, request, decide, _changed_table)
        return accepted.answer

    async def renew(self, table_id: str, claims: SeatClaims) -> table_service_pb2.RenewTokenResponse:
        """Issue another token of the same seat, valid from now on. The one before stays valid until its own end."""
        seat = verify_player_or_substitute(await self.repository.get(table_id), claims)
        now = self.clock()
        return table_service_pb2.RenewTokenResponse(
            token=self.tokens.issue(table_id, seat, claims.token_id, now),
            token_expires_at=Timestamp(seconds=self.tokens.expiry_of(now)),
        )

    async def leave(self, table_id: str, claims: SeatClaims, request_id: str) -> table_service_pb2.LeaveTableResponse:
        """Let a player give the seat back, which voids its tokens; or a substitute stop playing for the player."""
        is_same = partial(earlier.is_same_play, self.repository.store, table_id, (), None)
        now = self.clock()

        def decide(table: TableValue) -> Change:
            if is_substitute(table, claims):
                return leave_as_substitute(table, claims.seat, now)
            return changes.leave(table, verify_seat(table, claims), now)

        request = Request.of("leave", request_id, claims.token_id)
        accepted = await self.repository.change(table_id, claims, request, decide, _changed_table, is_same)
        left = table_service_pb2.LeaveTableResponse.FromString(accepted.answer)
        if left.table.stake:
            await self.staking.try_to_carry_out(table_id)
        return left

    async def come_back(self, table: TableValue, seat: int) -> TableValue:
        """Return the table with the player of a seat there again, unless the seat has got another player meanwhile."""
        token_id, now = table.seats[seat].token_id, self.clock()

        def decide(table: TableValue) -> Change | None:
            return come_back(table, seat, now) if table.seats[seat].token_id == token_id else None

        await self.repository.change_unasked(table.id, decide, by_clock=False)
        return await self.repository.get(table.id)

    async def change_for_seat(
        self,
        method: str,
        table_id: str,
        claims: SeatClaims,
        request_id: str,
        decide: Callable[[TableValue, int, float], Change],
        *content: bytes,
        is_same: Callable[[StoredAnswer], Awaitable[bool]] | None = None,
    ) -> bytes:
        """Commit what `decide` makes of the table, the token's seat and the time now.

        The answer is the serialised response of the method, whose first field is the table and the only one. `content`
        and `is_same` are those of `Request.of` and `TableRepository.change`. Raise what these and `decide` raise.
        """
        now = self.clock()

        def decide_verified(table: TableValue) -> Change:
            return decide(table, verify_seat(table, claims), now)

        request = Request.of(method, request_id, claims.token_id, *content)
        accepted = await self.repository.change(table_id, claims, request, decide_verified, _changed_table, is_same)
        return accepted.answer

    async def submit(
        self,
        table_id: str,
        claims: SeatClaims,
        moves: Sequence[Move],
        revision: int | None,
        request_id: str,
        *,
        with_view: bool,
    ) -> Accepted:
        """Apply moves of the token's seat, all or none, at `revision` (None: at any).

        The answer is a SubmitMovesResponse, its view only if asked for. Raise what `changes.submit` and
        `TableRepository.change` raise.
        """
        now = self.clock()

        def decide(table: TableValue, seat: int) -> Change:
            return changes.submit(table, seat, moves, now)

        try:
            return await self._play(
                "submit", table_id, claims, moves, revision, request_id, decide, with_view=with_view
            )
        except changes.RuleBroken as broken:
            count_illegal(self.metrics, broken)
            raise

    async def undo_move(
        self, table_id: str, claims: SeatClaims, revision: int | None, request_id: str, *, with_view: bool
    ) -> Accepted:
        """Undo the newest play of the seat's turn. The answer is as that of `submit`."""
        now = self.clock()

        def decide(table: TableValue, seat: int) -> Change:
            return changes.undo_move(table, seat, now)

        return await self._play("undo", table_id, claims, (), revision, request_id, decide, with_view=with_view)

    async def _play(
        self,
        method: str,
        table_id: str,
        claims: SeatClaims,
        moves: Sequence[Move],
        revision: int | None,
        request_id: str,
        decide: Callable[[TableValue, int], Change],
        *,
        with_view: bool,
    ) -> Accepted:
        def decide_verified(table: TableValue) -> Change:
            seat = verify_player_or_substitute(table, claims)
            if revision is not None and revision != table.revision:
                raise errors.stale_revision(table.revision, revision)
            change = decide(table, seat)
            return change._replace(by_substitute=True) if is_substitute(table, claims) else change

        request = Request.of(method, request_id, claims.token_id, serialise_optional(revision), *map(move_bytes, moves))
        answer = partial(_submitted, present=self.presence.seats_of(table_id) if with_view else None)
        is_same = partial(earlier.is_same_play, self.repository.store, table_id, moves, revision)
        with MoveTimer(self.metrics, method):
            return await self.repository.change(table_id, claims, request, decide_verified, answer, is_same)


def stored_join(token_id: str) -> Callable[[Change, Entry], bytes]:
    """Return what makes the stored answer to whoever takes a seat: a token with this id is issued from it."""

    def answer(change: Change, entry: Entry) -> bytes:
        joined = table_pb2.StoredJoin(seat=change.seat, token_id=token_id, table=table_to_pb(change.table))
        return joined.SerializeToString()

    return answer


def _changed_table(change: Change, entry: Entry) -> bytes:
    return _TABLE_ALONE.table(table_to_pb(change.table).SerializeToString())


def _submitted(change: Change, entry: Entry, *, present: tuple[int, ...] | None) -> bytes:
    """Return the SubmitMovesResponse for the seat that made the change.

    `present` are the seats at which a player is seen, for the view; None without a view.
    """
    parts = [_SUBMITTED.revision(entry.revision), *map(_SUBMITTED.events, entry.redacted(change.seat))]
    if present is not None:
        view = table_view_bytes(change.table, change.seat, change.table.updated_at, present=present)
        if view is not None:
            parts.append(_SUBMITTED.view(view))
    return b"".join(parts)
