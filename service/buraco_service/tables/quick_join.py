"""QuickJoin: a seat at any table that fits, or else at a new one; exactly one for a request.

Which table was chosen is stored before its seat is taken, under an id that only this request has, so that a repeat, by
any replica and after any failure, goes on with the same table. The choice names a revision of the table, at which alone
the seat may be taken; when the table has moved on, another choice replaces it by compare-and-swap. So a seat is taken
once at most: revisions never come again, hence nobody who still follows a choice that was replaced can carry it out,
and whoever replaces one has looked whether it was carried out. The last choice is a table that is created with the
player in its first seat, in one write.

At a table with a stake, to hold the stake changes the table, so that its seat may be taken at any revision, and the new
table is created before its seat is taken. There a player has the seat once at most because two seats of a table are
never one player's; only a request whose first attempt stood still while all this happened could end with a seat at a
second table.
"""

import contextlib
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import uuid4

from buraco.v1 import table_pb2, table_service_pb2
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_service import errors
from buraco_service.stores.base import AlreadyAnswered, Commit, NewTable, RevisionConflict, TableExists, TableNotFound
from buraco_service.tables import changes
from buraco_service.tables.changes import Change
from buraco_service.tables.creators import Owner
from buraco_service.tables.entries import Entry
from buraco_service.tables.finding import QUICK_JOIN_STATUS, Wanted, find_tables
from buraco_service.tables.idempotency import Request, derive_quick_join_table_id
from buraco_service.tables.players import AlreadySeated, check_can_join
from buraco_service.tables.state import Seat, TableAccess, TableState, TableValue
from buraco_service.tables.stored import table_to_pb
from buraco_service.tables.stored_timing import options_to_pb
from buraco_service.tables.tables import Tables

_CHOICES: Final = 8
"""Tables that are tried before one is created."""
_PAGES: Final = 4
"""Of `find_tables`, in which a table that fits is looked for."""
_FOUND: Final = 100


class QuickPlayer(NamedTuple):
    """Who wants a seat."""

    name: str
    entropy: bytes
    player_id: str = ""


class _Choice(NamedTuple):
    """The table that was chosen for a request, as it is stored."""

    table_id: str
    revision: int
    """At which the seat may be taken; 0 for the table that the request creates."""
    stored_at: int
    """The revision of what is stored."""

    @property
    def state(self) -> bytes:
        """Return what is stored."""
        return table_pb2.StoredQuickJoin(table_id=self.table_id, revision=self.revision).SerializeToString()


class _MovedOn(errors.ApiError):
    """The chosen table is past the revision at which the seat may be taken. Never leaves this module."""

    def __init__(self) -> None:
        stale = errors.stale_revision(0)
        super().__init__(stale.code, stale.reason, stale.message)


