import hashlib
import random
from collections.abc import AsyncIterator

import pytest
from google.protobuf.message import Message

from buraco.v1 import deal_pb2, event_pb2, move_pb2
from buraco.v1 import rules_service_pb2 as pb
from buraco_codec.deals import deal_from_pb
from buraco_codec.melds import meld_to_pb
from buraco_codec.moves import move_from_pb, move_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.scores import score_to_pb
from buraco_codec.snapshots import match_to_pb, snapshot_to_pb
from buraco_codec.views import view_to_pb
from buraco_notation import parse_cards
from buraco_rules import (
    PRESETS,
    PRESETS_BY_ID,
    Deal,
    Discard,
    IllegalMove,
    Match,
    Move,
    Phase,
    RuleSet,
    Violation,
    apply,
    card_points,
    commitment,
    deal_first,
    deal_match,
    legal_moves,
    meld_book,
    score_deal,
    view_of,
)
from tests.rules.playouts import played, playout
from tests.rules.positions import CLASSIC, CLOSED, INDIRECT, house, position
from tests.rules.sampling import some_cards
from tests.service.rules_server import Served, cards_in, event_to_pb, serving

SEED = bytes(range(32))


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    """A running server."""
    async with serving() as running:
        yield running


def request_for(deal: Deal, *moves: Move, seat: int | None = None) -> pb.ValidateMovesRequest:
    """A request to validate moves of the seat to move, or of another."""
    return pb.ValidateMovesRequest(
        snapshot=snapshot_to_pb(deal),
        seat=deal.seat_to_move if seat is None else seat,
        moves=[move_to_pb(move) for move in moves],
    )


def broken(response: pb.ValidateMovesResponse | pb.ArrangeMeldResponse) -> list[Violation]:
    """The rules that an answer says are broken."""
    return [Violation(violation) for violation in response.violations]


def in_the_middle(rules: RuleSet = CLASSIC, seats: int = 4) -> Deal:
    """A position in the middle of a turn, with cards to lay and melds on the table."""
    return next(
        deal
        for seed in range(50)
        for deal, _ in playout(rules, seats, seed)
        if deal.phase is Phase.MELD and len(deal.side.melds) > 1 and len(legal_moves(deal)) > 12
    )


def finished() -> Deal:
    """A deal that is over."""
    return next(deal for deal, _ in played() if deal.phase is Phase.OVER)


# ---- ListRuleSets, Deal ------------------------------------------------------------------------------


async def test_rule_sets_are_listed(served: Served) -> None:
    """ListRuleSets gives every preset with all of its options, in the order of the menu."""
    response = await served.stub.ListRuleSets(pb.ListRuleSetsRequest())
    assert list(response.rule_sets) == [rule_set_to_pb(preset) for preset in PRESETS]
    assert response.rule_sets[0].id == "buraco-plus-classic"


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.id)
async def test_a_seed_deals_the_published_shuffle(served: Served, preset: RuleSet, seats: int) -> None:
    """A given seed deals what the published algorithm deals of it; the answer shows its commitment."""
    response = await served.stub.Deal(pb.DealRequest(rule_set_id=preset.id, seats=seats, seed=SEED))
    deal, dealt = deal_first(preset, seats, SEED)
    event = event_to_pb(dealt)
    event.dealt.commitment = hashlib.sha256(SEED).digest()
    assert deal_from_pb(response.snapshot) == deal
    assert response.commitment == commitment(SEED) == hashlib.sha256(SEED).digest()
    assert response.seed == SEED
    assert list(response.events) == [event]
    assert len(response.events[0].dealt.hands) == seats


async def test_without_a_seed_every_deal_differs(served: Served) -> None:
    """Without a seed the service draws one, gives it back, and keeps to it."""
    request = pb.DealRequest(rule_set_id="open", seats=2)
    first, second = await served.stub.Deal(request), await served.stub.Deal(request)
    assert first.seed != second.seed
    assert len(first.seed) == 32
    assert first.commitment == hashlib.sha256(first.seed).digest()
    again = await served.stub.Deal(pb.DealRequest(rule_set_id="open", seats=2, seed=first.seed))
    assert again == first


