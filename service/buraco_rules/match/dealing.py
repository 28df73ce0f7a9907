"""Deal the cards of a seed (R2)."""

from buraco_rules.cards import deck
from buraco_rules.deal import HAND_SIZE, POTS, Deal, Match, Phase, Side, Turn
from buraco_rules.events import Dealt
from buraco_rules.rule_sets import RuleSet
from buraco_rules.shuffle import SeedStream


def deal_first(
    rules: RuleSet, seats: int, seed: bytes, *, starter: int | None = None, target_score: int = 0
) -> tuple[Deal, Dealt]:
    """Return the first deal of a match and its event; without a given starter the seed chooses one (R2.3).

    Raise ValueError for a number of seats other than 2 or 4 (R2.1), a starter that is no seat, or a seed that is not
    32 bytes.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> deal, dealt = deal_first(PRESETS_BY_ID["open"], 4, bytes(32), starter=2)
    >>> deal.seat_to_move, len(deal.hand), len(deal.stock)
    (2, 11, 38)
    """
    return deal_match(rules, seats, seed, Match(target_score=target_score, starter=-1 if starter is None else starter))


def deal_match(rules: RuleSet, seats: int, seed: bytes, match: Match) -> tuple[Deal, Dealt]:
    """Return deal `match.deal_number` of a match and its event. A starter of -1 is drawn from the seed.

    Raise ValueError as `deal_first`; number and scores are not checked: `match_problems` does.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> deal, dealt = deal_match(PRESETS_BY_ID["open"], 2, bytes(32), Match(deal_number=2, starter=0))
    >>> dealt.starter
    1
    """
    if seats not in (2, 4):
        raise ValueError(f"2 or 4 seats, not {seats}")
    stream = SeedStream(seed)
    cards = deck(rules.jokers)
    stream.shuffle(cards)
    if match.starter == -1:
        match = match._replace(starter=stream.choice(seats))
    if not 0 <= match.starter < seats:
        raise ValueError(f"the starter must be a seat, 0 to {seats - 1}")
    starter = (match.starter + match.deal_number - 1) % seats
    hands: list[list[int]] = [[] for _ in range(seats)]
    for turn in range(HAND_SIZE * seats):
        hands[(starter + turn) % seats].append(cards.pop())
    pots = tuple(tuple(cards.pop() for _ in range(HAND_SIZE)) for _ in range(POTS))
    upcard = cards.pop() if rules.upcard else 0
    dealt = Deal(
        rules=rules,
        seats=seats,
        match=match,
        stock=tuple(cards),
        pile=(upcard,) if upcard else (),
        pots=pots,
        hands=tuple(tuple(sorted(hand)) for hand in hands),
        sides=(_opening_side(rules, match.scores[0]), _opening_side(rules, match.scores[1])),
        seat_to_move=starter,
        phase=Phase.DRAW,
        turn=Turn(),
    )
    return dealt, Dealt(match.deal_number, starter, upcard, dealt.hands, len(dealt.stock))


def _opening_side(rules: RuleSet, match_score: int) -> Side:
    """Return a side at the start of a deal: from the threshold on it needs the opening minimum (R11.2)."""
    minimum = rules.opening_minimum
    if minimum is None or match_score < minimum.threshold:
        return Side()
    return Side(opening_required=minimum.points)
