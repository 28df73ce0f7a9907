"""Reading snapshots: all of a match, hidden cards included. They are written by `snapshots`."""

from collections.abc import Sequence
from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.cards import cards_from_pb, optional_card_from_pb
from buraco_codec.fields import by_number, check_known
from buraco_codec.melds import meld_from_pb
from buraco_codec.rule_sets import rule_set_from_pb
from buraco_codec.sides import side_from_pb
from buraco_rules import MAX_UNDO_STEPS, POTS, Deal, Ending, Match, Path, Phase, Problems, RuleSet, Turn, UndoStep

_PHASES: Final = by_number(Phase)
_ENDINGS: Final = by_number(Ending)


def deal_from_pb(snapshot: deal_pb2.Snapshot, rules: RuleSet | None = None) -> Deal:
    """The deal of a snapshot, under `rules` or else the snapshot's own rule set; hands may come in any order.

    Raise ValidationError where the message has not the form of a deal: something is missing, unknown or too many.
    Whether play could have led there is another question: see `buraco_rules.deal_problems`.
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
    """Where a match stands; no scores mean 0 for both sides."""
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
    phase = _PHASES.get(pb.phase)
    if phase is None:
        problems.add("deal.phase", f"{pb.phase} is no phase" if pb.phase else "must be given")
    if not pb.HasField("turn"):
        problems.add("deal.turn", "must be given")
    turn = _turn_from_pb(pb.turn, problems)
    ending = _ENDINGS.get(pb.ending)
    if ending is None:
        problems.add("deal.ending", f"{pb.ending} is no ending")
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
