"""The whole story of an online table: two guests, two bots and a spectator, while a replica is killed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from google.protobuf.duration_pb2 import Duration

from buraco.v1 import event_pb2, table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_bots.bot import ask_for_moves, make_bot
from buraco_bots.greedy import GreedyBot
from buraco_bots.report import replay
from buraco_client import BuracoClient, NotInvited, RevisionStale, Seat, TableRefused, Watch
from buraco_codec.moves import move_from_pb, move_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.views import view_from_pb
from buraco_rules import LayMeld
from buraco_service.accounts.entries import HOUSE
from tests.bots.test_fleet import BURACO
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import PATIENCE
from tests.faults.test_due import Replicas
from tests.faults.test_moving import target_of
from tests.service.scripts import short_rules

INITIAL, GIFT, STAKE = 1000, 500, 300
TURN, CONFIRMATION = 60, 60
LEVEL: Final = "greedy"
SEATS, BOT_SEATS = 4, (2, 3)
RULES = short_rules(24)
OPTIONS = table_pb2.TableOptions(
    spectator_delay=Duration(seconds=1),
    turn_time=Duration(seconds=TURN),
    confirmation_time=Duration(seconds=CONFIRMATION),
    absence=table_pb2.ABSENCE_POLICY_BOT,
    absent_after_turns=1,
    substitute_level=LEVEL,
    bots=[table_pb2.BotSeat(seat=seat, level=LEVEL) for seat in BOT_SEATS],
)
HELLO, PRAISE, SECRET = "hello at the table", "WELL_PLAYED", "for my partner alone"


class Onlooker:
    """Somebody who follows a table, and keeps all that came."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.history: list[tuple[int, list[str]]] = []
        """Every later revision, and the kinds of its events."""
        self.messages: list[tuple[int, str]] = []
        """The messages that came, by number."""
        self._changed = asyncio.Condition()

    async def follow(self, watch: Watch) -> None:
        """Note all that comes, to the end of the match."""
        async with watch:
            async for update in watch:
                await self.notice(update)

    async def notice(self, update: Any) -> None:
        """Note an update."""
        if isinstance(update, pb.TableUpdate):
            assert self.start is None, "or something was missed"
            self.start = update.table.revision
        elif isinstance(update, table_pb2.Events):
            self.history.append((update.revision, [event.WhichOneof("event") or "" for event in update.events]))
        elif isinstance(update, pb.ChatMessage):
            self.messages.append((update.number, update.text or update.phrase))
        async with self._changed:
            self._changed.notify_all()

    def count(self, kind: str) -> int:
        """How many events of a kind came."""
        return sum([kinds.count(kind) for _, kinds in self.history])

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so after an update."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(is_so)


class Guest(Onlooker):
    """A player, who plays by calls, takes the first meld back, and confirms scores."""

    def __init__(self, seat: Seat) -> None:
        super().__init__()
        self.seat = seat
        self.acknowledged: list[int] = []
        """The revisions of the moves and undos that were answered."""
        self.undone = False
        self.leaving = False
        """Whether the player goes away as soon as it is to move."""
        self.resigning = False
        """Whether the player resigns as soon as it is to move."""
        self.came_back = False
        self.playing: asyncio.Task[None]
        self._bot = make_bot(GreedyBot, Random(seat.seat))

    def watch(self) -> Watch:
        """What is new at the table, with the moves and messages."""
        last = self.history[-1][0] if self.history else self.start
        after = max([number for number, _ in self.messages], default=0)
        return self.seat.watch(after_revision=last, legal_moves=True, chat=True, after_message=after)

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        """Play, from now on or again."""
        self.playing = tasks.create_task(self.play())

    async def play(self) -> None:
        """Play to the end of the match, or until it is time to go away."""
        async with self.watch() as watch:
            async for update in watch:
                await self.notice(update)
                if isinstance(update, pb.PlayTurn):
                    if self.leaving:
                        return
                    if self.resigning:
                        await self.seat.resign(timeout=PATIENCE)
                        continue
                    # What came in between makes another turn come.
                    with contextlib.suppress(RevisionStale):
                        await self._move(update)
                elif isinstance(update, table_pb2.Events):
                    for event in update.events:
                        if event.HasField("confirmation_awaited"):
                            await self._confirm(event.confirmation_awaited.deal_number)

    async def _confirm(self, deal_number: int) -> None:
        try:
            await self.seat.confirm_score(deal_number, timeout=PATIENCE)
        except TableRefused as refusal:
            # The score was shown, and the match went on, while the player was away.
            if not self.came_back or refusal.reason != "SCORE_NOT_SHOWN":
                raise

    async def _move(self, turn: pb.PlayTurn) -> None:
        moves = [move_from_pb(move) for move in turn.moves]
        melds = [move for move in moves if isinstance(move, LayMeld)]
        if melds and not self.undone:
            laid = await self.seat.submit([move_to_pb(melds[0])], turn.revision, timeout=PATIENCE)
            undone = await self.seat.undo(laid.revision, timeout=PATIENCE)
            assert list(undone.view.hand) == list(turn.view.hand)
            self.undone = True
            self.acknowledged += [laid.revision, undone.revision]
            return
        move, *_ = ask_for_moves(self._bot, view_from_pb(turn.view), moves, 0)
        answer = await self.seat.submit([move_to_pb(move)], turn.revision, timeout=PATIENCE)
        self.acknowledged.append(answer.revision)


