import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from buraco.v1 import deal_pb2
from buraco_codec.deals import deal_from_pb
from buraco_codec.fields import Untyped
from buraco_codec.melds import meld_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.snapshots import match_to_pb, snapshot_to_pb
from buraco_rules import (
    MAX_PROBLEMS,
    PRESETS,
    PRESETS_BY_ID,
    Deal,
    Phase,
    Problem,
    RuleSet,
    Turn,
    UndoStep,
    ValidationError,
    apply,
    legal_moves,
)
from tests.rules.playouts import played, playout
from tests.service.rules_server import cards_in, spoil

Snapshot = deal_pb2.Snapshot


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.id)
def test_every_position_round_trips(preset: RuleSet, seats: int) -> None:
    """Every position of a random deal crosses unchanged, and its bytes come out the same again."""
    for deal, _ in playout(preset, seats, 7):
        data = snapshot_to_pb(deal).SerializeToString()
        read = deal_from_pb(Snapshot.FromString(data))
        assert read == deal
        assert read.rules is preset
        assert snapshot_to_pb(read).SerializeToString() == data


def test_the_deals_show_everything() -> None:
    """The positions that cross hold all that a position can hold: locks, obligations, steps to undo, attempts, pots."""
    deals = [deal for deal, _ in played(2)]
    sides = [side for deal in deals for side in deal.sides]
    turns = [deal.turn for deal in deals]
    steps = [step for turn in turns for step in turn.undo]
    assert {deal.phase for deal in deals} == set(Phase)
    assert any(turn.locked_card for turn in turns)
    assert any(turn.must_meld for turn in turns)
    assert any(turn.opening_attempt for turn in turns)
    assert any(side.opening_required and side.opening_penalties for side in sides)
    assert any(side.unplayed_pots for side in sides)
    assert any(meld.stays_dirty and meld.buraco for side in sides for meld in side.melds)
    assert any(step.before is None for step in steps)
    assert any(step.before and step.cards for step in steps)
    assert any(step.before and not step.cards for step in steps)
    assert any(step.unplayed_pot for step in steps)
    assert {len(deal.pots) for deal in deals} == {0, 1, 2}
    assert any(deal.ending for deal in deals)


def test_steps_to_undo_keep_their_obligations() -> None:
    """What bound the turn before a play that can be taken back crosses with it."""
    deal = next(deal for deal, _ in played() if deal.phase is Phase.MELD and deal.side.melds)
    step = UndoStep(meld=0, before=None, cards=(5, 6), locked_card=5, must_meld=6, unplayed_pot=True)
    deal = deal._replace(turn=Turn(9, undo=(step, step._replace(before=deal.side.melds[0], unplayed_pot=False))))
    assert deal_from_pb(snapshot_to_pb(deal)) == deal


def test_rules_may_be_kept_beside_the_snapshot() -> None:
    """Without its rule set a snapshot is read under the one that is given."""
    deal = played()[0][0]
    bare = snapshot_to_pb(deal, with_rules=False)
    assert not bare.HasField("rule_set")
    assert deal_from_pb(bare, deal.rules) == deal
    with pytest.raises(ValidationError) as caught:
        deal_from_pb(bare)
    assert caught.value.problems == (("rule_set", "must be given"),)


def test_hands_come_in_any_order() -> None:
    """Hands are sorted when read; pots, pile and stock keep their order."""
    deal = played()[0][0]
    message = snapshot_to_pb(deal)
    for cards in (*message.deal.hands, *message.deal.pots):
        turned = cards.cards[::-1]
        del cards.cards[:]
        cards.cards.extend(turned)
    read = deal_from_pb(message)
    assert read.hands == deal.hands
    assert read.pots == tuple(pot[::-1] for pot in deal.pots)