class QuickJoins:
    """The use case."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._store = tables.repository.store

    async def quick_join(
        self, table: TableValue, player: QuickPlayer, request_id: str, owner: Owner, caller: str | None
    ) -> table_service_pb2.QuickJoinResponse:
        """Take a seat at a table like `table`, which is created where there is none, and issue its token.

        A player with an id who has a seat at a table that fits comes back to it. Raise REQUEST_ID_REUSED, LIMIT_REACHED
        for an owner of too many tables, or INVALID_ARGUMENT for a player without a name.
        """
        check_can_join(table, player.player_id, player.name)
        stakes = self._tables.staking.of_new_table(table.stake)
        table_id = derive_quick_join_table_id(request_id)
        table = table._replace(id=table_id, creator=owner.creator, stakes=stakes)
        request = _request_of(table, player, request_id, caller)
        now = self._tables.clock()
        try:
            joined = await self._take_seat(table, player, request, owner, now)
        except AlreadySeated as held:
            return _answer(self._tables.seated(held.stored_join, since=int(now)))
        since = joined.table.updated_at.seconds
        is_over = bool(player.player_id) and self._tables.tokens.expiry_of(since) <= now
        return _answer(self._tables.seated(joined, since=int(now) if is_over else since))

    async def _take_seat(
        self, table: TableValue, player: QuickPlayer, request: Request, owner: Owner, now: float
    ) -> table_pb2.StoredJoin:
        choice_id = f"quick join {request.id}"
        choice = await self._read_choice(choice_id, request)
        tried = 0
        while choice is None or choice.revision:
            if choice is not None:
                try:
                    return await self._join(choice, player, request, now)
                except _MovedOn:
                    tried += 1
            fitting = await self._fitting(table, player) if tried < _CHOICES else []
            chosen = fitting[0] if fitting else None
            if chosen is None:
                # Before it is final: a limit that refuses the table now need not do so later.
                await self._tables.check_owned(owner)
            choice = await self._choose(choice_id, request, choice, chosen, table, now)
        return await self._create(table, player, request, owner, now)

    async def _fitting(self, wanted: TableValue, player: QuickPlayer) -> Sequence[TableValue]:
        """Return the tables that fit, those with the fewest free seats first. Raise AlreadySeated for the player's."""
        found: list[TableValue] = []
        after = ""
        public = Wanted(TableState.WAITING, wanted.rules.id, 1, TableAccess.PUBLIC, wanted.stake, wanted.stake)
        for _ in range(_PAGES):
            page, after = await find_tables(self._store.list_tables, public, _FOUND, after)
            for table in page:
                if _is_like(table, wanted) and player.player_id not in table.removed_player_ids:
                    if player.player_id:
                        check_can_join(table, player.player_id, player.name)
                    found.append(table)
            if not after:
                break
        return sorted(found, key=lambda table: len(table.free_seats))

    async def _read_choice(self, choice_id: str, request: Request) -> _Choice | None:
        """Return the choice that is stored for a request. Raise REQUEST_ID_REUSED if it is another request's."""
        first = await self._store.find_answer(choice_id, request.id)
        if first is None:
            return None
        if request.answer_in(first.answer) is None:
            raise errors.request_id_reused()
        stored = await self._store.load(choice_id)
        choice = table_pb2.StoredQuickJoin.FromString(stored.state)
        return _Choice(choice.table_id, choice.revision, stored.revision)

    async def _choose(
        self,
        choice_id: str,
        request: Request,
        before: _Choice | None,
        chosen: TableValue | None,
        table: TableValue,
        now: float,
    ) -> _Choice | None:
        """Store a choice (None: the table is created), and return it, or the one that another replica has stored."""
        choice = _Choice(table.id, 0, 0) if chosen is None else _Choice(chosen.id, chosen.revision, 0)
        try:
            if before is None:
                new = NewTable(choice_id, choice.state, QUICK_JOIN_STATUS, now, b"", request.id, request.bind(b""))
                await self._store.create(new)
                return choice._replace(stored_at=1)
            commit = Commit(choice_id, before.stored_at, choice.state, QUICK_JOIN_STATUS, now, b"", None, b"")
            return choice._replace(stored_at=await self._store.commit(commit))
        except (AlreadyAnswered, RevisionConflict):
            return await self._read_choice(choice_id, request)
        except TableNotFound:
            return None  # expired: nobody repeats a request after so long

    async def _join(self, choice: _Choice, player: QuickPlayer, request: Request, now: float) -> table_pb2.StoredJoin:
        """Take a seat at the chosen table if it has the revision of the choice. Raise _MovedOn if it has another."""
        token_id = uuid4().hex

        def decide(table: TableValue) -> Change:
            if not table.stakes and table.revision != choice.revision:
                raise _MovedOn
            return changes.join(table, None, player.name, player.entropy, token_id, now, player.player_id)

        def answer(change: Change, entry: Entry) -> bytes:
            joined = table_pb2.StoredJoin(seat=change.seat, token_id=token_id, table=table_to_pb(change.table))
            return joined.SerializeToString()

        try:
            accepted = await self._tables.staking.join(choice.table_id, player.player_id, request, decide, answer)
        except AlreadySeated:
            raise
        except errors.ApiError as refusal:
            if refusal.reason not in _REFUSED or not choice.revision:
                raise
            raise _MovedOn from None
        return table_pb2.StoredJoin.FromString(accepted.answer)

    async def _create(
        self, table: TableValue, player: QuickPlayer, request: Request, owner: Owner, now: float
    ) -> table_pb2.StoredJoin:
        """Create the table with the player in its first seat, unless this request has done so before."""
        if table.stakes:
            with contextlib.suppress(AlreadyAnswered, TableExists):
                await self._tables.repository.create(table, None, b"", owner.name)
            return await self._join(_Choice(table.id, 0, 0), player, request, now)
        taken = Seat(player.name, uuid4().hex, now, player.entropy, player.player_id)
        table = table._replace(seats=(taken, *table.seats[1:]))
        joined = table_pb2.StoredJoin(seat=0, token_id=taken.token_id, table=table_to_pb(table))
        try:
            await self._tables.repository.create(table, request, joined.SerializeToString(), owner.name)
        except AlreadyAnswered as known:
            answer = request.answer_in(known.stored_answer.answer)
            if answer is None:
                raise errors.request_id_reused() from None
            return table_pb2.StoredJoin.FromString(answer)
        return joined


_REFUSED: Final = frozenset({"REVISION_STALE", "TABLE_UNKNOWN", "TABLE_FULL", "TABLE_FINISHED", "TABLE_TOO_NEW"})
"""Reasons for which another table is chosen."""


def _is_like(table: TableValue, wanted: TableValue) -> bool:
    return (
        table.rules == wanted.rules
        and len(table.seats) == len(wanted.seats)
        and table.target_score == wanted.target_score
        and table.options == wanted.options
        and not table.seeded_by_creator
    )


def _request_of(table: TableValue, player: QuickPlayer, request_id: str, caller: str | None) -> Request:
    options = options_to_pb(table.options)
    return Request.of(
        "quick_join",
        request_id,
        caller or "",
        rule_set_to_pb(table.rules).SerializeToString(),
        b"%d %d %d" % (len(table.seats), table.target_score, table.stake),
        b"" if options is None else options.SerializeToString(deterministic=True),
        player.name.encode(),
        player.entropy,
        player.player_id.encode(),
    )


def _answer(joined: table_service_pb2.JoinTableResponse) -> table_service_pb2.QuickJoinResponse:
    return table_service_pb2.QuickJoinResponse(
        seat=joined.seat, token=joined.token, table=joined.table, token_expires_at=joined.token_expires_at
    )
