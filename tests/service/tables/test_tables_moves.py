from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from buraco.v1 import move_pb2, table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.scores import score_to_pb
from buraco_rules import (
    Discard,
    DrawStock,
    Ending,
    LayMeld,
    Phase,
    commitment,
    legal_moves,
    match_result,
    next_match,
    score_deal,
    server_seed,
)
from tests.service.refusals import refused
from tests.service.scripts import (
    after_moves,
    deals_played,
    dealt,
    plain_turn,
    played,
    short_rules,
    steps_to,
    submitted,
    turns,
)
from tests.service.table_server import (
    PATIENCE,
    SEED,
    Replica,
    bearing,
    create,
    get,
    join,
    join_raw,
    moves_to_pb,
    new_id,
    records,
    serving,
    shown_view,
    start,
    unchanged,
)

SHORT = short_rules(2)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


async def test_legal_moves(replica: Replica) -> None:
    """The seat to move gets its legal moves; the others, and everybody before the match, get none."""
    table = await create(replica)
    early = await join(replica, table.id)
    assert not (await early.legal()).moves
    players = [early, await join(replica, table.id)]
    deal = dealt()
    for _ in range(3):
        answer = await players[deal.seat_to_move].legal()
        assert answer.revision == (await get(replica, table.id)).revision
        assert list(answer.moves) == moves_to_pb(legal_moves(deal))
        assert not (await players[1 - deal.seat_to_move].legal()).moves
        move = legal_moves(deal)[0]
        await players[deal.seat_to_move].submit(move)
        deal = after_moves(deal, [move])
    missing = pb.TableServiceListLegalMovesRequest(table_id=table.id)
    assert (await refused(replica.tables.ListLegalMoves(missing))).short == ("UNAUTHENTICATED", "TOKEN_MISSING")


async def test_single_moves(replica: Replica) -> None:
    """A move is answered with the new revision, the view after it and what happened (R3.1)."""
    players = await start(replica)
    deal = dealt()
    seat = deal.seat_to_move
    draw, discard = plain_turn(deal).moves
    drew = await players[seat].submit(draw)
    assert drew.revision == 4
    assert drew.view == shown_view(after_moves(deal, [draw]), seat)
    assert [event.WhichOneof("event") for event in drew.events] == ["drew"]
    assert (drew.events[0].drew.seat, drew.events[0].drew.card) == (seat, deal.stock[-1])
    discarded = await players[seat].submit(discard, revision=4)
    assert discarded.revision == 5
    assert [event.WhichOneof("event") for event in discarded.events] == ["discarded"]
    assert discarded.view.seat_to_move == 1 - seat


async def test_whole_turn(replica: Replica) -> None:
    """A whole turn goes in one call and is one revision."""
    players = await start(replica)
    deal = dealt()
    turn = plain_turn(deal)
    answer = await players[turn.seat].submit(*turn.moves)
    assert answer.revision == 4
    assert [event.WhichOneof("event") for event in answer.events] == ["drew", "discarded"]
    stored = await replica.table(players[0].table_id)
    assert stored.deal == after_moves(deal, turn.moves)


async def test_all_or_nothing(replica: Replica) -> None:
    """Where the third move is illegal none is played, and the error says which rule it broke (R3.2)."""
    players = await start(replica)
    turn = plain_turn(dealt())
    with unchanged(replica):
        refusal = await refused(players[turn.seat].submit(*turn.moves, DrawStock()))
        assert refusal.short == ("FAILED_PRECONDITION", "NOT_YOUR_TURN")
        assert refusal.broken == [("NOT_YOUR_TURN", "moves[2]")]
        assert refusal.metadata == {"moveIndex": "2"}
        absent = next(card for card in range(1, 53) if card not in after_moves(dealt(), turn.moves[:1]).hand)
        refusal = await refused(players[turn.seat].submit(turn.moves[0], LayMeld((absent,) * 2), turn.moves[1]))
        assert refusal.code.name == "FAILED_PRECONDITION"
        assert refusal.metadata == {"moveIndex": "1"}
        assert [type_ for type_, _ in refusal.broken][:2] == ["CARD_NOT_IN_HAND", "TOO_FEW_CARDS"]
        assert {subject for _, subject in refusal.broken} == {"moves[1]"}
    # What the service remembers of the table is as unharmed as what is stored.
    assert (await players[turn.seat].submit(*turn.moves)).revision == 4


async def test_undo(replica: Replica) -> None:
    """Plays of the turn are taken back newest first, up to the draw, which stays (R11.4)."""
    steps = steps_to(lambda deal: len(deal.turn.undo) == 2, dealt(), random.Random(3))
    players = await start(replica)
    await submitted(players, turns(steps))
    player = players[steps[-1].seat]
    revision = (await player.look()).revision
    for number, step in enumerate(reversed(steps[-2:]), 1):
        answer = await player.undo(revision=revision + number - 1)
        assert answer.revision == revision + number
        assert answer.view == shown_view(step.before, player.seat)
        assert [event.WhichOneof("event") for event in answer.events] == ["undone"]
        assert (await replica.table(player.table_id)).deal == step.before
    with unchanged(replica):
        refusal = await refused(player.undo())
    assert refusal.short == ("FAILED_PRECONDITION", "NOTHING_TO_UNDO")
    assert refusal.broken == [("NOTHING_TO_UNDO", "")]


