from __future__ import annotations

import asyncio
import hashlib
import math
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from buraco.v1 import event_pb2, table_pb2
from buraco_bots.bot import BotFault
from buraco_bots.greedy import GreedyBot
from buraco_bots.match import MatchSetup, play_match
from buraco_bots.matches import bot_random
from buraco_bots.matches import play_match as play_in_process
from buraco_bots.player import play_seat
from buraco_bots.random_bot import RandomBot
from buraco_bots.report import RecordMismatch, replay
from buraco_bots.thinking import Tolerance
from buraco_client import BuracoClient, PlayUpdate
from buraco_rules import PRESETS, PRESETS_BY_ID, Discard, DrawStock, Move, Phase, RuleSet, View
from tests.service.table_server import serving

PATIENCE = 60.0
"""Seconds, on a slow machine, for what should take one."""


class Broken:
    """Fails at its third choice."""

    def __init__(self, random: object) -> None:
        self.left = 2

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        self.left -= 1
        if self.left < 0:
            raise LookupError("out of ideas")
        return moves[0]


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
async def test_same_as_in_process(client: BuracoClient, rules: RuleSet) -> None:
    """A match over gRPC is card for card the match that the arena plays with the same seed, in every rule set."""
    bots = (GreedyBot, RandomBot)
    report = await play_match(client, MatchSetup(("greedy", "random"), bots, rules.id, 0, "twice"))
    played = play_in_process(rules, bots, "twice", 0)
    assert [(deal.end, deal.moves) for deal in report.deals] == [(deal.deal, deal.moves) for deal in played.deals]
    assert (report.winner, report.totals) == (played.winner, played.scores)


async def test_four_seats_to_the_usual_target(client: BuracoClient) -> None:
    """A match of four goes over several deals to the target that is usual for the rule set."""
    names = ("greedy", "random", "greedy", "random")
    factories = (GreedyBot, RandomBot, GreedyBot, RandomBot)
    setup = MatchSetup(names, factories, "buraco-plus-classic", None, "four")
    began: list[table_pb2.Table] = []
    seen: list[PlayUpdate] = []
    report = await play_match(client, setup, began.append, seen.append)
    assert report.target == 2005
    assert len(report.deals) > 1
    assert report.winner == 0
    assert max(report.totals) >= 2005
    assert [seat.player_name for seat in began[0].seats] == ["greedy 0", "random 1", "greedy 2", "random 3"]
    ended = [event for update in seen if isinstance(update, table_pb2.Events) for event in update.events]
    assert sum(event.HasField("deal_ended") for event in ended) == len(report.deals)


async def test_old_connections(tmp_path: Path) -> None:
    """Connections and streams that are exchanged for new ones disturb no match, and a watch misses nothing."""
    bots = (GreedyBot, RandomBot)
    watches: list[asyncio.Task[list[int | None]]] = []
    async with (
        serving(tmp_path / "tables.db", max_connection_age=0.05) as replica,
        BuracoClient(str(replica.server.address)) as client,
    ):

        async def revisions(table_id: str) -> list[int | None]:
            async with client.watch(table_id) as watch:
                return [watch.revision async for _ in watch]

        setup = MatchSetup(("greedy", "random"), bots, "closed", 2000, "old")
        report = await play_match(client, setup, lambda table: watches.append(asyncio.create_task(revisions(table.id))))
        seen = await watches[0]
        newest = (await client.get_table(report.table_id)).revision
        method = partial(replica.metrics.method, service="buraco.v1.TableService")
        assert method("BIDI_STREAM", method="PlayTable").started > 10
        assert method("SERVER_STREAM", method="WatchTable").started > 5
    assert seen == list(range(seen[0] or 0, newest + 1))
    played = play_in_process(PRESETS_BY_ID["closed"], bots, "old", 2000)
    assert [(deal.end, deal.moves) for deal in report.deals] == [(deal.deal, deal.moves) for deal in played.deals]


async def test_broken_bot(client: BuracoClient) -> None:
    """A bot that fails ends the match with its own error, whatever becomes of the other players."""
    setup = MatchSetup(("broken", "random"), (Broken, RandomBot), "open", 0, "broken")
    with pytest.raises(BotFault, match="Broken failed: LookupError: out of ideas"):
        await play_match(client, setup)


class Watches(RandomBot):
    """Notes what it sees, and plays at random; shared by the bots of a class made for a test."""

    seen: list[event_pb2.Event]

    def observe(self, event: event_pb2.Event) -> None:
        self.seen.append(event)


async def test_what_a_bot_sees(client: BuracoClient) -> None:
    """At a table a bot that observes sees the events that it sees in process, but for those before it was seated."""
    at_table: type[Watches] = type("AtTable", (Watches,), {"seen": []})
    in_process: type[Watches] = type("InProcess", (Watches,), {"seen": []})
    await play_match(client, MatchSetup(("a", "b"), (at_table, RandomBot), "closed", 1000, "seen"))
    play_in_process(PRESETS_BY_ID["closed"], [in_process, RandomBot], "seen", 1000)
    kinds = {event.WhichOneof("event") for event in in_process.seen}
    assert kinds >= {"dealt", "drew", "discarded", "deal_ended"}
    seen = [event for event in at_table.seen if event.WhichOneof("event") in kinds]
    assert len(seen) > 100
    assert len(in_process.seen) - len(seen) <= 1
    for there, here in zip(seen, in_process.seen[-len(seen) :], strict=True):
        assert there.WhichOneof("event") == here.WhichOneof("event")
        if here.WhichOneof("event") not in ("dealt", "deal_ended"):  # these name the table's seeds
            assert there == here


