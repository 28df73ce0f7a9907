"""What is hidden at a table with everything that people play with: by invitation, for a stake, with clock and chat."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from prometheus_client import generate_latest

from buraco.v1 import deal_pb2, table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import legal_moves
from buraco_service.access.api_keys import ApiKey
from tests.service.announcing import Announcing
from tests.service.chatting import listed, send
from tests.service.credits import Owner, get_account, grant, list_entries, owner
from tests.service.endings import resign
from tests.service.knowledge import Secrets, Watched, contained
from tests.service.refusals import refused
from tests.service.scripts import short_rules
from tests.service.table_server import (
    NAMES,
    PATIENCE,
    RULE_SET,
    SEED,
    Metadata,
    Player,
    Replica,
    Updates,
    bearing,
    create,
    get,
    new_id,
    public_view,
    records,
    serving,
    watch,
)
from tests.service.tables.test_hidden_cards import assert_nothing_in_logs
from tests.service.tables.test_timing import CONFIRMATION, TOLERANCE, TURN, Clock, deal_of, options, seconds

STAKE: Final = 100
GRANT: Final = 747_474_747_474
"""So large a number of credits is nowhere by chance."""
KEY_SECRET: Final = "a secret of the operator"
KEY: Final[Metadata] = (("x-api-key", KEY_SECRET),)
LEVEL: Final = "greedy"
WANTED: Final[dict[str, Any]] = {"views": True, "legal_moves": True, "chat": True, "presence": True}
SPECTATOR: Final = "spectator"
SUBSTITUTE: Final = "substitute"


class Receiver(NamedTuple):
    """A stream, whose it is, and the seat of that receiver."""

    updates: Updates
    name: str
    seat: int | None


class Evening:
    """A table where all that anybody is sent is looked at."""

    def __init__(self, replica: Replica, clock: Clock, delay: float) -> None:
        self.replica = replica
        self.clock = clock
        self.delay = delay
        self.rng = random.Random(7)
        self.secrets = Secrets()
        self.watched = Watched()
        self.owners: list[Owner] = []
        self.players: list[Player] = []
        self.receivers: list[Receiver] = []
        self.times: dict[int, float] = {}
        """By revision, when it was made."""
        self.table_id = ""

    # ---- who comes ----

    async def seat_all(self) -> None:
        """Four guests with credits take the seats of a table that one of them opens, and open their streams."""
        self.secrets.keep(KEY_SECRET)
        for number, name in enumerate((*NAMES, "Eve")):
            guest = await owner(self.replica, name)
            await grant(self.replica, guest.id, GRANT + 1111 * number, KEY)
            self.secrets.keep(guest.token)
            self.owners.append(guest)
        chosen = options(
            access=table_pb2.TABLE_ACCESS_INVITATION,
            turn_time=TURN,
            confirmation_time=CONFIRMATION,
            absent_after_turns=1,
            absence=table_pb2.ABSENCE_POLICY_BOT,
            substitute_level=LEVEL,
        )
        if self.delay:
            chosen.spectator_delay.CopyFrom(seconds(self.delay))
        request = pb.CreateTableRequest(
            rule_set=rule_set_to_pb(short_rules(32)),
            seats=4,
            target_score=10_000,
            seed=SEED,
            stake=STAKE,
            options=chosen,
            request_id=new_id(),
        )
        created = await self.replica.tables.CreateTable(request, metadata=KEY, timeout=PATIENCE)
        self.table_id, code = created.table.id, created.invitation_code
        # Nobody is sent it any more; those who have it got it from a player.
        self.secrets.keep(code)
        for guest in self.owners:
            for given, reason in (("", "INVITATION_REQUIRED"), (code[:-1], "INVITATION_WRONG")):
                refusal = await refused(guest.join(self.table_id, invitation_code=given))
                assert refusal.short == ("PERMISSION_DENIED", reason)
                self.secrets.check(refusal, "")
        for guest in self.owners[:4]:
            self.players.append(await guest.join(self.table_id, invitation_code=code))
        self.secrets.check(await refused(self.owners[4].join(self.table_id, invitation_code=code)), "Eve")
        await self.note()
        table = self.watched.tables[max(self.watched.tables)]
        for player, guest, seat, name in zip(self.players, self.owners, table.seats, NAMES, strict=False):
            assert seat.stake is not None
            balance, held, available = await guest.account()
            assert held == STAKE
            self.secrets.keep(str(balance), name)
            self.secrets.keep(str(available), name)
            for secret in (player.token, seat.token_id, seat.stake.key):
                self.secrets.keep(secret)
        for player, name in zip(self.players, NAMES, strict=True):
            await self.open(player, name)
        if not self.delay:
            # Later ones come by the true time; what they may see is looked at by calls.
            spectator = watch(self.replica, self.table_id, views=True, chat=True, presence=True)
            self.receivers.append(Receiver(spectator, SPECTATOR, None))
        await self.look(max(self.times))

    async def open(self, player: Player, name: str) -> list[Receiver]:
        """Open both kinds of stream for a player, with everything that can be asked for."""
        opened = [
            Receiver(await player.play(**WANTED), name, player.seat),
            Receiver(player.watch(**WANTED), name, player.seat),
        ]
        self.receivers += opened
        return opened

    # ---- what is sent ----

    async def note(self) -> int:
        """Take down what is stored, and return the revision."""
        table = await self.replica.table(self.table_id)
        self.watched.note(table)
        self.times.setdefault(table.revision, self.clock.now)
        return table.revision

    async def look(self, revision: int) -> None:
        """Read all streams up to a revision."""
        for updates, name, seat in self.receivers:
            for update in await updates.until(revision):
                self.watched.check_update(update, seat)
                self.secrets.check(update.message, name)

    async def after_change(self) -> None:
        """Look at all that the change just made sends and shows."""
        await self.look(await self.note())

    async def drain(self, receiver: Receiver) -> None:
        """Read a stream to its end, which may be a refusal."""
        for update in await receiver.updates.rest():
            self.watched.check_update(update, receiver.seat)
            self.secrets.check(update.message, receiver.name)

    # ---- what can be asked ----

    async def ask_all(self) -> None:
        """Everything that can be asked without changing the table, by everybody."""
        for player, name in zip(self.players, NAMES, strict=True):
            await self.ask(player, name)
        await self.ask_as_spectator()
        for guest, name in zip(self.owners, (*NAMES, "Eve"), strict=True):
            await self.ask_for_accounts(guest, name)
        await self.list_tables()

    async def ask(self, player: Player, name: str) -> None:
        """What a seat can ask for."""
        look = await player.look()
        self.watched.check_view(look.view, player.seat, look.revision)
        legal = await player.legal()
        self.watched.check_moves(legal.moves, player.seat, legal.revision)
        hand = look.view.hand
        answers: list[object] = [look, legal]
        if len(hand) >= 3 and look.view.phase != deal_pb2.PHASE_OVER:
            arranged = await player.arrange(hand[:3])
            self.watched.check_arrangements(arranged, player.seat, hand[:3], None)
            answers.append(arranged)
        answers.append(await listed(self.replica, self.table_id, player.metadata, page_size=200))
        request = pb.GetRecordRequest(table_id=self.table_id)
        answers.append(await self.replica.tables.GetRecord(request, metadata=player.metadata, timeout=PATIENCE))
        for answer in answers:
            self.secrets.check(answer, name)

    async def ask_as_spectator(self) -> None:
        """What needs no seat: the past, where spectators are later."""
        look = await public_view(self.replica, self.table_id)
        assert self.times.get(look.revision, 0.0) <= self.clock.now - self.delay
        if look.HasField("view"):
            self.watched.check_view(look.view, None, look.revision)
        chat = await listed(self.replica, self.table_id, page_size=200)
        for message in chat.messages:
            assert message.sent_at.ToNanoseconds() / 1e9 <= self.clock.now - self.delay
        opening = watch(self.replica, self.table_id, views=True, chat=True, presence=True)
        state = await opening.expect("state")
        assert state.table.revision == look.revision
        opening.cancel()
        record = await records(self.replica, self.table_id)
        assert not record.HasField("cut_off")
        for answer in (look, chat, state, record):
            self.secrets.check(answer, SPECTATOR)
        table = await get(self.replica, self.table_id)
        self.watched.check_table(table)
        self.secrets.check(table, SPECTATOR)

    async def ask_for_accounts(self, guest: Owner, name: str) -> None:
        """Accounts: everybody has the own, and nobody that of another."""
        for answer in (
            await get_account(self.replica, metadata=bearing(guest.token)),
            await list_entries(self.replica, metadata=bearing(guest.token)),
        ):
            assert not list(contained(answer))
            self.secrets.check(answer, name)
        other = self.owners[(self.owners.index(guest) + 1) % len(self.owners)]
        asking = get_account(self.replica, other.id, metadata=bearing(guest.token))
        self.secrets.check(await refused(asking), name)

    async def list_tables(self) -> None:
        """Lists with every filter show tables as everybody may see them."""
        fields: list[dict[str, Any]] = [
            {},
            {"state": table_pb2.TABLE_STATE_PLAYING},
            {"rule_set_id": "short-32"},
            {"free_seats": 1},
            {"access": table_pb2.TABLE_ACCESS_INVITATION},
            {"min_stake": STAKE},
            {"max_stake": STAKE},
            {"mine": True},
            {"updated_after": Timestamp(seconds=1)},
            {"bot_level": LEVEL},
        ]
        used = {name for field in fields for name in field} | {"page_size", "page_token"}
        assert used == {field.name for field in pb.ListTablesRequest.DESCRIPTOR.fields}, "or a filter is not looked at"
        shown = 0
        for chosen in fields:
            tokens = [guest.token for guest in self.owners] if "mine" in chosen else [""]
            for token in tokens:
                metadata = bearing(token) if token else ()
                request = pb.ListTablesRequest(**chosen)
                page = await self.replica.tables.ListTables(request, metadata=metadata, timeout=PATIENCE)
                self.secrets.check(page, SPECTATOR)
                for table in page.tables:
                    shown += table.id == self.table_id
                    if table.id == self.table_id:
                        self.watched.check_table(table)
                    else:
                        assert [(kind, path) for kind, path, _ in contained(table)] == [("bytes", "commitment")]
        assert shown >= 10

    # ---- what happens ----

    async def play(self, moves: int) -> None:
        """Random moves of the players, as long as the deal goes on."""
        for _ in range(moves):
            deal = deal_of(await self.replica.table(self.table_id))
            if deal.ending:
                return
            player, name = self.players[deal.seat_to_move], NAMES[deal.seat_to_move]
            answer = await player.submit(self.rng.choice(legal_moves(deal)))
            revision = await self.note()
            self.watched.check_view(answer.view, player.seat, revision)
            self.watched.check_events(answer.events, player.seat, revision)
            self.secrets.check(answer, name)
            await self.look(revision)

    async def play_up_to(self, seat: int) -> None:
        """Random moves until it is a seat's turn."""
        while deal_of(await self.replica.table(self.table_id)).seat_to_move != seat:
            await self.play(1)

    async def send_messages(self, number: int) -> None:
        """One to the table, and one from each of two partners to the other alone."""
        ada, _, cy, _ = self.players
        partners = (NAMES[0], NAMES[2])
        everybody = (*NAMES, SUBSTITUTE, *(() if self.delay else (SPECTATOR,)))
        for player, audience, readers in (
            (ada, pb.CHAT_AUDIENCE_TABLE, everybody),
            (ada, pb.CHAT_AUDIENCE_PARTNER, partners),
            (cy, pb.CHAT_AUDIENCE_PARTNER, partners),
        ):
            text = f"words {number} of {player.seat} to {audience}"
            self.secrets.keep(text, *readers)
            self.secrets.check(await send(player, text, audience=audience), NAMES[player.seat])

    async def substitute(self) -> None:
        """A bot plays for a player who is absent, sees that hand and no message for the player, and then nothing."""
        await self.play_up_to(0)
        self.clock.now += TURN + TOLERANCE + 0.1
        assert await self.replica.deadlines.look() == 1
        await self.after_change()
        request = pb.JoinTableRequest(table_id=self.table_id, bot_level=LEVEL, request_id=new_id())
        joined = await self.replica.tables.JoinTable(request, metadata=KEY, timeout=PATIENCE)
        assert joined.seat == 0
        bot = Player(self.replica, self.table_id, joined.seat, joined.token)
        self.secrets.keep(joined.token)
        await self.after_change()
        self.watched.check_table(joined.table)
        substitute_id = (await self.replica.table(self.table_id)).seats[0].substitute_token_id
        self.secrets.keep(substitute_id)
        opened = await self.open(bot, SUBSTITUTE)
        for receiver in opened:
            state = await receiver.updates.expect("state")
            self.watched.check_view(state.view, 0, state.table.revision)
            self.secrets.check(state, SUBSTITUTE)
        await self.send_messages(2)
        await self.ask(bot, SUBSTITUTE)
        self.secrets.check(await refused(send(bot, "a bot speaks")), SUBSTITUTE)
        await self.play_up_to(0)
        await self.ask(bot, SUBSTITUTE)
        await self.ask_all()
        for receiver in opened:
            self.receivers.remove(receiver)
        back = await self.owners[0].join(self.table_id)
        assert back.seat == 0
        self.players[0] = back
        self.secrets.keep(back.token)
        await self.after_change()
        for receiver in opened:
            self.secrets.check(await refused(self.drain(receiver)), SUBSTITUTE)
        metadata = bot.metadata
        asked = [
            *(bot.look(), bot.legal(), bot.undo(), bot.leave(), bot.submit(*legal_moves(self.deal())[:1])),
            *(listed(self.replica, self.table_id, metadata), bot.watch(**WANTED).next(), send(bot, "still here")),
        ]
        for call in asked:
            refusal = await refused(call)
            assert refusal.short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
            self.secrets.check(refusal, SUBSTITUTE)

    def deal(self) -> Any:
        """The deal as it was last noted."""
        return deal_of(self.watched.tables[max(self.watched.tables)])

    async def finish_deal(self) -> None:
        """Play the deal to its end; its score is shown, and confirmed by all."""
        while not deal_of(await self.replica.table(self.table_id)).ending:
            await self.play(1)
        await self.ask_all()
        for player in self.players:
            answer = await player.confirm(self.deal().match.deal_number)
            await self.after_change()
            self.watched.check_table(answer.table)
            self.secrets.check(answer, NAMES[player.seat])

    async def end(self) -> None:
        """One side resigns, the stakes are settled, and the players meet again."""
        for player in (self.players[0], self.players[2]):
            table = await resign(player)
            revision = await self.note()
            self.watched.check_table(table)
            if table.state != table_pb2.TABLE_STATE_FINISHED:
                await self.look(revision)
        for receiver in self.receivers:
            await self.drain(receiver)
        self.clock.now += TOLERANCE + 0.1
        assert await self.replica.deadlines.look() == 1
        assert (await get(self.replica, self.table_id)).stakes_settled
        request = pb.RematchRequest(table_id=self.table_id, request_id=new_id())
        again = await self.replica.tables.Rematch(request, metadata=self.players[1].metadata, timeout=PATIENCE)
        self.secrets.check(again, NAMES[1])
        assert [(kind, path) for kind, path, _ in contained(again)] == [("bytes", "table.commitment")]
        self.secrets.keep(again.token)


