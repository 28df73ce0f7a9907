from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from buraco.v1 import table_pb2
from buraco_codec.moves import move_from_pb
from buraco_codec.rule_sets import rule_set_from_pb, rule_set_to_pb
from buraco_codec.scores import score_to_pb
from buraco_rules import (
    PRESETS,
    Deal,
    LayMeld,
    LayOff,
    Match,
    RuleSet,
    apply,
    apply_for,
    deal_match,
    legal_moves,
    next_match,
    score_deal,
    undo,
)
from buraco_service.tables import records as records_module
from tests.service.scripts import after_moves, dealt, plain_turns, played, short_rules, submitted, turns
from tests.service.table_server import Player, Replica, create, get, join, records, serving, start, watch


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


def replayed(record: table_pb2.DealRecord) -> Deal:
    """The deal of a record, played again with nothing but the rules."""
    rules = rule_set_from_pb(record.rule_set)
    first, second = record.match.scores or (0, 0)
    match = Match(record.match.deal_number, (first, second), record.match.starter, record.match.target_score)
    drawn = match._replace(starter=-1) if record.deal_number == 1 else match
    deal, event = deal_match(rules, record.seats, record.seed, drawn)
    assert deal.match == match
    assert event.deal_number == record.deal_number
    for move in record.moves:
        deal, _ = apply_for(deal, move.seat, move_from_pb(move.move))
    return deal


def assert_replays(record: table_pb2.DealRecord) -> Deal:
    """The record's seeds fit together, and its moves lead to its score. Returns the deal they lead to."""
    assert record.commitment == sha256(record.server_seed).digest()
    mixed = record.server_seed + b"".join([len(entropy).to_bytes(4, "big") + entropy for entropy in record.entropies])
    assert record.seed == (sha256(mixed).digest() if any(record.entropies) else record.server_seed)
    deal = replayed(record)
    assert record.ending == int(deal.ending) != 0
    assert record.score == score_to_pb(score_deal(deal))
    return deal


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
async def test_replay(replica: Replica, rules: RuleSet, seats: int) -> None:
    """A finished deal of every rule set replays to the same end from its record."""
    steps = list(played(dealt(rules, seats), random.Random(seats)))
    players = await start(replica, rule_set_id=rules.id, seats=seats)
    await submitted(players, turns(steps))
    (record,) = (await records(replica, players[0].table_id)).deals
    assert assert_replays(record) == steps[-1].after
    assert record.deal_number == 1
    assert record.rule_set == rule_set_to_pb(rules)
    assert record.seats == seats
    assert list(record.entropies) == [b""] * seats
    assert [(move.seat, move_from_pb(move.move)) for move in record.moves] == [(step.seat, step.move) for step in steps]


async def random_play(players: Sequence[Player], deal: Deal, rng: random.Random) -> tuple[Deal, int]:
    """Random moves one by one, with plays taken back in between, to the end; returns it and the number of undos."""
    undone = 0
    while not deal.ending:
        seat = deal.seat_to_move
        if deal.turn.undo and rng.random() < 0.4:
            await players[seat].undo()
            deal, _ = undo(deal)
            undone += 1
            continue
        # More melds than chance would have it: they are what can be taken back.
        moves = legal_moves(deal)
        move = rng.choice([move for move in moves if isinstance(move, (LayMeld, LayOff))] or moves)
        await players[seat].submit(move)
        deal, _ = apply(deal, move)
    return deal, undone


async def test_undone_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was taken back is not in the record, whichever replica made the moves, however long the log is (R11.4)."""
    # Every table has a log longer than a page then.
    monkeypatch.setattr(records_module, "_PAGE", 7)
    path = tmp_path / "tables.db"
    async with serving(path) as here, serving(path) as there:
        players = await start(here)
        mixed = [players[0], players[1].at(there)]
        end, undone = await random_play(mixed, dealt(), random.Random(2))
        assert undone > 3, "or nothing was tried"
        (record,) = (await records(there, players[0].table_id)).deals
        assert assert_replays(record) == end


async def test_entropies(replica: Replica) -> None:
    """What the players added is in every record, seat by seat, and makes the seed with the service's own."""
    rules = short_rules(2)
    entropies = (b"", b"\x00\x01", b"abc" * 20, b"")
    players = await start(replica, rule_set=rule_set_to_pb(rules), seats=4, target_score=5000, entropies=entropies)
    deal = dealt(rules, 4, target=5000, entropies=entropies)
    for _ in range(3):
        await submitted(players, plain_turns(deal, 2))
        after = after_moves(deal, [move for turn in plain_turns(deal, 2) for move in turn.moves])
        deal = dealt(rules, 4, match=next_match(after), entropies=entropies)
    kept = (await records(replica, players[0].table_id)).deals
    assert len(kept) == 3
    for record in kept:
        assert_replays(record)
        assert tuple(record.entropies) == entropies
        assert record.seed != record.server_seed
    assert len({record.seed for record in kept}) == 3


