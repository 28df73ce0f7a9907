"""Players at tables with stakes, clocks, scores to confirm and chat, who stay away and come back."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

from google.protobuf.duration_pb2 import Duration

from buraco.v1 import table_pb2, table_service_pb2
from buraco_bots.bot import ask_for_moves, make_bot
from buraco_bots.registry import load_factory
from buraco_client import BuracoClient, LimitReached, RevisionStale, RuleBroken, Seat, TableRefused
from buraco_codec.moves import move_from_pb, move_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.views import view_from_pb
from buraco_service.accounts.entries import HOUSE
from tests.service.scripts import short_rules
from tests.soak.ledger import Ledger
from tests.soak.load import Load
from tests.soak.seats import NotedSeat

INITIAL: Final = 1000
"""Credits of a new account."""
SETTINGS: Final = {"BURACO_CREDITS": "true", "BURACO_INITIAL_CREDITS": str(INITIAL)}
"""Of the replicas."""
_STAKE: Final = 5
_TURN_TIME: Final = 5
_OPTIONS: Final = table_pb2.TableOptions(
    turn_time=Duration(seconds=_TURN_TIME),
    absent_after_turns=1,
    confirmation_time=Duration(seconds=3),
    # Keeps the whole log, for the audit.
    spectator_delay=Duration(seconds=1),
)
_RULES: Final = rule_set_to_pb(short_rules(12))
_BOT: Final = load_factory("random")
_AWAY: Final = (_TURN_TIME, 2.5 * _TURN_TIME)
"""Bounds of the seconds for which a player stays away."""
_GOES_AWAY, _CHATS, _RESIGNS, _CONFIRMS = 0.01, 0.05, 0.01, 0.8
"""How likely a player does something when it is to move, or when a score is shown."""
_SETTLING: Final = 90.0
"""Seconds in which the clock finishes the turns of all who have gone."""
_LOOK: Final = 0.2

_T = TypeVar("_T")


class Guest(NamedTuple):
    """Who plays for credits."""

    id: str
    token: str


class SentMessage(NamedTuple):
    """A message that was answered with its number."""

    number: int
    seat: int
    text: str


class Account(NamedTuple):
    """What an account has in the end."""

    balance: int
    held: int


class OnlineNotes:
    """What was acknowledged besides moves."""

    def __init__(self) -> None:
        self.guests: list[Guest] = []
        self.messages: dict[str, list[SentMessage]] = {}
        """By table."""
        self.absences = 0
        """How often a player stayed away."""
        self.accounts: dict[str, Account] = {}
        """By player, and that of the house, when all stakes had been settled."""


class OnlineLoad(Load):
    """As `Load`, with players who have accounts."""

    def __init__(self, target: str, ledger: Ledger, seed: str) -> None:
        super().__init__(target, ledger, seed)
        self.notes = OnlineNotes()

    async def settle(self) -> None:
        """Wait until no table changes any more, and read the accounts.

        After a while they are read in any case: the audit finds what is left to be done.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SETTLING):
                for table_id in self._ledger.tables:
                    while not _is_quiet(await self.client.get_table(table_id)):  # noqa: ASYNC110 - others change it
                        await asyncio.sleep(_LOOK)
        for guest in self.notes.guests:
            account = await self.client.get_account(player_token=guest.token)
            self.notes.accounts[guest.id] = Account(account.balance, account.held)
        house = await self.client.get_account(HOUSE)
        self.notes.accounts[HOUSE] = Account(house.balance, house.held)

    async def _play(self, client: BuracoClient, kind: str) -> None:
        """Open a table and play its match, of new players."""
        number = self._opened
        self._opened += 1
        # Who is cut off while joining leaves a stake reserved for a while.
        async with self._opening:
            with self._ledger.under_way():
                players = await self._open_for_guests(client, number)
        table_id = players[0].table_id
        async with asyncio.TaskGroup() as tasks:
            for player in players:
                tasks.create_task(player.play())
        self._ledger.finished.add(table_id)

    async def _open_for_guests(self, client: BuracoClient, number: int) -> list[_Player]:
        seats = 4 if number % 2 else 2
        guests = [await self._sign_in(client, f"guest {seat}") for seat in range(seats)]
        target = 0 if number % 3 == 0 else 10_000
        table = await client.create_table(_RULES, seats, target_score=target, stake=_STAKE, options=_OPTIONS)
        self._ledger.tables[table.id] = []
        self.notes.messages[table.id] = []
        rng = random.Random(f"{self._seed}/{number}")
        return [
            _Player(
                await client.join_table(table.id, player_token=guest.token),
                *(client, guest, self._ledger, self.notes, random.Random(rng.random())),
            )
            for guest in guests
        ]

    async def _sign_in(self, client: BuracoClient, name: str) -> Guest:
        signed_in = await client.sign_in_as_guest(name)
        guest = Guest(signed_in.player_id, signed_in.player_token)
        # The account is opened by this.
        await client.get_account(player_token=guest.token)
        self.notes.guests.append(guest)
        return guest