async def test_house_rules_are_dealt(served: Served) -> None:
    """A record of one's own is played as it stands, and comes back whole."""
    rules = house(CLASSIC, upcard=False, clean=250, max_turns=40)
    record = rule_set_to_pb(rules)
    response = await served.stub.Deal(pb.DealRequest(rule_set=record, seats=2, seed=SEED))
    assert response.snapshot.rule_set == record
    assert not response.snapshot.deal.pile
    assert deal_from_pb(response.snapshot).rules == rules


@pytest.mark.parametrize("starter", [0, 3])
async def test_a_starter_may_be_given(served: Served, starter: int) -> None:
    """A given starter starts the first deal (R2.3)."""
    response = await served.stub.Deal(pb.DealRequest(rule_set_id="open", seats=4, seed=SEED, starter=starter))
    assert response.snapshot.match.starter == response.snapshot.deal.seat_to_move == starter
    assert response.events[0].dealt.starter == starter


async def test_the_next_deal_of_a_match(served: Served) -> None:
    """A match goes on: the start passes clockwise (R2.3), and a score at the threshold asks for an opening (R11.2)."""
    match = Match(deal_number=3, scores=(1000, 990), starter=3, target_score=2005)
    request = pb.DealRequest(
        rule_set_id="professional-indirect", seats=4, seed=SEED, match=match_to_pb(match), starter=3
    )
    response = await served.stub.Deal(request)
    deal, _ = deal_match(INDIRECT, 4, SEED, match)
    assert deal_from_pb(response.snapshot) == deal
    assert response.snapshot.deal.seat_to_move == 1
    assert [side.opening_required for side in response.snapshot.deal.sides] == [75, 0]
    assert response.events[0].dealt.deal_number == 3


# ---- ValidateMoves -----------------------------------------------------------------------------------


async def test_moves_are_played(served: Served) -> None:
    """Every legal move of a position is answered with the position after it and all that happened, hidden cards too."""
    deal = in_the_middle()
    for move in legal_moves(deal)[:20]:
        after, events = apply(deal, move)
        response = await served.stub.ValidateMoves(request_for(deal, move))
        assert response.legal
        assert not response.HasField("illegal_index")
        assert not response.violations
        assert deal_from_pb(response.snapshot) == after
        assert list(response.events) == [event_to_pb(event) for event in events]


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.id)
async def test_a_whole_deal_is_played(served: Served, preset: RuleSet, seats: int) -> None:
    """A deal is played to its end turn by turn, each turn in one call, from the answer to the call before."""
    rng = random.Random(f"{preset.id}{seats}")
    dealt = await served.stub.Deal(pb.DealRequest(rule_set_id=preset.id, seats=seats, seed=SEED))
    snapshot, last = dealt.snapshot, None
    ended: list[event_pb2.DealEnded] = []
    deal = deal_from_pb(snapshot)
    while legal := legal_moves(deal):
        seat, number = deal.seat_to_move, deal.turn.number
        moves, events = [], []
        while legal and deal.turn.number == number:
            melding = [move for move in legal if not isinstance(move, Discard)]
            moves.append(rng.choice(melding or legal if rng.random() < 0.7 else legal))
            deal, happened = apply(deal, moves[-1])
            events += [event_to_pb(event) for event in happened]
            legal = legal_moves(deal)
        request = pb.ValidateMovesRequest(snapshot=snapshot, seat=seat, moves=[move_to_pb(move) for move in moves])
        response = await served.stub.ValidateMoves(request)
        assert response.legal
        assert list(response.events) == events
        snapshot = response.snapshot
        assert deal_from_pb(snapshot) == deal
        last = response.events[-1].WhichOneof("event")
        ended.extend(event.deal_ended for event in response.events if event.WhichOneof("event") == "deal_ended")
    assert last == "match_ended"
    assert [deal_ended.score for deal_ended in ended] == [score_to_pb(score_deal(deal))]
    assert not ended[0].seed