def test_no_scores_are_nil() -> None:
    """A match without scores stands at 0 for both sides."""
    deal = played()[0][0]
    deal = deal._replace(match=deal.match._replace(scores=(0, 0)))
    message = snapshot_to_pb(deal)
    message.match.ClearField("scores")
    assert deal_from_pb(message) == deal


def test_messages_are_not_shared() -> None:
    """Whoever changes a snapshot changes neither the next one nor the preset."""
    deal = next(deal for deal, _ in played() if deal.side.melds)
    message: Untyped = snapshot_to_pb(deal)
    before = message.SerializeToString()
    message.rule_set.clean = 1
    message.deal.sides[deal.seat_to_move & 1].melds[0].cards.append(1)
    message.match.scores.append(1)
    assert snapshot_to_pb(deal).SerializeToString() == before
    assert rule_set_to_pb(deal.rules).clean != 1
    assert match_to_pb(deal.match).scores == list(deal.match.scores)


def test_all_cards_are_there() -> None:
    """A snapshot holds the whole deck."""
    for deal, _ in played()[::50]:
        message = snapshot_to_pb(deal)
        message.deal.ClearField("turn")
        assert cards_in(message).total() == 104 + deal.rules.jokers


BAD: dict[str, tuple[Callable[[Any], None], set[str]]] = {
    "no rule set": (lambda s: s.ClearField("rule_set"), {"rule_set"}),
    "unknown enum in rules": (lambda s: setattr(s.rule_set, "tie", 7), {"rule_set.tie"}),
    "seats": (lambda s: setattr(s, "seats", 3), {"seats", "deal.hands"}),
    "no seats": (lambda s: s.ClearField("seats"), {"seats", "deal.hands", "deal.seat_to_move"}),
    "no match": (lambda s: s.ClearField("match"), {"match"}),
    "one score": (lambda s: s.match.scores.pop(), {"match.scores"}),
    "three scores": (lambda s: s.match.scores.append(1), {"match.scores"}),
    "no deal": (lambda s: s.ClearField("deal"), {"deal"}),
    "no turn": (lambda s: s.deal.ClearField("turn"), {"deal.turn"}),
    "no phase": (lambda s: s.deal.ClearField("phase"), {"deal.phase"}),
    "unknown phase": (lambda s: setattr(s.deal, "phase", -3), {"deal.phase"}),
    "unknown ending": (lambda s: setattr(s.deal, "ending", 5), {"deal.ending"}),
    "no card in the stock": (lambda s: s.deal.stock.insert(2, 0), {"deal.stock[2]"}),
    "unknown card in the pile": (lambda s: s.deal.pile.insert(0, 54), {"deal.pile[0]"}),
    "negative card in a hand": (lambda s: s.deal.hands[1].cards.insert(0, -1), {"deal.hands[1].cards[0]"}),
    "unknown card in a pot": (lambda s: s.deal.pots[0].cards.append(99), {"deal.pots[0].cards[11]"}),
    "endless stock": (lambda s: s.deal.stock.extend([1] * 5000), {"deal.stock"}),
    "three pots": (lambda s: s.deal.pots.extend([deal_pb2.Cards()] * 2), {"deal.pots"}),
    "a hand too many": (lambda s: s.deal.hands.add(), {"deal.hands"}),
    "five hands": (lambda s: s.deal.hands.extend([deal_pb2.Cards()] * 3), {"deal.hands"}),
    "a hand too few": (lambda s: s.deal.hands.pop(), {"deal.hands"}),
    "one side": (lambda s: s.deal.sides.pop(), {"deal.sides"}),
    "three sides": (lambda s: s.deal.sides.add(), {"deal.sides"}),
    "seat": (lambda s: setattr(s.deal, "seat_to_move", 2), {"deal.seat_to_move"}),
    "no kind of meld": (lambda s: s.deal.sides[0].melds[1].ClearField("kind"), {"deal.sides[0].melds[1].kind"}),
    "unknown kind of meld": (lambda s: setattr(s.deal.sides[0].melds[0], "kind", 3), {"deal.sides[0].melds[0].kind"}),
    "no place": (
        lambda s: setattr(s.deal.sides[0].melds[0], "low_position", 15),
        {"deal.sides[0].melds[0].low_position"},
    ),
    "unknown buraco": (lambda s: setattr(s.deal.sides[0].melds[0], "buraco", 6), {"deal.sides[0].melds[0].buraco"}),
    "two cards": (
        lambda s: s.deal.sides[0].melds[0].cards.__delitem__(slice(2, None)),
        {"deal.sides[0].melds[0].cards"},
    ),
    "no card in a meld": (
        lambda s: s.deal.sides[0].melds[0].cards.append(0),
        {"deal.sides[0].melds[0].cards[3]"},
    ),
    "no wild there": (
        lambda s: setattr(s.deal.sides[0].melds[0], "wild_index", 77),
        {"deal.sides[0].melds[0].wild_index"},
    ),
    "too many melds": (
        lambda s: s.deal.sides[0].melds.extend([s.deal.sides[0].melds[0]] * 37),
        {"deal.sides[0].melds"},
    ),
    "seats of pots": (lambda s: s.deal.sides[0].unplayed_pots.extend([0, 0, 0]), {"deal.sides[0].unplayed_pots"}),
    "lock": (lambda s: setattr(s.deal.turn, "locked_card", 54), {"deal.turn.locked_card"}),
    "obligation": (lambda s: setattr(s.deal.turn, "must_meld", -1), {"deal.turn.must_meld"}),
    "too many steps": (lambda s: s.deal.turn.undo.extend([s.deal.turn.undo[0]] * 128), {"deal.turn.undo"}),
    "card of a step": (lambda s: s.deal.turn.undo[0].cards.insert(0, 0), {"deal.turn.undo[0].cards[0]"}),
    "lock of a step": (lambda s: setattr(s.deal.turn.undo[0], "locked_card", 60), {"deal.turn.undo[0].locked_card"}),
    "obligation of a step": (lambda s: setattr(s.deal.turn.undo[0], "must_meld", 60), {"deal.turn.undo[0].must_meld"}),
    "meld of a step": (
        lambda s: s.deal.turn.undo[0].before.SetInParent(),
        {"deal.turn.undo[0].before.kind", "deal.turn.undo[0].before.cards"},
    ),
}


