"""QuickJoin: a seat at any table that fits, or at a new one. A request gets one seat at most, whatever is killed.

Before a seat is taken, the table that is chosen and its revision are stored, under an id that only this request has.
The seat is taken at that revision or not at all; where players stake, the stake is reserved at it (`Staking.join_at`).
So a choice has one of two ends, for all who carry it out, however late: the seat is taken, and the table keeps the
answer, or the table has moved on, and the seat can never be taken by this choice. Only then another choice replaces it,
by compare-and-swap. A repeat begins with the choice that is stored: it finds the first answer, or does what is left
undone. For a player who is found to have a seat already that seat is stored, and nothing changes at the table.

A new table is created without a player, under an id that is the same for all who look for such a table in the same
seconds, so that those who find none at the same time come to one table. A replica killed behind that leaves a table
that others find.
"""

import contextlib
import secrets
from typing import Final, NamedTuple
from uuid import uuid4

from google.protobuf.message import DecodeError

from buraco.v1 import table_pb2, table_service_pb2
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import SEED_BYTES
from buraco_service import errors
from buraco_service.stores.base import Commit, NewTable, RevisionConflict, TableExists, TableNotFound
from buraco_service.tables import changes
from buraco_service.tables.changes import Change
from buraco_service.tables.creators import Owner
from buraco_service.tables.finding import QUICK_JOIN_STATUS, Wanted, find_tables
from buraco_service.tables.idempotency import Request, derive_quick_join_id, derive_quick_table_id
from buraco_service.tables.invitations import check_invited
from buraco_service.tables.players import AlreadySeated, check_can_join
from buraco_service.tables.state import TableAccess, TableState, TableValue
from buraco_service.tables.stored import CorruptTable
from buraco_service.tables.stored_timing import options_to_pb
from buraco_service.tables.tables import Tables, stored_join

_CHOICES: Final = 64
"""Choices of one call: each that fails does because somebody else has changed that table."""
_PAGES: Final = 4
"""Of `find_tables`, in which a table that fits is looked for."""
_FOUND: Final = 100
_SAME_TIME: Final = 10.0
"""Seconds within which all who find no table create the same one."""
_CREATED_AT_ONCE: Final = 8
"""Tables of such a time that are tried before one is created for the request alone."""
_MOVED_ON: Final = frozenset(
    {"REVISION_STALE", "TABLE_UNKNOWN", "TABLE_FULL", "TABLE_FINISHED", "ALREADY_SEATED", "NOT_INVITED"}
)
"""Reasons for which another table is chosen: the table is past the revision of the choice."""


class QuickPlayer(NamedTuple):
    """Who wants a seat."""

    name: str
    entropy: bytes
    player_id: str = ""


class _Choice(NamedTuple):
    """What was chosen for a request, as it is stored."""

    stored: table_pb2.StoredQuickJoin
    stored_at: int
    """The revision of what is stored."""
    chosen_at: float