async def test_substitutes_entropy(replica: Replica) -> None:
    """Who takes a seat over in a running match changes no shuffle, and the records still replay."""
    rules = short_rules(2)
    players = await start(replica, rule_set=rule_set_to_pb(rules), target_score=5000, entropies=(b"a", b"b"))
    deal = dealt(rules, target=5000, entropies=(b"a", b"b"))
    for number in range(2):
        await players[0].leave()
        players[0] = await join(replica, players[0].table_id, entropy=b"another %d" % number)
        script = list(plain_turns(deal, 2))
        await submitted(players, script)
        after = after_moves(deal, [move for turn in script for move in turn.moves])
        deal = dealt(rules, match=next_match(after), entropies=(b"a", b"b"))
    for record in (await records(replica, players[0].table_id)).deals:
        assert_replays(record)
        assert list(record.entropies) == [b"a", b"b"]


async def test_commitments(replica: Replica) -> None:
    """What is committed to before a deal is what is shown after it: at the table, in the events, in the record."""
    rules = short_rules(2)
    table = await create(replica, rule_set=rule_set_to_pb(rules), target_score=5000)
    shown = [table.commitment]
    players = [await join(replica, table.id) for _ in range(2)]
    deal = dealt(rules, target=5000)
    for _ in range(3):
        script = list(plain_turns(deal, 2))
        await submitted(players, script)
        after = after_moves(deal, [move for turn in script for move in turn.moves])
        deal = dealt(rules, match=next_match(after))
        shown.append((await get(replica, table.id)).commitment)
    newest = (await get(replica, table.id)).revision
    events = [event for update in await watch(replica, table.id, 0).until(newest) for event in update.message.events]
    announced = [event.dealt.commitment for event in events if event.HasField("dealt")]
    revealed = [event.deal_ended.seed for event in events if event.HasField("deal_ended")]
    kept = (await records(replica, table.id)).deals
    assert announced == shown
    assert [sha256(seed).digest() for seed in revealed] == shown[:3] == [record.commitment for record in kept]
    assert revealed == [record.server_seed for record in kept]
    assert len(set(shown)) == 4


async def test_nothing_of_a_running_deal(replica: Replica) -> None:
    """The record of a deal is there when the deal is over, not before."""
    steps = list(played(dealt(), random.Random(6)))
    script = list(turns(steps))
    players = await start(replica)
    assert not (await records(replica, players[0].table_id)).deals
    await submitted(players, script[:-1])
    assert not (await records(replica, players[0].table_id)).deals
    await submitted(players, script[-1:])
    assert len((await records(replica, players[0].table_id)).deals) == 1


async def test_pages(replica: Replica) -> None:
    """Records come in order, page by page, each once, and the last page says that it is the last."""
    rules = short_rules(1)
    players = await start(replica, rule_set=rule_set_to_pb(rules), target_score=1_000_000)
    deal = dealt(rules, target=1_000_000)
    for _ in range(12):
        (turn,) = plain_turns(deal, 1)
        await players[turn.seat].submit(*turn.moves)
        deal = dealt(rules, match=next_match(after_moves(deal, turn.moves)))
    numbers: list[int] = []
    sizes, more = [], True
    while more:
        page = await records(replica, players[0].table_id, after_deal=numbers[-1] if numbers else 0, page_size=5)
        numbers += [record.deal_number for record in page.deals]
        sizes.append(len(page.deals))
        more = page.more
    assert numbers == list(range(1, 13))
    assert sizes == [5, 5, 2]
    default = await records(replica, players[0].table_id)
    assert (len(default.deals), default.more) == (10, True)
    exact = await records(replica, players[0].table_id, page_size=12)
    assert (len(exact.deals), exact.more) == (12, False)