async def look_at_other_tables(evening: Evening) -> None:
    """QuickJoin, at first at a table of its own and then at another's, shows nothing of either."""
    states = []
    fay = await owner(evening.replica, "Fay")
    for guest, name, stake in (
        *((evening.owners[4], "Eve", 0), (fay, "Fay", 0)),
        *((evening.owners[4], "Eve", STAKE), (fay, "Fay", STAKE)),
    ):
        request = pb.QuickJoinRequest(rule_set_id=RULE_SET, seats=2, stake=stake, request_id=new_id())
        joined = await evening.replica.tables.QuickJoin(
            request, metadata=(*bearing(guest.token), *KEY), timeout=PATIENCE
        )
        evening.secrets.check(joined, name)
        assert [(kind, path) for kind, path, _ in contained(joined)] == [("bytes", "table.commitment")]
        evening.secrets.keep(joined.token)
        states.append(joined.table.state)
    assert states == 2 * [table_pb2.TABLE_STATE_WAITING, table_pb2.TABLE_STATE_PLAYING]
    await create(evening.replica, rule_set_id="burraco", stake=STAKE, metadata=KEY)


@pytest.mark.parametrize("delay", [0.0, 60.0], ids=["spectators at once", "spectators later"])
async def test_nothing_hidden_is_told_at_an_online_table(tmp_path: Path, log_stream: Announcing, delay: float) -> None:
    """Whatever anybody is sent, shown or refused, no card, token, code, message or credit of others is in it.

    Nor is any of them in the logs or the metrics.
    """
    clock = Clock()
    async with serving(
        tmp_path / "tables.db",
        clock=clock,
        log_format="json",
        credits=True,
        clock_tolerance=TOLERANCE,
        api_keys=(ApiKey.of("operator", KEY_SECRET.encode()),),
    ) as replica:
        evening = Evening(replica, clock, delay)
        await evening.seat_all()
        await evening.send_messages(1)
        await look_at_other_tables(evening)
        await evening.play(6)
        await evening.ask_all()
        await evening.substitute()
        await evening.finish_deal()
        await evening.play(10)
        await evening.ask_all()
        await evening.end()
        assert evening.watched.checked > 500
        assert evening.secrets.checked > 500
        secrets = list(evening.secrets.known)
        assert len(secrets) > 25
        assert_nothing_in_logs(log_stream, secrets)
        metrics = generate_latest(replica.metrics.registry).decode()
        assert "buraco_chat_messages_total" in metrics
        for secret in (*secrets, evening.table_id, *[guest.id for guest in evening.owners], *NAMES):
            assert secret not in metrics
