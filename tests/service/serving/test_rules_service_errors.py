import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buraco.v1 import deal_pb2, rules_service_pb2_grpc
from buraco.v1 import rules_service_pb2 as pb
from buraco_codec.deals import deal_from_pb
from buraco_codec.fields import Untyped
from buraco_codec.moves import move_to_pb
from buraco_codec.snapshots import snapshot_to_pb
from buraco_rules import Deal, Phase, legal_moves
from buraco_service.errors import ApiError
from buraco_service.observing.metrics import Metrics
from buraco_service.serving.rules_servicer import RulesServicer
from tests.rules.playouts import played
from tests.rules.positions import CLASSIC, position
from tests.service.refusals import assert_invalid, read_refusal, refused
from tests.service.rules_server import Served, serving, spoil

REASONS = {"RULE_SET_UNKNOWN", "RULE_SET_INVALID", "SNAPSHOT_INVALID", "REQUEST_INVALID"}


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    """A running server."""
    async with serving() as running:
        yield running


def snapshot() -> Untyped:
    """A sound position in the middle of a turn."""
    return snapshot_to_pb(position(CLASSIC, hand="3s 4s 5s 9d Th Kc", melds=["3h 4h 5h 6h 7h 8h 9h"]))


def changed(*changes: Callable[[Any], object]) -> Untyped:
    """A position with something changed in it."""
    message = snapshot()
    for change in changes:
        change(message)
    return message


def house_rules(**options: Any) -> Untyped:
    """A record of house rules, with options that contradict each other."""
    record = snapshot().rule_set
    record.id = "house-rules"
    for name, value in options.items():
        setattr(record, name, value)
    return record


DEALS: dict[str, tuple[dict[str, Any], str, set[str]]] = {
    "no rules": (dict(seats=2), "REQUEST_INVALID", {"rules"}),
    "unknown rules": (dict(rule_set_id="chess", seats=2), "RULE_SET_UNKNOWN", {"rule_set_id"}),
    "no rule set id": (dict(rule_set_id="", seats=4), "RULE_SET_UNKNOWN", {"rule_set_id"}),
    "a contradiction": (
        dict(rule_set=house_rules(jokers=0, clean=10_001), seats=2),
        "RULE_SET_INVALID",
        {"rule_set.value_joker", "rule_set.clean"},
    ),
    "a preset that is not": (
        dict(rule_set=house_rules(id=CLASSIC.id, clean=7), seats=2),
        "RULE_SET_INVALID",
        {"rule_set.clean"},
    ),
    "no seats": (dict(rule_set_id="open"), "REQUEST_INVALID", {"seats"}),
    "three seats": (dict(rule_set_id="open", seats=3), "REQUEST_INVALID", {"seats"}),
    "a short seed": (dict(rule_set_id="open", seats=2, seed=b"short"), "REQUEST_INVALID", {"seed"}),
    "an empty seed": (dict(rule_set_id="open", seats=2, seed=b""), "REQUEST_INVALID", {"seed"}),
    "no such starter": (dict(rule_set_id="open", seats=2, starter=2), "REQUEST_INVALID", {"starter"}),
    "another starter": (
        dict(rule_set_id="open", seats=2, starter=0, match=deal_pb2.Match(deal_number=1, starter=1)),
        "REQUEST_INVALID",
        {"starter"},
    ),
    "a match that is none": (
        dict(
            rule_set_id="open",
            seats=2,
            match=deal_pb2.Match(scores=[1, 2, 3], starter=2, target_score=10**7),
        ),
        "REQUEST_INVALID",
        {"match.scores", "match.starter", "match.target_score", "match.deal_number"},
    ),
    "all at once": (
        dict(rule_set_id="chess", seats=5, seed=b"x", starter=9),
        "RULE_SET_UNKNOWN",
        {"rule_set_id", "seats", "seed", "starter"},
    ),
}