class Overdoes(RandomBot):
    """Plans to discard more jokers than there are, but at draws alone."""

    def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
        return [moves[0], *[Discard(53)] * 9]


async def test_plan_that_is_refused(client: BuracoClient) -> None:
    """A plan whose later move is illegal is the bot's fault, of which a table has played nothing."""
    setup = MatchSetup(("overdoes", "random"), (Overdoes, RandomBot), "open", 0, "overdone")
    with pytest.raises(BotFault, match=r"Overdoes planned .*Discard") as caught:
        await play_match(client, setup)
    assert caught.value.kind == "illegal"
    tolerant = MatchSetup(
        ("overdoes", "random"), (Overdoes, RandomBot), "open", 0, "overdone", Tolerance(faults=math.inf)
    )
    report = await play_match(client, tolerant)
    assert report.moves > 20


async def test_plan_in_one_message(client: BuracoClient) -> None:
    """A plan is played as it was made, and the match is that of the arena with the same seed."""

    class Plans(RandomBot):
        def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
            if view.phase is Phase.DRAW:
                return [DrawStock(), Discard(view.hand[0])] if DrawStock() in moves else [moves[0]]
            return [moves[-1]]

    report = await play_match(client, MatchSetup(("plans", "random"), (Plans, RandomBot), "closed", 0, "whole"))
    played = play_in_process(PRESETS_BY_ID["closed"], [Plans, RandomBot], "whole", 0)
    assert [(deal.end, deal.moves) for deal in report.deals] == [(deal.deal, deal.moves) for deal in played.deals]


async def test_slow_bot(client: BuracoClient) -> None:
    """A bot that takes long delays no other: they play while it thinks."""
    elsewhere = threading.Event()

    class Absorbed:
        def __init__(self, random: object) -> None:
            pass

        def choose(self, view: View, moves: Sequence[Move]) -> Move:
            assert elsewhere.wait(PATIENCE), "nobody else could play"
            return moves[-1]

    slow = MatchSetup(("absorbed", "absorbed"), (Absorbed, Absorbed), "buraco-plus-classic", 0, "slow")
    quick = MatchSetup(("random", "random"), (RandomBot, RandomBot), "buraco-plus-classic", 0, "quick")
    playing = asyncio.create_task(play_match(client, slow))
    try:
        assert (await play_match(client, quick)).deals
    finally:
        elsewhere.set()
    assert (await playing).deals


async def test_player_left(client: BuracoClient) -> None:
    """A player whose opponent leaves in the middle goes on with the one who takes the seat over."""
    table = await client.create_table("buraco-plus-classic", 2, target_score=0, seed=b"l" * 32)
    first, second = [await client.join_table(table.id, name) for name in ("stays", "leaves")]
    playing = asyncio.create_task(play_seat(first, GreedyBot(bot_random("l", 0))))
    other = asyncio.create_task(play_seat(second, GreedyBot(bot_random("l", 1))))
    async with client.watch(table.id) as watch:
        async for _ in watch:
            if (watch.revision or 0) > 20:
                break
    await second.leave()
    await asyncio.wait([other])
    assert other.exception() is not None
    third = await client.join_table(table.id, "takes over")
    assert third.seat == second.seat
    moves = await asyncio.gather(playing, play_seat(third, GreedyBot(bot_random("l", 2))))
    assert all(moves)
    over = await client.get_table(table.id)
    assert over.state == table_pb2.TABLE_STATE_FINISHED


async def test_records_are_checked(client: BuracoClient) -> None:
    """A record that does not play to the result it states is found out."""
    setup = MatchSetup(("random", "random"), (RandomBot, RandomBot), "closed", 0, "checked")
    report = await play_match(client, setup)
    (record,) = [record async for record in client.get_record(report.table_id)]
    assert replay(record).end == report.deals[0].end
    assert record.commitment == hashlib.sha256(record.server_seed).digest()

    def forged(change: str) -> table_pb2.DealRecord:
        copy = table_pb2.DealRecord.FromString(record.SerializeToString())
        if change == "score":
            copy.score.sides[0].total += 5
        elif change == "match score":
            copy.score.sides[1].match_total += 5
        elif change == "seed":
            copy.seed = b"s" * 32
        elif change == "server's seed":
            copy.server_seed = b"s" * 32
        elif change == "entropy":
            copy.entropies[1] = b"mine"
        elif change == "move":
            copy.moves[0].seat ^= 1
        elif change == "end":
            del copy.moves[-1]
        return copy

    for change, message in {
        "score": "points: the deal counts",
        "match score": "but plays to",
        "seed": "seed: .* mixed with",
        "server's seed": "committed",
        "entropy": "seed: .* mixed with",
        "move": "seat 0 has the turn, not 1",
        "end": "the deal is not over with its last move",
    }.items():
        with pytest.raises(RecordMismatch, match=message):
            replay(forged(change))
