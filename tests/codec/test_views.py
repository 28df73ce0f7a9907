import random
from collections import Counter

import pytest

from buraco.v1 import deal_pb2, view_pb2
from buraco_codec.fields import Untyped
from buraco_codec.melds import meld_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.scores import score_to_pb
from buraco_codec.views import view_from_pb, view_to_pb
from buraco_rules import (
    PRESETS,
    Deal,
    Match,
    Phase,
    RuleSet,
    ScoreLineKind,
    ValidationError,
    apply,
    deal_match,
    legal_moves,
    score_deal,
    view_of,
)
from tests.rules.playouts import played
from tests.service.rules_server import cards_in

DEALS = [deal for deal, _ in played()][::12]


@pytest.mark.parametrize("own", [True, False], ids=["own", "public"])
def test_views_cross(own: bool) -> None:
    """A view crosses with every field it has."""
    for deal in DEALS:
        view = view_of(deal, deal.seat_to_move if own else None)
        message = view_pb2.View.FromString(view_to_pb(view).SerializeToString())
        assert message.HasField("seat") == own
        assert message.seat == (view.seat or 0)
        assert tuple(message.hand) == view.hand
        assert [(seat.seat, seat.side, seat.hand_count) for seat in message.seats] == [
            (seat, seat % 2, count) for seat, count in enumerate(view.hand_counts)
        ]
        for side, shown in zip(message.sides, view.sides, strict=True):
            assert list(side.melds) == [meld_to_pb(meld) for meld in shown.melds]
            for name in ("pots_taken", "opening_required", "opening_penalties", "match_score", "table_points"):
                assert getattr(side, name) == getattr(shown, name)
        for name in (
            "stock_count",
            "pile_count",
            "seat_to_move",
            "phase",
            "turn_number",
            "locked_card",
            "must_meld",
            "opening_attempt",
            "ending",
            "starter",
        ):
            assert getattr(message, name) == getattr(view, name)
        for name in ("pile", "pot_counts", "next_actions"):
            assert tuple(getattr(message, name)) == tuple(getattr(view, name))
        assert message.rule_set == rule_set_to_pb(deal.rules)
        assert tuple(message.match.scores) == deal.match.scores
        assert message.match.deal_number == deal.match.deal_number


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_views_round_trip(rules: RuleSet) -> None:
    """A view is read as it was sent, at every step of a deal, for every seat and for the public."""
    rng = random.Random(5)
    deal, _ = deal_match(rules, 4, b"v" * 32, Match(3, (1200, -45), 1, 2005))
    while deal.phase is not Phase.OVER:
        for seat in (None, *range(4)):
            sent = view_of(deal, seat)
            read = view_from_pb(view_pb2.View.FromString(view_to_pb(sent).SerializeToString()))
            assert read == sent
            assert read.rules is view_from_pb(view_to_pb(sent)).rules
        deal, _ = apply(deal, rng.choice(legal_moves(deal)))


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        (dict(phase=9), {"phase": "9 is no phase"}),
        (dict(ending=9), {"ending": "9 is no ending"}),
        (dict(next_actions=[1, 9]), {"next_actions[1]": "9 is no action"}),
        (dict(hand=[1, 60]), {"hand[1]": "60 is no card"}),
        (dict(locked_card=60, must_meld=61), {"locked_card": "60 is no card", "must_meld": "61 is no card"}),
        (dict(sides=[]), {"sides": "two sides, not 0"}),
        (
            dict(sides=[view_pb2.SideView(melds=[deal_pb2.Meld(cards=[1, 2, 3])]), view_pb2.SideView()]),  # type: ignore[list-item]
            {"sides[0].melds[0].kind": "must be given"},
        ),
        (dict(match=deal_pb2.Match(scores=[1])), {"match.scores": "one for each of two sides, or none, not 1"}),
    ],
    ids=str,
)
def test_views_that_are_not_known_are_refused(change: dict[str, Untyped], problems: dict[str, str]) -> None:
    """What a view holds that these rules do not know is refused, so that no bot plays on from it."""
    message = view_to_pb(view_of(DEALS[0], 0))
    for name in change:
        message.ClearField(name)  # type: ignore[arg-type]
    message.MergeFrom(view_pb2.View(**change))
    with pytest.raises(ValidationError) as caught:
        view_from_pb(message)
    assert dict(caught.value.problems) == problems


def known_cards(deal: Deal, seat: int | None) -> Counter[int]:
    """All cards that a seat may see."""
    known = Counter(card for side in deal.sides for meld in side.melds for card in meld.cards)
    if seat is not None:
        known += Counter(deal.hands[seat])
    if not deal.rules.closed_pile:
        known += Counter(deal.pile)
    elif not deal.turn.must_meld:
        known += Counter(deal.pile[-1:])
    return known + Counter(card for card in (deal.turn.locked_card, deal.turn.must_meld) if card)


def test_a_view_holds_no_hidden_card() -> None:
    """A view holds the own hand, the melds and the open pile, and no other card anywhere in the message."""
    for deal in DEALS:
        for seat in (None, *range(deal.seats)):
            assert cards_in(view_to_pb(view_of(deal, seat))) == known_cards(deal, seat)


def test_scores_cross() -> None:
    """A score crosses line by line, with the melds that lines count; what a line does not speak of is absent."""
    kinds = set()
    for deal in DEALS + [deal for deal, _ in played() if deal.ending]:
        score = score_deal(deal)
        message = score_to_pb(score)
        assert message.final == score.final
        assert len(message.sides) == 2
        for side, shown in zip(message.sides, score.sides, strict=True):
            assert (side.side, side.total, side.match_total) == (shown.side, shown.total, shown.match_total)
            assert sum(line.points for line in side.lines) == side.total
            assert list(side.melds) == [meld_to_pb(meld) for meld in shown.melds]
            for line, own in zip(side.lines, shown.lines, strict=True):
                assert (int(line.kind), line.points, int(line.buraco)) == (own.kind, own.points, own.buraco)
                assert (line.meld if line.HasField("meld") else None) == own.meld
                assert (line.seat if line.HasField("seat") else None) == own.seat
                kinds.add(ScoreLineKind(line.kind))
    assert kinds == set(ScoreLineKind)