async def test_an_illegal_move_is_an_answer(served: Served) -> None:
    """The first illegal move is named with the rules it breaks, the principal first; nothing is played."""
    deal = position(CLASSIC, hand="3s 4s 5s 9d Th Kc")
    good = move_to_pb(move_from_pb(lay_meld("3s 4s 5s")))
    request = pb.ValidateMovesRequest(snapshot=snapshot_to_pb(deal), moves=[good, lay_meld("9h Td 7c"), good])
    response = await served.stub.ValidateMoves(request)
    assert not response.legal
    assert response.illegal_index == 1
    assert broken(response) == [Violation.CARD_NOT_IN_HAND, Violation.NO_MELD]
    assert not response.HasField("snapshot")
    assert not response.events


async def test_violations_are_those_of_the_rules(served: Served) -> None:
    """Whatever is tried on random positions, the service refuses it for the reasons that the rules give."""
    rng = random.Random(3)
    seen: set[Violation] = set()
    deals = [deal for deal, _ in played()]
    for _ in range(150):
        deal, other = rng.choice(deals), rng.choice(deals)
        move = rng.choice(legal_moves(other) or [Discard(5)])
        try:
            apply(deal, move)
            reasons: list[Violation] = []
        except IllegalMove as illegal:
            reasons = list(illegal.violations)
        response = await served.stub.ValidateMoves(request_for(deal, move))
        assert broken(response) == reasons
        assert response.legal == (not reasons)
        assert response.HasField("illegal_index") == bool(reasons)
        seen.update(reasons)
    assert len(seen) > 8


async def test_out_of_turn_and_after_the_end(served: Served) -> None:
    """A move of another seat, or once the deal is over, is an illegal move, not an error (R3.2)."""
    deal = in_the_middle()
    (move, *_) = legal_moves(deal)
    response = await served.stub.ValidateMoves(request_for(deal, move, seat=(deal.seat_to_move + 1) % 4))
    assert (broken(response), response.illegal_index) == ([Violation.NOT_YOUR_TURN], 0)
    over = finished()
    response = await served.stub.ValidateMoves(request_for(over, Discard(over.pile[-1])))
    assert broken(response) == [Violation.DEAL_OVER]


async def test_many_cards_are_no_meld(served: Served) -> None:
    """A lay of all cards there are is refused as quickly as any other (R4.1, R4.2)."""
    response = await served.stub.ValidateMoves(
        pb.ValidateMovesRequest(
            snapshot=snapshot_to_pb(position(CLASSIC, hand="3s 4s 5s 9d")),
            moves=[move_pb2.Move(lay_meld=move_pb2.LayMeld(cards=[5, 18, 31, 44] * 27))],  # type: ignore[list-item]
        )
    )
    assert Violation.TOO_MANY_CARDS in broken(response)


async def test_moves_are_counted(served: Served) -> None:
    """Moves are counted by rule set and outcome, and broken rules by their names."""
    deal = position(CLASSIC, hand="3s 4s 5s 9d Th Kc")
    good = move_from_pb(lay_meld("3s 4s 5s"))
    await served.stub.ValidateMoves(request_for(deal, good, Discard(parse_cards("9d")[0])))
    await served.stub.ValidateMoves(request_for(deal, good, Discard(parse_cards("9h")[0])))
    other = position(house(CLASSIC, clean=300), hand="3s 4s 5s 9d Th Kc")
    await served.stub.ValidateMoves(request_for(other, good))

    def counted(name: str, **labels: str) -> float | None:
        return served.metrics.registry.get_sample_value(name, labels)

    assert counted("buraco_moves_total", rule_set=CLASSIC.id, outcome="accepted") == 2
    assert counted("buraco_moves_total", rule_set=CLASSIC.id, outcome="illegal") == 1
    assert counted("buraco_moves_total", rule_set="custom", outcome="accepted") == 1
    assert counted("buraco_violations_total", reason="CARD_NOT_IN_HAND") == 1