@pytest.mark.parametrize("name", DEALS)
async def test_what_cannot_be_dealt(served: Served, name: str) -> None:
    """Deal refuses what it cannot deal, with every field at fault."""
    fields, reason, at_fault = DEALS[name]
    refusal = await refused(served.stub.Deal(pb.DealRequest(**fields)))
    assert refusal.short == ("INVALID_ARGUMENT", reason)
    assert set(refusal.fields) == at_fault
    assert all(refusal.fields.values())


SNAPSHOTS: dict[str, tuple[Any, str, set[str]]] = {
    "none": (None, "REQUEST_INVALID", {"snapshot"}),
    "empty": (
        deal_pb2.Snapshot(),
        "SNAPSHOT_INVALID",
        {"snapshot.rule_set", "snapshot.seats", "snapshot.match", "snapshot.deal"},
    ),
    "contradicting rules": (
        changed(lambda s: s.rule_set.CopyFrom(house_rules(jokers=0, semi_clean=0, semi_clean_sets=True))),
        "RULE_SET_INVALID",
        {"snapshot.rule_set.value_joker", "snapshot.rule_set.semi_clean_sets"},
    ),
    "no card": (changed(lambda s: s.deal.stock.insert(0, 0)), "SNAPSHOT_INVALID", {"snapshot.deal.stock[0]"}),
    "of a later version": (
        changed(lambda s: s.deal.turn.MergeFromString(b"\xfa\x7f\x03abc")),
        "SNAPSHOT_INVALID",
        {"snapshot"},
    ),
    "a card too many": (changed(lambda s: s.deal.stock.append(1)), "SNAPSHOT_INVALID", {"snapshot.deal"}),
    "no sound meld": (
        changed(lambda s: setattr(s.deal.sides[0].melds[0], "low_position", 4)),
        "SNAPSHOT_INVALID",
        {"snapshot.deal.sides[0].melds[0]"},
    ),
    "no such starter": (
        changed(lambda s: setattr(s.match, "starter", 2)),
        "SNAPSHOT_INVALID",
        {"snapshot.match.starter"},
    ),
    "form before substance": (
        changed(
            lambda s: s.deal.stock.append(1), lambda s: s.deal.ClearField("phase"), lambda s: setattr(s, "seats", 6)
        ),
        "SNAPSHOT_INVALID",
        {"snapshot.seats", "snapshot.deal.hands", "snapshot.deal.phase"},
    ),
    "several": (
        changed(
            lambda s: s.deal.stock.append(1),
            lambda s: setattr(s.deal.turn, "locked_card", 9),
            lambda s: s.deal.pots.pop(),
        ),
        "SNAPSHOT_INVALID",
        {"snapshot.deal", "snapshot.deal.pots", "snapshot.deal.turn.locked_card"},
    ),
}
CALLS: dict[str, Callable[[Served, Any], Awaitable[Any]]] = {
    "ValidateMoves": lambda served, position: served.stub.ValidateMoves(
        pb.ValidateMovesRequest(snapshot=position, moves=[discard()])
    ),
    "ListLegalMoves": lambda served, position: served.stub.ListLegalMoves(
        pb.RulesServiceListLegalMovesRequest(snapshot=position)
    ),
    "ScoreDeal": lambda served, position: served.stub.ScoreDeal(pb.ScoreDealRequest(snapshot=position)),
    "GetView": lambda served, position: served.stub.GetView(pb.RulesServiceGetViewRequest(snapshot=position, seat=1)),
}


def discard() -> Any:
    """A discard that is legal in the sound position."""
    deal = deal_from_pb(snapshot())
    return move_to_pb(legal_moves(deal)[-1])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", SNAPSHOTS)
async def test_what_is_no_position(served: Served, name: str, call: str) -> None:
    """Every call refuses a snapshot that is none, or that play cannot reach, with all that is wrong with it."""
    message, reason, at_fault = SNAPSHOTS[name]
    refusal = await refused(CALLS[call](served, message))
    assert refusal.short == ("INVALID_ARGUMENT", reason)
    assert set(refusal.fields) == at_fault


