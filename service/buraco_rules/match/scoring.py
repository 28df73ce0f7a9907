"""The score of a deal (R9)."""

from collections.abc import Iterator
from functools import lru_cache

from buraco_rules.deal import CLOSING_BONUS, NO_POT_PENALTY, UNUSED_POT_PENALTY, Deal, Ending, Phase, Side
from buraco_rules.meld import buraco_points, card_points
from buraco_rules.rule_sets import RuleSet
from buraco_rules.scores import DealScore, ScoreLine, ScoreLineKind, SideScore


def score_deal(deal: Deal) -> DealScore:
    """Return the score line by line; of a running deal as if it ended now without a close.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32))
    >>> [(line.kind.name, line.points) for line in score_deal(deal._replace(hands=((3, 9), (1,)))).sides[0].lines]
    [('HAND', -15), ('NO_POT', -100)]
    """
    return DealScore((_side_score(deal, 0), _side_score(deal, 1)), deal.phase is Phase.OVER)


def table_points(deal: Deal, side: int) -> int:
    """Return what a side would count now without its hands, penalties included: all but what hidden cards decide.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> table_points(deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32))[0], side=0)
    -100
    """
    return _table_points(deal.rules, deal.sides[side], _has_closed(deal, side), _is_spared(deal))


@lru_cache(1024)  # 9 MiB at most: a side may have 36 melds, and a rule set of its own
def _table_points(rules: RuleSet, own: Side, closed: bool, spared: bool) -> int:
    """Return `table_points`, cached because sides are looked at more often than they change."""
    melds = sum([card_points(rules, meld.cards) + buraco_points(rules, meld.buraco) for meld in own.melds])
    return melds + sum([line.points for line in _bonuses_and_penalties(rules, own, closed=closed, spared=spared)])


def _has_closed(deal: Deal, side: int) -> bool:
    return deal.ending is Ending.CLOSED and deal.seat_to_move & 1 == side


def _is_spared(deal: Deal) -> bool:
    """Return True if no side is charged for having taken no pot, because neither took one (R9.1)."""
    return deal.rules.no_pot_both_free and not any([side.pots_taken for side in deal.sides])


def _side_score(deal: Deal, side: int) -> SideScore:
    lines = tuple(sorted(_lines(deal, side), key=_kind))
    total = sum(line.points for line in lines)
    return SideScore(side, lines, total, deal.match.scores[side] + total, deal.sides[side].melds)


def _lines(deal: Deal, side: int) -> Iterator[ScoreLine]:
    rules, own = deal.rules, deal.sides[side]
    for index, meld in enumerate(own.melds):
        yield ScoreLine(ScoreLineKind.MELD_CARDS, card_points(rules, meld.cards), meld=index)
    for index, meld in enumerate(own.melds):
        if meld.buraco:
            yield ScoreLine(ScoreLineKind.BURACO, buraco_points(rules, meld.buraco), meld=index, buraco=meld.buraco)
    for seat in range(side, deal.seats, 2):
        if deal.hands[seat]:
            yield ScoreLine(ScoreLineKind.HAND, -card_points(rules, deal.hands[seat]), seat=seat)
    yield from _bonuses_and_penalties(rules, own, closed=_has_closed(deal, side), spared=_is_spared(deal))


def _bonuses_and_penalties(rules: RuleSet, own: Side, *, closed: bool, spared: bool) -> Iterator[ScoreLine]:
    if closed:
        yield ScoreLine(ScoreLineKind.CLOSING, CLOSING_BONUS)
    if not own.pots_taken and not spared:
        yield ScoreLine(ScoreLineKind.NO_POT, -NO_POT_PENALTY)
    if rules.unused_pot_penalty and own.unplayed_pots:
        yield ScoreLine(ScoreLineKind.UNUSED_POT, -UNUSED_POT_PENALTY)
    if own.opening_penalties:
        yield ScoreLine(ScoreLineKind.OPENING_PENALTIES, -own.opening_penalties)


def _kind(line: ScoreLine) -> ScoreLineKind:
    return line.kind