# ---- ListLegalMoves, ScoreDeal, GetView --------------------------------------------------------------


async def test_legal_moves_are_listed(served: Served) -> None:
    """The seat to move gets every legal move once, and each of them is legal; other seats get none."""
    for deal, _ in played()[::90]:
        request = pb.RulesServiceListLegalMovesRequest(snapshot=snapshot_to_pb(deal), seat=deal.seat_to_move)
        response = await served.stub.ListLegalMoves(request)
        assert [move_from_pb(move) for move in response.moves] == legal_moves(deal)
        for move in response.moves[:3]:
            answer = await served.stub.ValidateMoves(
                pb.ValidateMovesRequest(snapshot=request.snapshot, seat=request.seat, moves=[move])
            )
            assert answer.legal
        request.seat = (deal.seat_to_move + 1) % deal.seats
        assert not (await served.stub.ListLegalMoves(request)).moves
    over = pb.RulesServiceListLegalMovesRequest(snapshot=snapshot_to_pb(finished()), seat=finished().seat_to_move)
    assert not (await served.stub.ListLegalMoves(over)).moves


async def test_deals_are_scored(served: Served) -> None:
    """A deal is scored line by line, finished or not, and the answer says which (R9.1)."""
    for deal in (in_the_middle(), finished()):
        response = await served.stub.ScoreDeal(pb.ScoreDealRequest(snapshot=snapshot_to_pb(deal)))
        assert response.score == score_to_pb(score_deal(deal))
        assert response.score.final == (deal.phase is Phase.OVER)


@pytest.mark.parametrize("rules", [CLASSIC, CLOSED], ids=lambda rules: rules.id)
async def test_views_hide_what_they_must(served: Served, rules: RuleSet) -> None:
    """A view shows a seat its hand and the open cards, and no message holds any other card."""
    deal = in_the_middle(rules)
    open_cards = [card for side in deal.sides for meld in side.melds for card in meld.cards]
    pile = deal.pile[-1:] if rules.closed_pile and not deal.turn.must_meld else () if rules.closed_pile else deal.pile
    for seat in (None, *range(deal.seats)):
        request = pb.RulesServiceGetViewRequest(snapshot=snapshot_to_pb(deal), seat=seat)
        view = (await served.stub.GetView(request)).view
        assert view == view_to_pb(view_of(deal, seat))
        assert view.HasField("seat") == (seat is not None)
        hand = () if seat is None else deal.hands[seat]
        view.ClearField("locked_card")
        view.ClearField("must_meld")
        assert sorted(cards_in(view).elements()) == sorted([*open_cards, *pile, *hand])


# ---- ArrangeMeld -------------------------------------------------------------------------------------


def lay_meld(text: str) -> move_pb2.Move:
    """A new meld of cards in text form."""
    return move_pb2.Move(lay_meld=move_pb2.LayMeld(cards=parse_cards(text)))  # type: ignore[arg-type]


def arrange(rule_set_id: str, text: str) -> pb.ArrangeMeldRequest:
    """A request to arrange cards in text form."""
    return pb.ArrangeMeldRequest(rule_set_id=rule_set_id, cards=parse_cards(text))  # type: ignore[arg-type]


async def test_arrangements_are_listed(served: Served) -> None:
    """Cards are arranged in every legal way, the default first, with what they are worth (R5.4, R9)."""
    response = await served.stub.ArrangeMeld(arrange("buraco-plus-classic", "7s Jo 6s 5s"))
    melds = [arrangement.meld for arrangement in response.arrangements]
    assert [(list(meld.cards), meld.low_position, meld.wild_index) for meld in melds] == [
        ([53, 5, 6, 7], 4, 0),
        ([5, 6, 7, 53], 5, 3),
    ]
    assert {arrangement.card_points for arrangement in response.arrangements} == {45}
    assert {arrangement.buraco_points for arrangement in response.arrangements} == {0}
    assert not response.violations
    response = await served.stub.ArrangeMeld(arrange("open", "3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As 2s"))
    (royal,) = response.arrangements
    assert (royal.meld.buraco, royal.buraco_points) == (deal_pb2.BURACO_KIND_ROYAL, 500)