async def test_deals_follow_each_other(replica: Replica) -> None:
    """The move that ends a deal deals the next one too: scores carried over, the next seat starts, a new commitment."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT), target_score=2000)
    deal = dealt(SHORT, target=2000)
    starters = []
    for number in (1, 2, 3):
        starters.append(deal.seat_to_move)
        assert deal.match.deal_number == number
        shown = (await get(replica, players[0].table_id)).commitment
        assert shown == commitment(server_seed(SEED, number))
        first, last = plain_turn(deal), plain_turn(after_moves(deal, plain_turn(deal).moves))
        await players[first.seat].submit(*first.moves)
        answer = await players[last.seat].submit(*last.moves)
        ended = after_moves(deal, (*first.moves, *last.moves))
        assert ended.ending is Ending.MAX_TURNS
        kinds = [event.WhichOneof("event") for event in answer.events]
        assert kinds == ["drew", "discarded", "deal_ended", "dealt"]
        over = answer.events[2].deal_ended
        assert commitment(over.seed) == shown
        assert [tuple(hand.cards) for hand in over.hands] == list(ended.hands)
        deal = dealt(SHORT, match=next_match(ended))
        fresh = answer.events[3].dealt
        assert (fresh.deal_number, fresh.starter) == (number + 1, deal.seat_to_move)
        assert tuple(fresh.hand) == deal.hands[last.seat]
        assert fresh.commitment == (await get(replica, players[0].table_id)).commitment
        assert answer.view == shown_view(deal, last.seat)
        assert (await replica.table(players[0].table_id)).deal == deal
    match = (await get(replica, players[0].table_id)).match
    assert (match.deal_number, tuple(match.scores)) == (4, deal.match.scores)
    assert starters in ([0, 1, 0], [1, 0, 1])


async def test_match_to_its_end(replica: Replica) -> None:
    """A match with a stake ends with its result and payouts, and a finished table refuses everything but looking."""
    target, stake = 400, 25
    deals = list(deals_played(dealt(target=target), random.Random(1)))
    assert len(deals) > 1, "a match of more deals than one is meant"
    players = await start(replica, target_score=target, stake=stake)
    answer = (await submitted(players, [turn for steps in deals for turn in turns(steps)]))[-1]
    end = deals[-1][-1].after
    result = match_result(end)
    assert result is not None
    assert result.winner is not None
    ended = answer.events[-1].match_ended
    assert (ended.winner, tuple(ended.scores)) == (result.winner, result.scores)
    assert list(ended.payouts) == [stake if seat == result.winner else -stake for seat in (0, 1)]
    table = await get(replica, players[0].table_id)
    assert table.state == table_pb2.TABLE_STATE_FINISHED
    assert (table.result.winner, tuple(table.result.scores)) == (result.winner, result.scores)
    assert table.result.payouts == ended.payouts
    assert answer.view.phase == int(Phase.OVER)
    with unchanged(replica):
        for call in (
            players[0].submit(DrawStock()),
            players[1].undo(),
            players[0].leave(),
            join_raw(replica, table.id),
        ):
            refusal = await refused(call)
            assert refusal.short == ("FAILED_PRECONDITION", "TABLE_FINISHED")
            assert refusal.broken == [("TABLE_FINISHED", "")]
        assert not (await players[end.seat_to_move].legal()).moves
        assert await players[0].view() == shown_view(end, 0)
    kept = (await records(replica, table.id)).deals
    assert [record.deal_number for record in kept] == list(range(1, len(deals) + 1))
    assert answer.events[-2].deal_ended.score == kept[-1].score


async def test_scores_of_an_ended_deal(replica: Replica) -> None:
    """The end of a deal is sent with the score that the rules give it, line by line (R9)."""
    steps = list(played(dealt(), random.Random(4)))
    players = await start(replica)
    answer = (await submitted(players, turns(steps)))[-1]
    assert answer.events[-2].deal_ended.score == score_to_pb(score_deal(steps[-1].after))


async def test_two_tables_do_not_touch(replica: Replica) -> None:
    """A token is good for its own table only, and a move changes no other table."""
    here, there = await start(replica), await start(replica)
    seat = dealt().seat_to_move
    await here[seat].submit(DrawStock())
    assert (await replica.table(there[0].table_id)).deal == dealt()
    stranger = here[seat]._replace(table_id=there[0].table_id)
    with unchanged(replica):
        for call in (
            stranger.submit(DrawStock()),
            stranger.look(),
            stranger.legal(),
            stranger.undo(),
            stranger.leave(),
        ):
            assert (await refused(call)).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


async def test_move_numbers_are_the_contract(replica: Replica) -> None:
    """A request written by hand, enum by enum, is understood."""
    players = await start(replica)
    deal = dealt()
    discard = plain_turn(deal).moves[1]
    assert isinstance(discard, Discard)
    moves = [
        move_pb2.Move(draw_stock=move_pb2.DrawStock()),
        move_pb2.Move(discard=move_pb2.Discard(card=discard.card)),  # type: ignore[arg-type]
    ]
    request = pb.SubmitMovesRequest(table_id=players[0].table_id, moves=moves, request_id=new_id())
    token = players[deal.seat_to_move].token
    answer = await replica.tables.SubmitMoves(request, metadata=bearing(token), timeout=PATIENCE)
    assert answer.events[-1].discarded.card == discard.card
