"""Count the score of a finished deal anew from the rules: a second opinion on replayed deals."""

from buraco.v1 import deal_pb2, rule_set_pb2
from tests.vectors.words import JOKER, SET, rank

_CLOSED = 1


def totals(snapshot: deal_pb2.Snapshot) -> list[int]:
    """Return what a finished deal counts for either side (R9.1)."""
    return [_total(snapshot, number) for number in range(2)]


def _total(snapshot: deal_pb2.Snapshot, number: int) -> int:
    rules, deal = snapshot.rule_set, snapshot.deal
    side = deal.sides[number]
    points = 0
    for meld in side.melds:
        points += sum([_value(rules, card) for card in meld.cards]) + _bonus(rules, meld)
    for seat in range(number, snapshot.seats, 2):
        points -= sum([_value(rules, card) for card in deal.hands[seat].cards])
    if deal.ending == _CLOSED and deal.seat_to_move % 2 == number:
        points += 100
    neither = not any([each.pots_taken for each in deal.sides])
    if not side.pots_taken and not (neither and rules.no_pot_both_free):
        points -= 100
    if rules.unused_pot_penalty and side.unplayed_pots:
        points -= 100
    return points - side.opening_penalties


def _value(rules: rule_set_pb2.RuleSet, card: int) -> int:
    """Return the value of a card (R1.2)."""
    if card == JOKER:
        return rules.value_joker
    values = {1: 15, 2: rules.value_two}
    return values.get(rank(card), 5 if rank(card) <= 7 else 10)


def _bonus(rules: rule_set_pb2.RuleSet, meld: deal_pb2.Meld) -> int:
    """Return the bonus of the first kind of buraco that fits and is valued (R9.2)."""
    size = len(meld.cards)
    if size < 7:
        return 0
    if meld.HasField("wild_index"):
        longest = max(meld.wild_index, size - 1 - meld.wild_index)
        semi_clean = longest >= 7 and (meld.kind != SET or rules.semi_clean_sets)
        if meld.kind != SET and longest < size - 1 and rules.semi_clean_end_wild:
            semi_clean = False
        return rules.semi_clean if semi_clean and rules.semi_clean else rules.dirty
    if meld.stays_dirty:
        return rules.dirty
    if meld.kind != SET:
        if size == 14 and rules.ace_to_ace:
            return rules.ace_to_ace
        if size >= 13 and rules.royal:
            return rules.royal
    return rules.clean or rules.dirty