class Party:
    """Who is at a table: two guests and a spectator."""

    def __init__(self, client: BuracoClient, seats: list[Seat]) -> None:
        self.table_id = seats[0].table_id
        self.client = client
        self.ada, self.bo = self.guests = [Guest(seat) for seat in seats]
        self.spectator = Onlooker()

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        """Let all follow the table, and the guests play."""
        tasks.create_task(self.spectator.follow(self.client.watch(self.table_id, chat=True)))
        for guest in self.guests:
            guest.begin(tasks)

    async def check(self) -> None:
        """All saw the same, each revision once, with all that was acknowledged; and the deals can be replayed."""
        last, kinds = self.ada.history[-1]
        assert "match_ended" in kinds
        for other in (self.bo, self.spectator):
            first = max(self.ada.start or 0, other.start or 0)
            assert since(first, self.ada) == since(first, other)
        for onlooker in (*self.guests, self.spectator):
            assert onlooker.start is not None
            assert [revision for revision, _ in onlooker.history] == list(range(onlooker.start + 1, last + 1))
        made = [revision for guest in self.guests for revision in guest.acknowledged]
        assert len(made) == len(set(made))
        assert set(made) <= {revision for revision, _ in self.ada.history}
        records = [record async for record in self.client.get_record(self.table_id)]
        assert [record.deal_number for record in records] == list(range(1, 1 + self.ada.count("deal_ended")))
        for record in records:
            assert replay(record).end.ending


def since(revision: int, onlooker: Onlooker) -> list[tuple[int, list[str]]]:
    """What somebody saw after a revision."""
    return [seen for seen in onlooker.history if seen[0] > revision]


@contextlib.asynccontextmanager
async def fleet(target: str, folder: Path) -> AsyncIterator[None]:
    """`buraco fleet`, which leaves the seats of players to people. It ends in good order."""
    options = f"--server {target} --bots {LEVEL} --courtesy 3600 --search-interval 0.1 --grace 1".split()
    with (folder / "fleet.log").open("w") as log:
        process = await asyncio.create_subprocess_exec(BURACO, "fleet", *options, cwd=folder, stdout=log, stderr=log)
        try:
            yield
            process.terminate()
            assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def invited(client: BuracoClient, tokens: list[str]) -> tuple[list[Seat], str]:
    """The seats of the guests at a table that one of them opens, and the code by which the other comes in."""
    table, code = await client.create_invitation_table(
        rule_set_to_pb(RULES), SEATS, target_score=10_000, stake=STAKE, options=OPTIONS, player_token=tokens[0]
    )
    for wrong, reason in (("", "INVITATION_REQUIRED"), ("WRONG", "INVITATION_WRONG")):
        with pytest.raises(NotInvited, match=reason):
            await client.join_table(table.id, player_token=tokens[1], invitation_code=wrong)
    return [await client.join_table(table.id, player_token=token, invitation_code=code) for token in tokens], code


async def settled(client: BuracoClient, table_id: str) -> table_pb2.Table:
    """The table once its stakes are in the accounts."""
    async with asyncio.timeout(PATIENCE):
        while not (table := await client.get_table(table_id)).stakes_settled:  # noqa: ASYNC110 - it is another process that does it
            await asyncio.sleep(0.1)
    return table


async def play_first_match(party: Party, replicas: Replicas) -> None:
    """Chat, undo, a confirmed score, a kill, an absence and a return; then one side resigns."""
    ada, bo = party.guests
    async with asyncio.timeout(4 * PATIENCE), asyncio.TaskGroup() as tasks:
        party.begin(tasks)
        await ada.seat.send_chat(HELLO, timeout=PATIENCE)
        await ada.until(lambda: ada.count("dealt") >= 2 and ada.undone)
        victim = replicas.all[0]
        await victim.kill()
        await bo.seat.send_chat(phrase=PRAISE, timeout=PATIENCE)
        await ada.seat.send_chat(SECRET, to_partner=True, timeout=PATIENCE)
        deals = ada.count("dealt")
        await victim.start()
        await ada.until(lambda: ada.count("dealt") > deals)
        await stay_away(bo, ada, replicas, tasks)
        await ada.until(lambda: bo.undone and bo.count("seat_returned") == 1)
        bo.resigning = True


