"""Watching a table: its state once, then every change in order, each once."""

import asyncio
from collections.abc import Iterable
from typing import Final

from buraco.v1 import table_service_pb2 as pb
from buraco_codec.events import absent_seat, ended_substitution, ends_match, seat_change
from buraco_codec.moves import move_bytes
from buraco_codec.wire import Fields
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.stores.base import HistoryGone, Subscription
from buraco_service.tables.changes import is_substitute, verify_player_or_substitute
from buraco_service.tables.chat_feed import ChatFeed
from buraco_service.tables.entries import Entry, serialise_events
from buraco_service.tables.presence import OpenStream
from buraco_service.tables.state import TableState, TableValue
from buraco_service.tables.stored import table_to_pb
from buraco_service.tables.tables import Tables

UPDATE: Final = Fields(pb.PlayTableResponse)
"""Makes the messages for a watcher. A WatchTableResponse has the same fields as far as it has them."""
_STATE: Final = Fields(pb.TableUpdate)
_VIEW: Final = Fields(pb.ViewUpdate)
_TURN: Final = Fields(pb.PlayTurn)


class Feed:
    """One watcher's position in the history of a table; made by `Feeds.open`.

    Its updates are serialised PlayTableResponses. `views` and `legal_moves` are what `observe` returns.
    """

    def __init__(
        self,
        tables: Tables,
        table_id: str,
        claims: SeatClaims | None,
        subscription: Subscription,
        heartbeat: float,
        *,
        views: bool,
        legal_moves: bool,
    ) -> None:
        self._tables = tables
        self._repository = tables.repository
        self._table_id = table_id
        self._claims = claims
        self._subscription = subscription
        self._heartbeat = heartbeat
        self._views = views
        self._legal_moves = legal_moves
        self.wants_presence = False
        """It is sent who is seen, with the opening and whenever that changes."""
        self._presence_sent: tuple[int, ...] | None = None
        self._stream: OpenStream | None = None
        self._may_be_unseen = False
        """The table makes players absent who are not seen."""
        self._is_absent = False
        """This watcher's seat was made absent although it is there."""
        self._view_sent_at = self._turn_sent_at = 0
        self.seat = None if claims is None else claims.seat
        self.revision = 0
        """The newest revision that was sent."""
        self.is_over = False
        """Nothing can happen at the table any more."""
        self._is_substitute = False
        """The watcher is a bot that plays for the seat's absent player."""
        self._verified_at = 0
        """The revision at which the watcher held its seat for certain."""
        self._newest: int | None = None
        """The newest revision by the last `wait`; None if it is not known."""
        self._loop = asyncio.get_running_loop()
        self.opened_at = self._loop.time()
        self._silent_until = self.opened_at + heartbeat
        self._alarm: asyncio.TimerHandle | None = None
        self.chat: ChatFeed | None = None
        """The messages, if the watcher wants them."""

    async def begin(self, after_revision: int | None) -> list[bytes]:
        """Return the first updates: the state; or, to resume after a revision, only the changes since.

        If these are no longer kept, it is HistoryGone and the state. Raise SEAT_NOT_YOURS or TABLE_NOT_FOUND.
        """
        table = await self._get_table()
        self._verify_seat(table)
        if self.seat is not None and not self._is_substitute and table.is_absent(self.seat):
            table = await self._tables.come_back(table, self.seat)
        await self._open_stream(table)
        if after_revision is None:
            return [self._state_update(table)]
        if after_revision > table.revision:
            return await self._restart(await self._oldest())
        self.revision = after_revision
        updates = await self.catch_up()
        # Nothing follows the end of a match, also for a watcher that resumes after it.
        self.is_over = self.is_over or table.state is TableState.FINISHED
        return updates

    async def _open_stream(self, table: TableValue) -> None:
        """Let the watcher be seen, unless it is a bot that plays for an absent player."""
        self._verify_seat(table)
        wake = self._subscription.wake if self.wants_presence else None
        seat = None if self._is_substitute else self.seat
        self._may_be_unseen = seat is not None and table.options.absent_after > 0
        self._stream = await self._tables.presence.open(table, seat, wake)

    async def catch_up(self, *, before: int | None = None, woken: bool = False) -> list[bytes]:
        """Return the changes since the last call, in order; those from the revision `before` on are left for later.

        `woken`: `wait` has just returned, and what it learned of the newest revision is trusted; otherwise the store is
        asked. If the changes are no longer kept, it is HistoryGone and the state. Raise as `check_token` does.
        """
        self.check_token()
        updates: list[bytes] = []
        try:
            while before is None or self.revision < before - 1:
                entries = self._repository.recent_entries(self._table_id, self.revision)
                if not entries:
                    if woken and not self.is_behind():
                        break
                    entries = await self._repository.read_log(self._table_id, self.revision)
                for entry in entries:
                    if before is not None and entry.revision >= before:
                        return updates
                    updates.append(UPDATE.events(self._events_update(entry)))
                if not entries:
                    break
        except HistoryGone as gone:
            updates += await self._restart(gone.oldest - 1)
        if self._is_absent and self.seat is not None:
            # The stream was opened while another replica found the seat's player absent. The return comes as a change.
            self._is_absent = False
            await self._tables.come_back(await self._repository.get(self._table_id), self.seat)
        return updates

    def observe_presence(self) -> list[bytes]:
        """Return who is seen, if the watcher wants to know and was not sent the same before."""
        if not self.wants_presence:
            return []
        seats = self._tables.presence.seats_of(self._table_id)
        if seats == self._presence_sent:
            return []
        self._presence_sent = seats
        return [UPDATE.presence(pb.Presence(seats=seats).SerializeToString())]

    async def observe(self) -> list[bytes]:
        """Return the view and the seat's turn at the newest revision sent, as far as the watcher wants them.

        Each comes once a revision; not at all if more has happened, because the next changes are on their way.
        """
        revision = self.revision
        wants_view = self._views and self._view_sent_at != revision
        wants_turn = self._legal_moves and self._turn_sent_at != revision
        if not wants_view and not wants_turn:
            return []
        table = await self._get_table_at_least(revision)
        if table.deal is None or table.revision != revision:
            return []
        self._verify_seat(table)
        moves = [] if self.seat is None or not wants_turn else table.legal_moves(self.seat)
        if not wants_view and not moves:
            return []
        present = self._tables.presence.seats_of(self._table_id)
        view = self._repository.view(table, self.seat, moves if wants_turn else None, present=present)
        assert view is not None, "there is a deal"
        updates: list[bytes] = []
        if wants_view:
            self._view_sent_at = revision
            updates.append(UPDATE.view(_VIEW.revision(revision) + _VIEW.view(view)))
        if moves:
            self._turn_sent_at = revision
            listed = [_TURN.moves(move_bytes(move)) for move in moves]
            updates.append(UPDATE.turn(b"".join([_TURN.revision(revision), _TURN.view(view), *listed])))
        return updates

    async def read_messages(self) -> list[bytes]:
        """Return the messages since the last call, as far as the watcher wants and may read them.

        Raise as `check_token` does, and TABLE_NOT_FOUND.
        """
        if self.chat is None or not self.chat.is_behind():
            return []
        self.check_token()
        found = await self.chat.read()
        if found:
            self._postpone_heartbeat()
        return [UPDATE.chat(message) for message in found]

    def check_token(self) -> None:
        """Raise TokenExpired or TokenInvalid if the watcher's token has expired or its key was removed."""
        if self._claims is not None:
            self._tables.tokens.check(self._claims, self._tables.clock())

    def is_behind(self) -> bool:
        """Return True if there may be changes that were not sent, by what the last `wait` learned."""
        return self._newest is None or self._newest > self.revision

    def is_heartbeat_due(self) -> bool:
        """Return True if nothing was sent for the time of a heartbeat."""
        return self._loop.time() >= self._silent_until

    async def wait(self) -> None:
        """Wait until `is_behind`, `is_heartbeat_due` or `Feeds.must_reconnect` may have changed."""
        if self._alarm is None:
            # One timer for a time of silence, not one for every wait.
            self._alarm = self._loop.call_at(self._silent_until, self._ring)
        self._newest = await self._subscription.wait()

    def hold(self) -> None:
        """Let no change wake `wait` until `release`: the watcher makes one itself and learns of it by the answer."""
        self._subscription.hold()

    def release(self) -> None:
        """Go on after `hold`: the watcher's own change was sent or refused."""
        self._subscription.release(self.revision)

    def close(self) -> None:
        """Cancel the timer, and let the watcher be seen no more."""
        if self._stream is not None:
            self._stream.close()
        if self._alarm is not None:
            self._alarm.cancel()

    def heartbeat(self) -> bytes:
        """Return an update without news; the next one is due after another time of silence."""
        self._postpone_heartbeat()
        return UPDATE.heartbeat(pb.Heartbeat(revision=self.revision).SerializeToString())

    def reconnect(self) -> bytes:
        """Return the update that asks the watcher to open its stream anew."""
        return UPDATE.reconnect(pb.Reconnect(revision=self.revision).SerializeToString())

    def mark_sent(self, revision: int, events: Iterable[bytes]) -> None:
        """Note that a change is sent, here or with the answer to who made it."""
        self._postpone_heartbeat()
        self.revision = revision
        self.is_over = any(map(ends_match, events))

    async def _get_table(self) -> TableValue:
        """Return the table as the watcher may see it now."""
        return await self._repository.get(self._table_id)

    async def _get_table_at_least(self, revision: int) -> TableValue:
        """Return the table at this revision, or a newer one that the watcher may see."""
        return await self._repository.get_at_least(self._table_id, revision)

    def _ring(self) -> None:
        self._alarm = None
        self._subscription.wake()

    def _postpone_heartbeat(self) -> None:
        self._silent_until = self._loop.time() + self._heartbeat

    def _verify_seat(self, table: TableValue) -> None:
        if self._claims is not None:
            verify_player_or_substitute(table, self._claims)
            self._is_substitute = is_substitute(table, self._claims)
        self._verified_at = table.revision

    async def _restart(self, oldest: int) -> list[bytes]:
        """Return HistoryGone, since history can be resumed only after the revision `oldest`, and the state."""
        gone = pb.HistoryGone(oldest_revision=oldest)
        state = self._state_update(await self._get_table())
        return [UPDATE.history_gone(gone.SerializeToString()), state]

    async def _oldest(self) -> int:
        """Return the oldest revision after which history is still kept."""
        try:
            await self._repository.read_log(self._table_id, 0, 1)
        except HistoryGone as gone:
            return gone.oldest - 1
        return 0

    def _state_update(self, table: TableValue) -> bytes:
        self._verify_seat(table)
        self._postpone_heartbeat()
        self.revision = table.revision
        self.is_over = table.state is TableState.FINISHED
        if self._may_be_unseen and self.seat is not None:
            self._is_absent = table.is_absent(self.seat)
        state = _STATE.table(table_to_pb(table).SerializeToString())
        view = self._repository.view(table, self.seat, present=self._tables.presence.seats_of(table.id))
        if view is not None:
            state += _STATE.view(view)
        self._view_sent_at = table.revision
        return UPDATE.state(state)

    def _events_update(self, entry: Entry) -> bytes:
        if entry.revision > self._verified_at and any(map(self._is_seat_left, entry.events)):
            raise errors.seat_not_yours("the seat was given back, or its player is there again")
        events = entry.redacted(self.seat)
        if self._may_be_unseen and self.seat in map(absent_seat, events):
            self._is_absent = True
        self.mark_sent(entry.revision, events)
        return serialise_events(entry.revision, events)

    def _is_seat_left(self, event: bytes) -> bool:
        """Return True if the watcher's seat was given back, or its player is there again in place of the watcher.

        From here on its hidden cards are another's.
        """
        if self._is_substitute and ended_substitution(event) == self.seat:
            return True
        change = seat_change(event)
        return change is not None and change.seat == self.seat and not change.player_name
