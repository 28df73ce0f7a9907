from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from buraco.v1 import rules_service_pb2, rules_service_pb2_grpc
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.melds import meld_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import Deal, LayMeld, LayOff, Violation, legal_moves, meld_book
from tests.service.refusals import assert_invalid, refused
from tests.service.scripts import dealt, plain_turns, short_rules, steps_to, submitted, turns
from tests.service.table_server import (
    PATIENCE,
    Player,
    Replica,
    bearing,
    create,
    join,
    serving,
    start,
    unchanged,
)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


def can_meld_and_lay_off(deal: Deal) -> bool:
    """Whether the seat to move may lay a new meld and cards on one, in more than one way."""
    moves = legal_moves(deal)
    return {LayMeld, LayOff} <= {type(move) for move in moves}


async def played_to_choices(replica: Replica) -> tuple[list[Player], Deal]:
    """A table at which the seat to move may lay a new meld and lay off."""
    steps = steps_to(can_meld_and_lay_off, dealt(), random.Random(4))
    players = await start(replica)
    await submitted(players, turns(steps))
    return players, steps[-1].after


def missing_card(deal: Deal, seat: int, *, held_by_other: bool) -> int:
    """A card that the seat does not hold: one that the other seat holds, or one that no hand has."""
    others = set(deal.hands[1 - seat]) if held_by_other else set(range(1, 53)) - set(deal.hands[1 - seat])
    return min(others - set(deal.hands[seat]))


async def test_arrangements_of_own_cards(replica: Replica) -> None:
    """Whatever may be laid can be arranged first, with every outcome and its value, and nothing changes by it."""
    players, deal = await played_to_choices(replica)
    player, melds = players[deal.seat_to_move], deal.side.melds
    kinds = Counter[type]()
    with unchanged(replica):
        for move in legal_moves(deal):
            if not isinstance(move, LayMeld | LayOff):
                continue
            kinds[type(move)] += 1
            base = move.meld if isinstance(move, LayOff) else None
            answer = await player.arrange(move.cards, base)
            outcomes = meld_book(deal.rules).arrange(None if base is None else melds[base], move.cards)
            assert answer.revision == (await player.look()).revision
            assert [found.meld for found in answer.arrangements] == [meld_to_pb(outcome.meld) for outcome in outcomes]
            assert answer.arrangements
            assert not answer.violations
    assert kinds[LayMeld]
    assert kinds[LayOff]


async def test_same_as_the_rules_answer(replica: Replica) -> None:
    """A new meld is arranged as RulesService does, values and reasons included."""
    players, deal = await played_to_choices(replica)
    rules = rules_service_pb2_grpc.RulesServiceStub(replica.channel)
    rng = random.Random(2)
    hand = deal.hand
    picks = [move.cards for move in legal_moves(deal) if isinstance(move, LayMeld)]
    refusals = 0
    for cards in (*picks, *[tuple(rng.sample(hand, 3)) for _ in range(20)]):
        request = rules_service_pb2.ArrangeMeldRequest(rule_set_id=deal.rules.id, cards=cards)  # type: ignore[arg-type]
        expected = await rules.ArrangeMeld(request, timeout=PATIENCE)
        answer = await players[deal.seat_to_move].arrange(cards)
        assert list(answer.arrangements) == list(expected.arrangements)
        assert list(answer.violations) == list(expected.violations)
        refusals += bool(answer.violations)
    assert refusals, "three cards by chance are no meld"


async def test_while_another_is_to_move(replica: Replica) -> None:
    """A player may try out the hand while the other thinks."""
    players = await start(replica)
    waiting = 1 - dealt().seat_to_move
    answer = await players[waiting].arrange(dealt().hands[waiting][:3])
    assert answer.revision == 3
    assert answer.arrangements or answer.violations


@pytest.mark.parametrize("meld", [None, 0])
async def test_cards_of_others(replica: Replica, meld: int | None) -> None:
    """Cards that are not in the hand are refused alike whether another player holds them or nobody does."""
    players, deal = await played_to_choices(replica)
    seat = deal.seat_to_move
    refusals = []
    for held_by_other in (True, False):
        card = missing_card(deal, seat, held_by_other=held_by_other)
        refusals.append(await refused(players[seat].arrange([*deal.hand[:2], card], meld)))
    assert refusals[0] == refusals[1]
    assert refusals[0].code is grpc.StatusCode.FAILED_PRECONDITION
    assert refusals[0].broken[0][0] == refusals[0].reason == Violation.CARD_NOT_IN_HAND.name
    twice = next(card for card, count in Counter(deal.hand).items() if count == 1)
    assert (await refused(players[seat].arrange([twice] * 3, meld))).reason == "CARD_NOT_IN_HAND"


async def test_no_such_meld(replica: Replica) -> None:
    """Only melds of the own side can be extended."""
    players, deal = await played_to_choices(replica)
    player = players[deal.seat_to_move]
    for meld in (len(deal.side.melds), 2**32 - 1):
        refusal = await refused(player.arrange(deal.hand[:1], meld))
        assert refusal.short == ("FAILED_PRECONDITION", "NO_SUCH_MELD")
    both = await refused(player.arrange([missing_card(deal, deal.seat_to_move, held_by_other=True)], 99))
    assert [name for name, _ in both.broken] == ["NO_SUCH_MELD", "CARD_NOT_IN_HAND"]


async def test_bad_requests(replica: Replica) -> None:
    """Too few, too many and unknown cards are refused with the field that is at fault."""
    players, deal = await played_to_choices(replica)
    player = players[deal.seat_to_move]
    hand = list(deal.hand)
    for cards, meld in ((hand[:2], None), ([], 0), ([1] * 16, None), ([1] * 16, 0)):
        assert_invalid(await refused(player.arrange(cards, meld)), "cards")
    assert_invalid(await refused(player.arrange([*hand[:2], 0])), "cards[2]")
    assert_invalid(await refused(player.arrange([99, *hand[:2]])), "cards[0]")
    request = pb.TableServiceArrangeMeldRequest(table_id="no id", cards=hand[:3])  # type: ignore[arg-type]
    assert_invalid(await refused(replica.tables.ArrangeMeld(request, metadata=player.metadata)), "table_id")


async def test_only_the_own_seat(replica: Replica) -> None:
    """Without a token, with another table's or with that of a seat given back, nothing is arranged."""
    players = await start(replica)
    stranger = (await start(replica))[0]
    cards = dealt().hands[0][:3]
    request = pb.TableServiceArrangeMeldRequest(table_id=players[0].table_id, cards=cards)  # type: ignore[arg-type]
    refusal = await refused(replica.tables.ArrangeMeld(request, timeout=PATIENCE))
    assert refusal.short == ("UNAUTHENTICATED", "TOKEN_MISSING")
    refusal = await refused(replica.tables.ArrangeMeld(request, metadata=bearing(stranger.token), timeout=PATIENCE))
    assert refusal.short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    await players[0].leave()
    assert (await refused(players[0].arrange(cards))).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


async def test_only_while_playing(replica: Replica) -> None:
    """Before and after the match there is no hand to arrange."""
    waiting = await join(replica, (await create(replica)).id)
    assert (await refused(waiting.arrange([1, 2, 3]))).reason == "TABLE_NOT_PLAYING"
    short = short_rules(2)
    players = await start(replica, rule_set=rule_set_to_pb(short))
    await submitted(players, plain_turns(dealt(short), 2))
    assert (await refused(players[0].arrange([1, 2, 3]))).reason == "TABLE_FINISHED"