@pytest.fixture(scope="module")
def rich() -> Deal:
    """A position with a bit of everything: pots, melds of both sides, steps to undo."""
    return next(
        deal
        for seed in range(50)
        for deal, _ in playout(PRESETS_BY_ID["buraco-plus-classic"], 2, seed)
        if deal.turn.undo
        and deal.turn.undo[0].before is None
        and len(deal.pots) == 2
        and min(len(side.melds) for side in deal.sides) > 1
        and len(deal.sides[0].melds[0].cards) == 3
        and deal.sides[0].melds[0].wild_index is None
    )


@pytest.mark.parametrize("name", BAD)
def test_malformed_snapshots_are_refused(name: str, rich: Deal) -> None:
    """What is missing, unknown or too many is refused with the path of the field at fault."""
    change, fields = BAD[name]
    message = snapshot_to_pb(rich)
    change(message)
    with pytest.raises(ValidationError) as caught:
        deal_from_pb(message)
    assert {problem.path for problem in caught.value.problems} == fields
    assert all(problem.problem for problem in caught.value.problems)


def test_all_problems_are_reported(rich: Deal) -> None:
    """Problems of different parts are reported together, in the order of the message, and no more than can be read."""
    message: Untyped = snapshot_to_pb(rich)
    message.rule_set.jokers = 1
    message.match.scores.append(3)
    message.deal.stock[0] = 0
    message.deal.sides[1].melds[0].cards[1] = 54
    message.deal.ending = 9
    with pytest.raises(ValidationError) as caught:
        deal_from_pb(message)
    assert [problem.path for problem in caught.value.problems] == [
        "rule_set.jokers",
        "match.scores",
        "deal.stock[0]",
        "deal.sides[1].melds[0].cards[1]",
        "deal.ending",
    ]
    message.deal.stock[:] = [0] * 108
    message.deal.pile[:] = [0] * 108
    with pytest.raises(ValidationError) as caught:
        deal_from_pb(message)
    assert len(caught.value.problems) == MAX_PROBLEMS


