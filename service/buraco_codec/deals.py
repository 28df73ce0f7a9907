"""Reads snapshots: everything of a deal, hidden cards included. `snapshots` writes them."""

from collections.abc import Sequence
from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.cards import cards_from_pb, optional_card_from_pb
from buraco_codec.fields import by_number, check_known, enum_from_pb
from buraco_codec.melds import meld_from_pb
from buraco_codec.rule_sets import rule_set_from_pb
from buraco_codec.sides import side_from_pb
from buraco_rules import MAX_UNDO_STEPS, POTS, Deal, Ending, Match, Path, Phase, Problems, RuleSet, Turn, UndoStep

_PHASES: Final = by_number(Phase)
_ENDINGS: Final = by_number(Ending)


def deal_from_pb(snapshot: deal_pb2.Snapshot, rules: RuleSet | None = None) -> Deal:
    """Return the deal of a snapshot, under `rules` or else the snapshot's own rule set, with its hands sorted.

    Raise ValidationError if something in the message is missing, unknown or too long; fields that this version does not
    know are refused only without `rules`. Whether play can lead to the deal is not checked: `deal_problems` does.
    """
    problems = Problems()
    if rules is None:
        rules = _own_rules(snapshot, problems)
        check_known(snapshot, problems)
    seats = snapshot.seats
    if seats not in (2, 4):
        problems.add("seats", f"2 or 4, not {seats}")
    if not snapshot.HasField("match"):
        problems.add("match", "must be given")
    match = match_from_pb(snapshot.match, "match", problems)
    if not snapshot.HasField("deal"):
        problems.add("deal", "must be given")
        raise problems.error()
    return _deal_from_pb(snapshot.deal, rules, seats, match, problems)


def match_from_pb(match: deal_pb2.Match, path: Path, problems: Problems) -> Match:
    """Return a match; without scores both sides have 0. Add a problem if the number of scores is another than two.

    The numbers are not checked: `match_problems` does.
    """
    scores = match.scores
    pair = (0, 0)
    if len(scores) == 2:
        pair = scores[0], scores[1]
    elif scores:
        problems.add((path, "scores"), f"one for each of two sides, or none, not {len(scores)}")
    return Match(match.deal_number, pair, match.starter, match.target_score)


def _own_rules(snapshot: deal_pb2.Snapshot, problems: Problems) -> RuleSet | None:
    if not snapshot.HasField("rule_set"):
        problems.add("rule_set", "must be given")
        return None
    return problems.collect(lambda: rule_set_from_pb(snapshot.rule_set), None, "rule_set")


def _deal_from_pb(pb: deal_pb2.Deal, rules: RuleSet | None, seats: int, match: Match, problems: Problems) -> Deal:
    stock = cards_from_pb(pb.stock, "deal.stock", problems)
    pile = cards_from_pb(pb.pile, "deal.pile", problems)
    pots = _lists_from_pb(pb.pots, "deal.pots", POTS, problems)
    hands = _lists_from_pb(pb.hands, "deal.hands", 4, problems)
    if len(pb.hands) != seats:
        problems.add("deal.hands", f"one for each of {seats} seats, not {len(pb.hands)}")
    sides = [side_from_pb(side, ("deal.sides", index), problems) for index, side in enumerate(pb.sides[:2])]
    if len(pb.sides) != 2:
        problems.add("deal.sides", f"two sides, not {len(pb.sides)}")
    seat_to_move = pb.seat_to_move
    if seat_to_move >= seats:
        problems.add("deal.seat_to_move", f"a seat, 0 to {seats - 1}, not {seat_to_move}")
    phase = enum_from_pb(_PHASES, pb.phase, "phase", "deal.phase", problems)
    if not pb.HasField("turn"):
        problems.add("deal.turn", "must be given")
    turn = _turn_from_pb(pb.turn, problems)
    ending = enum_from_pb(_ENDINGS, pb.ending, "ending", "deal.ending", problems)
    if rules is None or phase is None or ending is None or problems:
        raise problems.error()
    sorted_hands = tuple([tuple(sorted(hand)) for hand in hands])
    return Deal(
        rules, seats, match, stock, pile, pots, sorted_hands, (sides[0], sides[1]), seat_to_move, phase, turn, ending
    )


def _lists_from_pb(
    lists: Sequence[deal_pb2.Cards], field: str, most: int, problems: Problems
) -> tuple[tuple[int, ...], ...]:
    if len(lists) > most:
        problems.add(field, f"at most {most}, not {len(lists)}")
        return ()
    return tuple([cards_from_pb(cards.cards, (field, index, "cards"), problems) for index, cards in enumerate(lists)])


def _turn_from_pb(turn: deal_pb2.Turn, problems: Problems) -> Turn:
    steps: Sequence[deal_pb2.UndoStep] = turn.undo
    if len(steps) > MAX_UNDO_STEPS:
        problems.add("deal.turn.undo", f"at most {MAX_UNDO_STEPS} steps, not {len(steps)}")
        steps = ()
    return Turn(
        turn.number,
        optional_card_from_pb(turn.locked_card, "deal.turn.locked_card", problems),
        optional_card_from_pb(turn.must_meld, "deal.turn.must_meld", problems),
        turn.opening_attempt,
        tuple([_undo_step_from_pb(step, ("deal.turn.undo", index), problems) for index, step in enumerate(steps)]),
    )


def _undo_step_from_pb(step: deal_pb2.UndoStep, path: Path, problems: Problems) -> UndoStep:
    return UndoStep(
        step.meld,
        meld_from_pb(step.before, (path, "before"), problems) if step.HasField("before") else None,
        cards_from_pb(step.cards, (path, "cards"), problems),
        optional_card_from_pb(step.locked_card, (path, "locked_card"), problems),
        optional_card_from_pb(step.must_meld, (path, "must_meld"), problems),
        step.unplayed_pot,
    )