@pytest.mark.parametrize("call", ["ValidateMoves", "ListLegalMoves", "GetView"])
async def test_what_is_no_seat(served: Served, call: str) -> None:
    """A seat that the table does not have is a malformed request."""
    good = snapshot()
    requests: dict[str, Callable[[], Awaitable[Any]]] = {
        "ValidateMoves": lambda: served.stub.ValidateMoves(
            pb.ValidateMovesRequest(snapshot=good, seat=2, moves=[discard()])
        ),
        "ListLegalMoves": lambda: served.stub.ListLegalMoves(
            pb.RulesServiceListLegalMovesRequest(snapshot=good, seat=2)
        ),
        "GetView": lambda: served.stub.GetView(pb.RulesServiceGetViewRequest(snapshot=good, seat=2)),
    }
    refusal = await refused(requests[call]())
    assert_invalid(refusal, "seat")
    assert refusal.fields == {"seat": "a seat, 0 to 1, not 2"}


async def test_what_are_no_moves(served: Served) -> None:
    """Moves that cannot be read are refused with the field at fault; so are none, and more than 256."""
    request: Untyped = pb.ValidateMovesRequest(snapshot=snapshot(), moves=[discard(), discard()])
    request.moves[1].lay_off.cards.extend([3, 0])
    refusal = await refused(served.stub.ValidateMoves(request))
    assert refusal.short == ("INVALID_ARGUMENT", "REQUEST_INVALID")
    assert set(refusal.fields) == {"moves[1].lay_off.cards[1]"}
    for count in (0, 257):
        request = pb.ValidateMovesRequest(snapshot=snapshot(), moves=[discard()] * count)
        refusal = await refused(served.stub.ValidateMoves(request))
        assert refusal.fields == {"moves": f"1 to 256 moves, not {count}"}


async def test_everything_wrong_is_told_together(served: Served) -> None:
    """A request with a bad snapshot, a bad seat and a bad move is refused once, for all of it."""
    request: Untyped = pb.ValidateMovesRequest(snapshot=snapshot(), seat=7, moves=[discard()])
    request.snapshot.deal.pile.insert(0, 99)
    request.moves[0].move_wild.meld = 0
    refusal = await refused(served.stub.ValidateMoves(request))
    assert refusal.reason == "SNAPSHOT_INVALID"
    assert set(refusal.fields) == {"snapshot.deal.pile[0]", "seat", "moves[0].move_wild.wild_position"}


ARRANGED: dict[str, tuple[dict[str, Any], str, set[str]]] = {
    "no rules": (dict(cards=[3, 4, 5]), "REQUEST_INVALID", {"rules"}),
    "unknown rules": (dict(rule_set_id="x", cards=[3, 4, 5]), "RULE_SET_UNKNOWN", {"rule_set_id"}),
    "two cards": (dict(rule_set_id="open", cards=[3, 4]), "REQUEST_INVALID", {"cards"}),
    "sixteen cards": (dict(rule_set_id="open", cards=range(1, 17)), "REQUEST_INVALID", {"cards"}),
    "no card": (dict(rule_set_id="open", cards=[3, 0, 54]), "REQUEST_INVALID", {"cards[1]", "cards[2]"}),
    "a third copy": (
        dict(rule_set_id="open", cards=[3, 3, 3, 4]),
        "REQUEST_INVALID",
        {"cards[0]", "cards[1]", "cards[2]"},
    ),
    "a joker where there is none": (dict(rule_set_id="open", cards=[3, 4, 53]), "REQUEST_INVALID", {"cards[2]"}),
    "bad rules": (
        dict(rule_set=house_rules(pots_per_side=3), cards=[3, 4, 5]),
        "RULE_SET_INVALID",
        {"rule_set.pots_per_side"},
    ),
}


@pytest.mark.parametrize("name", ARRANGED)
async def test_what_cannot_be_arranged(served: Served, name: str) -> None:
    """ArrangeMeld refuses what is no pool of cards of the rule set's deck."""
    fields, reason, at_fault = ARRANGED[name]
    refusal = await refused(served.stub.ArrangeMeld(pb.ArrangeMeldRequest(**fields)))
    assert refusal.short == ("INVALID_ARGUMENT", reason)
    assert set(refusal.fields) == at_fault