def test_large_melds_and_sides_are_read_too() -> None:
    """What is too large to be cached is read all the same: a meld of 108 cards, and many melds."""
    deal = next(deal for deal, _ in played() if deal.side.melds)
    meld = deal.side.melds[0]._replace(cards=(1,) * 108)
    deal = deal._replace(sides=deal.replace_side(deal.side._replace(melds=(meld,) * 36)))
    assert deal_from_pb(snapshot_to_pb(deal)) == deal
    assert meld_to_pb(meld).cards == [1] * 108


def read(message: deal_pb2.Snapshot) -> tuple[Deal | None, tuple[Problem, ...]]:
    """Return the deal of a snapshot, or its problems."""
    try:
        return deal_from_pb(message), ()
    except ValidationError as error:
        return None, error.problems


@settings(deadline=None, database=None, derandomize=True, max_examples=400)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_spoiled_snapshots_are_read_or_refused(seed: int, times: int) -> None:
    """A snapshot with random things changed in it is a deal that crosses back, or its problems are named."""
    rng = random.Random(seed)
    message = snapshot_to_pb(rng.choice(played())[0])
    for _ in range(times):
        spoil(message, rng)
    deal, problems = read(message)
    assert (deal is None) == bool(problems)
    assert deal is None or read(snapshot_to_pb(deal)) == (deal, ())


@settings(deadline=None, database=None, derandomize=True, max_examples=300)
@given(st.integers(0, 2**32), st.data())
def test_corrupt_bytes_are_read_or_refused(seed: int, data: st.DataObject) -> None:
    """Stored bytes with some of them changed are no message, an invalid one, or a deal: never another error."""
    stored = bytearray(snapshot_to_pb(random.Random(seed).choice(played())[0]).SerializeToString())
    for place in data.draw(st.lists(st.integers(0, len(stored) - 1), min_size=1, max_size=5)):
        stored[place] = data.draw(st.integers(0, 255))
    try:
        deal = deal_from_pb(Snapshot.FromString(bytes(stored)))
    except (DecodeError, ValidationError):
        return
    assert deal_from_pb(snapshot_to_pb(deal)) == deal


LATER = b"\xfa\x7f\x03abc"
"""A field of a later version."""


@pytest.mark.parametrize("place", ["", "deal", "deal.turn", "deal.hands", "deal.sides", "match"])
def test_snapshots_of_later_versions_are_refused(place: str) -> None:
    """Fields of a later version may change what is legal, so that they are not ignored."""
    later: Untyped = snapshot_to_pb(played()[40][0])
    part = later
    for name in filter(None, place.split(".")):
        part = getattr(part, name)
    (part[0] if place in ("deal.hands", "deal.sides") else part).MergeFromString(LATER)
    with pytest.raises(ValidationError) as refused:
        deal_from_pb(Snapshot.FromString(later.SerializeToString()))
    assert refused.value.problems == (("", "says what this version does not know: ask a later one"),)


def test_play_goes_on_from_what_was_read() -> None:
    """A deal that was read has the same legal moves as the one that was written, with the same outcome."""
    for deal, after in pairwise(deal for deal, _ in played()[::60]):
        assert deal != after
        read = deal_from_pb(snapshot_to_pb(deal))
        moves = legal_moves(deal)
        assert legal_moves(read) == moves
        assert [apply(read, move) for move in moves[:3]] == [apply(deal, move) for move in moves[:3]]
