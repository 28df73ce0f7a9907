"""The reasons for which cards cannot be laid, looked for only once a lay has been refused."""

from buraco_rules.cards import ACE, ACE_HIGH, KING, RANK, SUIT, TWO, TWOS, WILDS
from buraco_rules.meld import SET, Meld, run_suit
from buraco_rules.melds.meld_book import meld_book
from buraco_rules.melds.runs import (
    BOTH_ACES,
    NO_RUN,
    OWN_TWO,
    PLACE_BITS,
    bounds,
    has_free_wild,
    max_aces,
    run_shape,
)
from buraco_rules.melds.sets import set_size_violations, set_violations
from buraco_rules.rule_sets import RuleSet
from buraco_rules.violations import Violation


def why_not_laid(
    rules: RuleSet, base: Meld | None, cards: tuple[int, ...], wild_position: int | None
) -> list[Violation]:
    """Return the rules that laying these cards on `base` (None: as a new meld) breaks, the principal first.

    Never empty: ask only of cards that cannot be laid so.

    >>> from buraco_notation import parse_cards
    >>> from buraco_rules import PRESETS_BY_ID
    >>> why_not_laid(PRESETS_BY_ID["burraco"], None, parse_cards("4h 5h 9h"), None)
    [<Violation.GAP: 16>]
    """
    if wild_position is not None and meld_book(rules).arrange(base, cards):
        return [Violation.WILD_POSITION]
    if not cards or (base is None and len(cards) < 3):
        return [Violation.TOO_FEW_CARDS]
    if base is None:
        return _why_no_new_meld(rules, cards)
    if base.kind is SET:
        return _why_no_set(rules, (*base.cards, *cards), RANK[base.natural])
    return _why_no_run(rules, base, cards)


def why_wild_stays(rules: RuleSet, meld: Meld) -> Violation:
    """Return why no wild of the meld can be moved by a move of its own (R5.2)."""
    if meld.wild_index is None or meld.kind is SET:
        return Violation.NO_WILD_TO_MOVE
    return Violation.NO_PLACE_FOR_WILD if has_free_wild(rules, meld) else Violation.WILD_STAYS


def _why_no_new_meld(rules: RuleSet, cards: tuple[int, ...]) -> list[Violation]:
    naturals = [card for card in cards if card not in WILDS]
    ranks = {RANK[card] for card in naturals}
    if not naturals:
        # Jokers, alone or with a single 2, would be no set of 2s either.
        twos = sum(RANK[card] == TWO for card in cards)
        return set_size_violations(rules, twos, len(cards) - twos) or _why_no_set(rules, cards, TWO)
    if len(naturals) > 1 and len(ranks) == 1:
        return _why_no_set(rules, cards, RANK[naturals[0]])
    if len({SUIT[card] for card in naturals}) == 1:
        return _why_no_run(rules, None, cards)
    return [Violation.NO_MELD]


def _why_no_set(rules: RuleSet, cards: tuple[int, ...], rank: int) -> list[Violation]:
    naturals = sum(RANK[card] == rank for card in cards)
    violations = set_violations(rules, rank, naturals, len(cards) - naturals)
    is_of_rank = all(RANK[card] == rank or card in WILDS for card in cards)
    return violations if is_of_rank or not rules.sets else [Violation.CARD_DOES_NOT_FIT]


def _why_no_run(rules: RuleSet, base: Meld | None, laid: tuple[int, ...]) -> list[Violation]:
    naturals = [card for card in laid if card not in WILDS]
    suit = run_suit(base) if base is not None else SUIT[naturals[0]]
    if any(SUIT[card] != suit for card in naturals):
        return [Violation.CARD_DOES_NOT_FIT]
    run = NO_RUN if base is None else run_shape(rules, base)
    wilds = len(laid) - len(naturals) + (run.wild > 0)
    own_twos = laid.count(TWOS[suit]) + (run.wild == OWN_TWO)
    aces = sum(RANK[card] == ACE for card in naturals) + (run.naturals & BOTH_ACES).bit_count()
    places, is_place_taken = run.naturals & ~BOTH_ACES, False
    for card in naturals:
        if RANK[card] != ACE:
            is_place_taken = is_place_taken or places & PLACE_BITS[card] > 0
            places |= PLACE_BITS[card]
    reasons: list[Violation] = []
    if wilds - min(own_twos, 1 - (run.naturals >> TWO & 1)) > 1:
        reasons.append(Violation.TOO_MANY_WILDS)
    if is_place_taken:
        reasons.append(Violation.PLACE_TAKEN)
    if min(aces, 2) > max_aces(rules):
        reasons.append(Violation.TWO_ACES)
    if aces > 2 and not is_place_taken:
        reasons.append(Violation.PLACE_TAKEN)
    if base is None and len(naturals) + min(own_twos, 1) < 2:
        reasons.append(Violation.TOO_FEW_NATURALS)
    if reasons:
        return reasons
    if len(laid) + (0 if base is None else len(base.cards)) > ACE_HIGH:
        return [Violation.NO_PLACE_FOR_WILD if wilds else Violation.TOO_MANY_CARDS]
    if aces == 1 and places >> KING & 1 and (own_twos or places & (1 << TWO | 1 << TWO + 1)):
        return [Violation.WRAP]
    stays = base is not None and base.wild_index is not None and not has_free_wild(rules, base)
    return [Violation.WILD_STAYS if stays and _joins(places, aces, own_twos, wilds) else Violation.GAP]


def _joins(places: int, aces: int, own_twos: int, wilds: int) -> bool:
    """Return True if the naturals would make a run if the acting wild could stand anywhere."""
    for natural_twos in {0, min(own_twos, 1 - (places >> TWO & 1))}:
        for ends in (BOTH_ACES,) if aces == 2 else (1 << ACE, 1 << ACE_HIGH):
            filled = places | (ends if aces else 0) | natural_twos << TWO
            low, high = bounds(filled)
            if high - low + 1 - filled.bit_count() <= wilds - natural_twos <= 1:
                return True
    return False