async def test_a_number_that_is_no_card(served: Served) -> None:
    """A number that is no card is reported as such, and not as more of a card than the deck has."""
    cards: Untyped = [3, 0, 54]
    refusal = await refused(served.stub.ArrangeMeld(pb.ArrangeMeldRequest(rule_set_id="open", cards=cards)))
    assert refusal.fields == {"cards[1]": "0 is no card", "cards[2]": "54 is no card"}


async def test_the_state_is_not_changed(served: Served) -> None:
    """A refused request changes nothing: the same position is answered as before."""
    request = pb.ValidateMovesRequest(snapshot=snapshot(), moves=[discard()])
    before = await served.stub.ValidateMoves(request)
    bad: Untyped = pb.ValidateMovesRequest()
    bad.CopyFrom(request)
    bad.snapshot.deal.sides[0].melds[0].cards[0] = 1
    await refused(served.stub.ValidateMoves(bad))
    assert await served.stub.ValidateMoves(request) == before


# ---- whatever comes ----------------------------------------------------------------------------------


async def test_spoiled_snapshots_never_break_the_service(served: Served) -> None:
    """Snapshots with random things changed in them are answered, or refused as malformed with the fields at fault."""
    rng = random.Random(8)
    deals = [deal for deal, _ in played()]
    answers = refusals = 0
    for _ in range(300):
        deal = rng.choice(deals)
        message = snapshot_to_pb(deal)
        for _ in range(rng.choice((1, 1, 3))):
            spoil(message, rng)
        call = CALLS[rng.choice(list(CALLS))](served, message)
        try:
            await call
            answers += 1
        except grpc.aio.AioRpcError as error:
            refusal = read_refusal(error)
            assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT, message
            assert refusal.reason in REASONS
            assert refusal.fields, message
            assert all(field == "seat" or field.startswith("snapshot") for field in refusal.fields)
            refusals += 1
    assert min(answers, refusals) > 15


def reasons_of(deal: Deal, seed: int, times: int) -> set[str]:
    """The reasons for which the calls refuse a spoiled snapshot of a deal, called in this process."""
    rng = random.Random(seed)
    message = snapshot_to_pb(deal)
    for _ in range(times):
        spoil(message, rng)
    servicer: rules_service_pb2_grpc.RulesServiceServicer = RulesServicer(Metrics())
    seat = deal.seat_to_move
    reasons = set()
    moves = [move_to_pb(move) for move in legal_moves(deal)[:3]] or [discard()]
    context: Any = None
    for call in (
        servicer.ValidateMoves(pb.ValidateMovesRequest(snapshot=message, seat=seat, moves=moves), context),
        servicer.ListLegalMoves(pb.RulesServiceListLegalMovesRequest(snapshot=message, seat=seat), context),
        servicer.ScoreDeal(pb.ScoreDealRequest(snapshot=message), context),
        servicer.GetView(pb.RulesServiceGetViewRequest(snapshot=message), context),
    ):
        try:
            asyncio.run(answered(call))
        except ApiError as error:
            well_formed = error.code is grpc.StatusCode.INVALID_ARGUMENT and error.problems
            reasons.add(error.reason if well_formed else f"{error.code}: {error}")
    return reasons


async def answered(call: Any) -> Any:
    """What a call gives."""
    return await call


@settings(deadline=None, database=None, derandomize=True, max_examples=150)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_any_snapshot_is_judged(seed: int, times: int) -> None:
    """Whatever stands in a snapshot, each call answers it or refuses it as malformed, all for one reason."""
    deals = [deal for deal, _ in played()]
    reasons = reasons_of(deals[seed % len(deals)], seed, times)
    assert reasons <= REASONS
    assert len(reasons - {"REQUEST_INVALID"}) <= 1


def test_sound_snapshots_are_answered() -> None:
    """The positions that are spoiled above are all answered when they are not."""
    for deal, _ in played()[::60]:
        assert reasons_of(deal, 0, 0) == set()
    assert any(deal.phase is Phase.OVER for deal, _ in played())