def _is_quiet(table: table_pb2.Table) -> bool:
    """Return True if neither the clock nor a stake will change the table."""
    if table.state == table_pb2.TABLE_STATE_FINISHED:
        return table.stakes_settled
    return not table.HasField("turn_expires_at") and not table.awaiting_confirmation.HasField("expires_at")


class _Player:
    """Who plays a seat, chats, confirms scores, resigns, and is away now and then."""

    def __init__(
        self,
        seat: Seat,
        client: BuracoClient,
        guest: Guest,
        ledger: Ledger,
        notes: OnlineNotes,
        rng: random.Random,
    ) -> None:
        self.table_id = seat.table_id
        self._seat = NotedSeat(seat, ledger)
        self._client = client
        self._guest = guest
        self._ledger = ledger
        self._notes = notes
        self._rng = rng
        self._bot = make_bot(_BOT, random.Random(rng.random()))

    async def play(self) -> None:
        """Play to the end of the match."""
        while not await self._play_until_away():
            self._notes.absences += 1
            await asyncio.sleep(self._rng.uniform(*_AWAY))
            back = await self._client.join_table(self.table_id, player_token=self._guest.token)
            self._seat = NotedSeat(back, self._ledger)

    async def _play_until_away(self) -> bool:
        """Return True if the match is over, False when the player goes away."""
        self._ledger.streams += 1
        async with self._seat.watch(legal_moves=True, chat=True) as watch:
            async for update in watch:
                if isinstance(update, table_service_pb2.PlayTurn):
                    if self._rng.random() < _GOES_AWAY:
                        return False
                    await self._move(update)
                elif isinstance(update, table_service_pb2.TableUpdate):
                    if update.table.HasField("awaiting_confirmation"):
                        await self._confirm(update.table.awaiting_confirmation.deal_number)
                elif isinstance(update, table_pb2.Events):
                    for event in update.events:
                        if event.HasField("confirmation_awaited"):
                            await self._confirm(event.confirmation_awaited.deal_number)
        return True

    async def _move(self, turn: table_service_pb2.PlayTurn) -> None:
        if self._rng.random() < _CHATS:
            await self._send_chat()
        if turn.view.match.target_score and self._rng.random() < _RESIGNS:
            await self._call(self._seat.resign)
            return
        moves = [move_from_pb(move) for move in turn.moves]
        move, *_ = ask_for_moves(self._bot, view_from_pb(turn.view), moves, 0)
        try:
            await self._seat.submit([move_to_pb(move)], turn.revision)
        except RevisionStale:
            pass  # the clock was faster, or something else came in between
        except (RuleBroken, TableRefused) as refusal:
            if refusal.reason not in ("TABLE_FINISHED", "AWAITING_CONFIRMATION"):
                raise

    async def _send_chat(self) -> None:
        text = f"{self._seat.seat} {self._rng.random()}"
        sent = await self._call(lambda: self._seat.send_chat(text))
        if sent is not None:
            message = SentMessage(sent.number, self._seat.seat, text)
            self._notes.messages[self.table_id].append(message)

    async def _confirm(self, deal_number: int) -> None:
        if self._rng.random() < _CONFIRMS:
            await self._call(lambda: self._seat.confirm_score(deal_number))

    async def _call(self, call: Callable[[], Awaitable[_T]]) -> _T | None:
        """Return the answer, None if the table did not allow it any more. Raise LoadEnded once closing."""
        with self._ledger.under_way():
            try:
                return await call()
            except LimitReached as limit:
                if limit.metadata.get("limit") != "chat_rate":
                    raise
            except TableRefused as refusal:
                if refusal.reason not in ("SCORE_NOT_SHOWN", "TABLE_FINISHED", "TABLE_NOT_PLAYING", "ALREADY_OFFERED"):
                    raise
        return None