async def stay_away(away: Guest, other: Guest, replicas: Replicas, tasks: asyncio.TaskGroup) -> None:
    """A player goes away when it is to move, and comes back once a bot has played a turn for it."""
    away.leaving = True
    await away.playing
    replicas.jump(TURN + 1.0)
    await other.until(lambda: other.count("substitute_joined") == 1)
    joined = next(number for number, (_, kinds) in enumerate(other.history) if "substitute_joined" in kinds)
    await other.until(lambda: sum(["discarded" in kinds for _, kinds in other.history[joined:]]) >= SEATS)
    away.leaving, away.came_back = False, True
    away.begin(tasks)


async def read_chat(party: Party) -> None:
    """Each has read what was for them, on the stream and in the list, under the same numbers."""
    every = [(1, HELLO), (2, PRAISE), (3, SECRET)]
    listings: list[tuple[Onlooker, Any, list[tuple[int, str]]]] = [
        (party.ada, party.ada.seat.list_chat(), every),
        (party.bo, party.bo.seat.list_chat(), every[:2]),
        (party.spectator, party.client.list_chat(party.table_id), every[:2]),
    ]
    for onlooker, listing, expected in listings:
        assert onlooker.messages == expected
        assert [(message.number, message.text or message.phrase) async for message in listing] == expected


@pytest.mark.parametrize("kind", ["sqlite", "redis", "redis_cluster", "postgres"])
async def test_story_of_a_table(
    kind: str, request: pytest.FixtureRequest, replica: MakeReplica, tmp_path: Path
) -> None:
    """Two guests and two bots play for a stake at a table by invitation, with all that can happen, and a rematch.

    A replica is killed on the way. All see the same, nothing acknowledged is missing, each reads the messages meant for
    them, the credits are where they belong, and no log has a secret. About eight seconds a store, and each store finds
    faults of its own, so that all are in `make test`.
    """
    store_url: str = request.getfixturevalue(f"{kind}_url")
    replicas = Replicas(store_url, replica, tmp_path, BURACO_CREDITS="true", BURACO_INITIAL_CREDITS=str(INITIAL))
    await replicas.start()
    target = target_of(replicas.all)
    async with BuracoClient(target, timeout=PATIENCE) as client, fleet(target, tmp_path):
        guests = [await client.sign_in_as_guest(name) for name in ("Ada", "Bo")]
        tokens = [guest.player_token for guest in guests]
        await client.grant_credits(guests[0].player_id, GIFT)
        seats, code = await invited(client, tokens)
        first = Party(client, seats)
        await play_first_match(first, replicas)
        over = await settled(client, first.table_id)
        assert over.result.how == event_pb2.MATCH_END_RESIGNED
        assert list(over.result.payouts) == [STAKE, -STAKE, STAKE, -STAKE]
        for kind_of_event in ("undone", "turn_timed_out", "substitute_joined", "seat_returned", "score_confirmed"):
            assert first.ada.count(kind_of_event) > 0, kind_of_event
        await first.check()
        await read_chat(first)

        again = Party(client, [await guest.seat.rematch(timeout=PATIENCE) for guest in first.guests])
        async with asyncio.timeout(2 * PATIENCE), asyncio.TaskGroup() as tasks:
            again.begin(tasks)
            await again.ada.until(lambda: again.ada.count("dealt") == 2)
            again.bo.resigning = True
        await settled(client, again.table_id)
        await again.check()
        assert (await client.get_table(first.table_id)).rematch_table_id == again.table_id

        accounts = [await client.get_account(player_token=token) for token in tokens]
        accounts.append(await client.get_account(HOUSE))
        assert [account.balance for account in accounts] == [INITIAL + GIFT + 2 * STAKE, INITIAL - 2 * STAKE, 0]
        assert [account.held for account in accounts] == [0, 0, 0]
        assert sum([account.balance for account in accounts]) == 2 * INITIAL + GIFT
    secrets = [*tokens, code, HELLO, SECRET, *[guest.seat.token for party in (first, again) for guest in party.guests]]
    for one in replicas.all:
        assert not [line for line in one.log_lines() if line["level"] == "error"]
        assert not [secret for secret in secrets if secret in one.log_text()]