class QuickJoins:
    """The use case."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._store = tables.repository.store

    async def quick_join(
        self, wanted: TableValue, player: QuickPlayer, request_id: str, owner: Owner, caller: str | None
    ) -> table_service_pb2.QuickJoinResponse:
        """Take a seat at a table like `wanted`, which is created where there is none, and issue its token.

        A player with an id who has a seat at such a table, which waits for players, comes back to it. Raise
        REQUEST_ID_REUSED, INVALID_ARGUMENT for a player without a name, LIMIT_REACHED for an owner of too many tables,
        PLAYER_TOKEN_MISSING and CREDIT_TOO_LOW where a stake is held, and REVISION_STALE if others keep coming first.
        """
        check_can_join(wanted, player.player_id, player.name)
        request = _request_of(wanted, player, request_id, caller)
        passed: _Choice | None = None
        for _ in range(_CHOICES):
            choice = await self._read_choice(request)
            if choice is not None:
                joined = await self._carry_out(choice, player, request)
                if joined is not None:
                    return joined
            passed = choice
            try:
                await self._choose(passed, wanted, player, request, owner)
            except errors.ApiError:
                # Perhaps another call of the request has chosen meanwhile, and what it did is why this one is refused.
                newest = await self._read_choice(request)
                if newest is None or newest == passed:
                    raise
        raise errors.stale_revision(0 if passed is None else passed.stored.revision)

    async def _read_choice(self, request: Request) -> _Choice | None:
        """Return the stored choice of a request. Raise REQUEST_ID_REUSED if it is another request's."""
        try:
            stored = await self._store.load(derive_quick_join_id(request.id))
        except TableNotFound:
            return None
        try:
            message = table_pb2.StoredQuickJoin.FromString(stored.state)
        except DecodeError as error:
            raise CorruptTable("the stored bytes are no choice of a table") from error
        if message.fingerprint != request.fingerprint:
            raise errors.request_id_reused()
        return _Choice(message, stored.revision, stored.updated_at)

    async def _carry_out(
        self, choice: _Choice, player: QuickPlayer, request: Request
    ) -> table_service_pb2.QuickJoinResponse | None:
        """Take a seat of the chosen table; None if that cannot be done any more."""
        now, token_id = self._tables.clock(), uuid4().hex
        if choice.stored.HasField("joined"):
            return self._answer(choice.stored.joined, int(choice.chosen_at), player)

        def decide(table: TableValue) -> Change:
            check_invited(table, player.player_id, "")
            return changes.join(table, None, player.name, player.entropy, token_id, now, player.player_id)

        chosen = choice.stored
        try:
            accepted = await self._tables.staking.join_at(
                chosen.table_id, chosen.revision, player.player_id, request, decide, stored_join(token_id)
            )
        except errors.ApiError as refusal:
            if refusal.reason not in _MOVED_ON:
                raise
            return None
        joined = table_pb2.StoredJoin.FromString(accepted.answer)
        return self._answer(joined, joined.table.updated_at.seconds, player)

    def _answer(
        self, joined: table_pb2.StoredJoin, since: int, player: QuickPlayer
    ) -> table_service_pb2.QuickJoinResponse:
        """Return the answer, its token as it was first; a player with an id gets a fresh one once that has ended."""
        seated = self._tables.seated(joined, since, renews=bool(player.player_id))
        return table_service_pb2.QuickJoinResponse(
            seat=seated.seat, token=seated.token, table=seated.table, token_expires_at=seated.token_expires_at
        )

    async def _choose(
        self, passed: _Choice | None, wanted: TableValue, player: QuickPlayer, request: Request, owner: Owner
    ) -> None:
        """Store a choice in place of one that has passed, unless another call of the request has done so meanwhile."""
        table = await self._find(wanted, player)
        if table is None:
            table = await self._open(wanted, player, request, 0 if passed is None else passed.stored_at, owner)
        message = table_pb2.StoredQuickJoin(
            table_id=table.id, revision=table.revision, fingerprint=request.fingerprint, joined=_seat_of(table, player)
        )
        choice_id, state, now = derive_quick_join_id(request.id), message.SerializeToString(), self._tables.clock()
        # Another call of the request may come first: its choice is as good.
        with contextlib.suppress(TableExists, RevisionConflict, TableNotFound):
            if passed is None:
                await self._store.create(NewTable(choice_id, state, QUICK_JOIN_STATUS, now, b"", None, b""))
            else:
                await self._store.commit(
                    Commit(choice_id, passed.stored_at, state, QUICK_JOIN_STATUS, now, b"", None, b"")
                )

    async def _find(self, wanted: TableValue, player: QuickPlayer) -> TableValue | None:
        """Return the table where the player has a seat, or else the one with the fewest free seats; None if none fits.

        Of several the oldest is taken, so that players come together.
        """
        found: list[TableValue] = []
        after = ""
        public = Wanted(TableState.WAITING, wanted.rules.id, 0, TableAccess.PUBLIC, wanted.stake, wanted.stake)
        for _ in range(_PAGES):
            page, after = await find_tables(self._store, public, _FOUND, after)
            for table in page:
                if _is_like(table, wanted) and _seat_of(table, player) is not None:
                    return table
                if _fits(table, wanted, player):
                    found.append(table)
            if not after:
                break
        return min(found, key=lambda table: (len(table.free_seats), table.created_at, table.id), default=None)

    async def _open(
        self, wanted: TableValue, player: QuickPlayer, request: Request, attempt: int, owner: Owner
    ) -> TableValue:
        """Return a table that fits, and is new or was created a moment ago by somebody who wants the same.

        `attempt` distinguishes the tables that are for the request alone. Raise LIMIT_REACHED, PLAYER_TOKEN_MISSING or
        CREDIT_TOO_LOW, before anything is created.
        """
        await self._tables.check_owned(owner)
        stakes = self._tables.staking.of_new_table(wanted.stake)
        if stakes is not None:
            await self._tables.staking.check_can_stake(player.player_id, wanted.stake)
        new = wanted._replace(stakes=stakes, creator=owner.creator)
        content = (*_content_of(wanted), b"%d" % (self._tables.clock() // _SAME_TIME))
        for number in range(_CREATED_AT_ONCE):
            table = await self._create(derive_quick_table_id(*content, b"%d" % number), new, owner)
            if _fits(table, wanted, player):
                return table
        # Where another call of the request has created it, and others have filled it, the choice will pass.
        return await self._create(derive_quick_table_id(request.id.encode(), b"%d" % attempt), new, owner)

    async def _create(self, table_id: str, new: TableValue, owner: Owner) -> TableValue:
        """Return the table with this id, created like `new` unless it is there, with a seed of its own."""
        now = self._tables.clock()
        seed = secrets.token_bytes(SEED_BYTES)
        table = new._replace(id=table_id, created_at=now, updated_at=now, master_seed=seed)
        try:
            await self._tables.repository.create(table, None, b"", owner.name)
        except TableExists:
            return await self._tables.repository.get(table_id)
        return table


def _fits(table: TableValue, wanted: TableValue, player: QuickPlayer) -> bool:
    """Return True if a table is as wanted, and the player can take a seat of it."""
    return (
        _is_like(table, wanted)
        and bool(table.free_seats)
        and (not player.player_id or player.player_id not in table.removed_player_ids)
        and (table.stakes is None or bool(player.player_id))
    )


def _is_like(table: TableValue, wanted: TableValue) -> bool:
    return (
        table.state is TableState.WAITING
        and table.rules == wanted.rules
        and len(table.seats) == len(wanted.seats)
        and (table.target_score, table.stake) == (wanted.target_score, wanted.stake)
        and table.options == wanted.options
        and not table.seeded_by_creator
    )


def _seat_of(table: TableValue, player: QuickPlayer) -> table_pb2.StoredJoin | None:
    """Return the player's seat of a table as the answer keeps it; None without one."""
    if player.player_id:
        for number, seat in enumerate(table.seats):
            if seat.player_id == player.player_id:
                return AlreadySeated(table, number).stored_join
    return None


def _content_of(table: TableValue) -> tuple[bytes, ...]:
    """Return what is asked of a table."""
    options = options_to_pb(table.options)
    return (
        rule_set_to_pb(table.rules).SerializeToString(deterministic=True),
        b"%d %d %d" % (len(table.seats), table.target_score, table.stake),
        b"" if options is None else options.SerializeToString(deterministic=True),
    )


def _request_of(wanted: TableValue, player: QuickPlayer, request_id: str, caller: str | None) -> Request:
    who = (player.name.encode(), player.entropy, player.player_id.encode())
    return Request.of("quick_join", request_id, caller or "", *_content_of(wanted), *who)