async def test_jokers_alone_are_no_meld(served: Served) -> None:
    """Three jokers are refused for what they are, whether or not there are sets of 2s."""
    for rules in PRESETS:
        if rules.jokers:
            response = await served.stub.ArrangeMeld(arrange(rules.id, "Jo Jo Jo"))
            assert broken(response) == [Violation.TOO_MANY_WILDS, Violation.TOO_FEW_NATURALS]


async def test_arrangements_are_those_of_the_meld_book(served: Served) -> None:
    """Random cards are arranged as the rules do; where they form no meld the reasons are given, and only there."""
    rng = random.Random(4)
    formed = 0
    for _ in range(100):
        rules = rng.choice(PRESETS)
        cards = some_cards(rules, rng, rng.randint(3, 6))
        request = pb.ArrangeMeldRequest(rule_set_id=rules.id, cards=cards)  # type: ignore[arg-type]
        response = await served.stub.ArrangeMeld(request)
        outcomes = meld_book(rules).arrange(None, cards)
        assert [arrangement.meld for arrangement in response.arrangements] == [
            meld_to_pb(outcome.meld) for outcome in outcomes
        ]
        assert all(each.card_points == card_points(rules, cards) for each in response.arrangements)
        assert bool(response.violations) == (not outcomes)
        formed += bool(outcomes)
    assert 10 < formed < 90


@pytest.mark.parametrize(
    ("rule_set", "cards", "reasons"),
    [
        ("buraco-plus-classic", "2h 2d 2s", [Violation.NO_SET_OF_TWOS]),
        ("buraco-plus-classic", "5d Jo 2c", [Violation.TOO_MANY_WILDS, Violation.TOO_FEW_NATURALS]),
        ("buraco-plus-classic", "4s 6s 8s Jo", [Violation.GAP]),
        ("open", "7s 7h 7d", [Violation.NO_SETS]),
        ("buraco-plus-classic", "Kh Ah 3h", [Violation.WRAP]),
        ("buraco-plus-classic", "3h 9s Td", [Violation.NO_MELD]),
        ("open", "As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As 2h", None),
    ],
)
async def test_what_is_no_meld_is_told_why(
    served: Served, rule_set: str, cards: str, reasons: list[Violation] | None
) -> None:
    """Cards that form no meld are answered with the rules they break."""
    response = await served.stub.ArrangeMeld(arrange(rule_set, cards))
    assert not response.arrangements
    assert response.violations
    assert reasons is None or broken(response) == reasons


async def test_house_rules_arrange_too(served: Served) -> None:
    """Cards are arranged under house rules as under a preset."""
    rules = house(PRESETS_BY_ID["open"], sets=True)
    request = arrange("open", "7s 7h 7d")
    request.rule_set.CopyFrom(rule_set_to_pb(rules))
    (arrangement,) = (await served.stub.ArrangeMeld(request)).arrangements
    assert arrangement.meld.kind == deal_pb2.MELD_KIND_SET


# ---- events ------------------------------------------------------------------------------------------


async def test_events_tell_every_card(served: Served) -> None:
    """The trusted backend sees the card that was drawn and the pot that was taken."""
    deal = next(deal for deal, _ in played() if deal.phase is Phase.DRAW)
    response = await served.stub.ValidateMoves(
        pb.ValidateMovesRequest(
            snapshot=snapshot_to_pb(deal),
            seat=deal.seat_to_move,
            moves=[move_pb2.Move(draw_stock=move_pb2.DrawStock())],
        )
    )
    drew = event_pb2.Drew(seat=deal.seat_to_move, stock_count=len(deal.stock) - 1)
    expected: Message = event_pb2.Event(drew=drew)
    (event,) = response.events
    assert event.drew.card == deal.stock[-1]
    event.drew.ClearField("card")
    assert event == expected
