"""Why cards cannot be laid: the reasons in words of the rules, asked only once a lay has been refused."""

from itertools import pairwise

from buraco_rules.cards import ACE, ACE_HIGH, RANK, SUIT, TWO, WILDS
from buraco_rules.meld import Meld, MeldKind, run_suit
from buraco_rules.melds.meld_book import meld_book
from buraco_rules.melds.sets import MAX_NATURALS
from buraco_rules.rule_sets import RuleSet, WildMoves
from buraco_rules.violations import Violation


def why_not_laid(
    rules: RuleSet, base: Meld | None, cards: tuple[int, ...], wild_position: int | None
) -> list[Violation]:
    """The rules that laying these cards on `base` (None: as a new meld) breaks, the principal first; never empty."""
    if wild_position is not None and meld_book(rules).arrange(base, cards):
        return [Violation.WILD_POSITION]
    if not cards or (base is None and len(cards) < 3):
        return [Violation.TOO_FEW_CARDS]
    if base is None:
        return _why_no_new_meld(rules, cards)
    if base.kind is MeldKind.SET:
        return _why_no_set(rules, (*base.cards, *cards), RANK[base.natural], laid=cards)
    return _why_no_run(rules, base, cards)


def why_wild_stays(rules: RuleSet, meld: Meld) -> Violation:
    """Why no wild of the meld can be moved by a move of its own (R5.2)."""
    if meld.wild_index is None or meld.kind is MeldKind.SET:
        return Violation.NO_WILD_TO_MOVE
    if rules.wild_moves is WildMoves.WHEN_REPLACED or meld.wild_index not in (0, len(meld.cards) - 1):
        return Violation.WILD_STAYS
    return Violation.NO_PLACE_FOR_WILD


def _why_no_new_meld(rules: RuleSet, cards: tuple[int, ...]) -> list[Violation]:
    naturals = [card for card in cards if card not in WILDS]
    if not naturals:
        # Jokers, alone or with a single 2, would be no set of 2s either.
        return _unfit_for_set(rules, cards, TWO) or _why_no_set(rules, cards, TWO, laid=cards)
    if len(naturals) > 1 and len({RANK[card] for card in naturals}) == 1:
        return _why_no_set(rules, cards, RANK[naturals[0]], laid=cards)
    if len({SUIT[card] for card in naturals}) == 1:
        return _why_no_run(rules, None, cards)
    return [Violation.NO_MELD]


def _why_no_set(rules: RuleSet, cards: tuple[int, ...], rank: int, *, laid: tuple[int, ...]) -> list[Violation]:
    if not rules.sets:
        return [Violation.NO_SETS]
    if rank == TWO and not rules.set_of_twos:
        return [Violation.NO_SET_OF_TWOS]
    if any(RANK[card] != rank and card not in WILDS for card in laid):
        return [Violation.CARD_DOES_NOT_FIT]
    return _unfit_for_set(rules, cards, rank)


def _unfit_for_set(rules: RuleSet, cards: tuple[int, ...], rank: int) -> list[Violation]:
    """Return what is wrong with the numbers of naturals and wilds in a set; nothing where they fit."""
    reasons: list[Violation] = []
    naturals = sum(RANK[card] == rank for card in cards)
    if len(cards) - naturals > 1:
        reasons.append(Violation.TOO_MANY_WILDS)
    full = naturals == MAX_NATURALS and naturals < len(cards) and rules.no_wild_on_full_set
    if full or naturals > MAX_NATURALS:
        reasons.append(Violation.TOO_MANY_CARDS)
    if naturals < 2:
        reasons.append(Violation.TOO_FEW_NATURALS)
    return reasons


def _why_no_run(rules: RuleSet, base: Meld | None, laid: tuple[int, ...]) -> list[Violation]:
    reasons: list[Violation] = []
    suit = run_suit(base) if base is not None else next(SUIT[card] for card in laid if card not in WILDS)
    if any(SUIT[card] != suit and card not in WILDS for card in laid):
        return [Violation.CARD_DOES_NOT_FIT]
    fixed = list(base.cards) if base is not None else []
    acting_on_table = base is not None and base.wild_index is not None
    if base is not None and base.wild_index is not None:
        fixed.pop(base.wild_index)
    own_twos = sum(RANK[card] == TWO and SUIT[card] == suit for card in laid)
    wilds = acting_on_table + sum(card in WILDS for card in laid)
    at_home = sum(RANK[card] == TWO for card in fixed)
    if base is not None and base.wild_index is not None:
        wild = base.cards[base.wild_index]
        own_twos += RANK[wild] == TWO and SUIT[wild] == suit
    if wilds - min(own_twos, 1 - at_home) > 1:
        reasons.append(Violation.TOO_MANY_WILDS)
    naturals = [card for card in laid if card not in WILDS]
    low_ace = base is not None and base.low_position == ACE and base.wild_index != 0
    high_ace = (
        base is not None
        and base.low_position + len(base.cards) - 1 == ACE_HIGH
        and base.wild_index != len(base.cards) - 1
    )
    aces = sum(RANK[card] == ACE for card in naturals)
    others = [card for card in naturals if RANK[card] != ACE]
    if len(set(others)) < len(others) or any(card in fixed for card in others):
        reasons.append(Violation.PLACE_TAKEN)
    if aces + low_ace + high_ace > 1 and not rules.two_aces:
        reasons.append(Violation.TWO_ACES)
    if aces + low_ace + high_ace > 2 and Violation.PLACE_TAKEN not in reasons:
        reasons.append(Violation.PLACE_TAKEN)
    if base is None and len(naturals) + min(own_twos, 1) < 2:
        reasons.append(Violation.TOO_FEW_NATURALS)
    if reasons:
        return reasons
    if len(laid) + (0 if base is None else len(base.cards)) > ACE_HIGH:
        return [Violation.NO_PLACE_FOR_WILD if wilds else Violation.TOO_MANY_CARDS]
    return [_why_not_consecutive(rules, base, (*fixed, *naturals), own_twos, wilds)]


def _why_not_consecutive(
    rules: RuleSet, base: Meld | None, naturals: tuple[int, ...], own_twos: int, wilds: int
) -> Violation:
    ranks = {RANK[card] for card in naturals}
    aces = sum(RANK[card] == ACE for card in naturals)
    if aces == 1 and 13 in ranks and (own_twos or ranks & {TWO, 3}):
        return Violation.WRAP
    if base is not None and base.wild_index is not None and _joins(ranks, aces, own_twos, wilds):
        last = len(base.cards) - 1
        if rules.wild_moves is WildMoves.WHEN_REPLACED or base.wild_index not in (0, last):
            return Violation.WILD_STAYS
    return Violation.GAP


def _joins(ranks: set[int], aces: int, own_twos: int, wilds: int) -> bool:
    """Return whether the naturals would make a run if the acting wild could stand anywhere."""
    for home in {0, min(own_twos, TWO not in ranks)}:
        for ends in ({ACE, ACE_HIGH},) if aces == 2 else ({ACE}, {ACE_HIGH}):
            places = sorted((ranks - {ACE}) | (ends if aces else set()) | ({TWO} if home else set()))
            if wilds - home <= 1 and sum(high - low - 1 for low, high in pairwise(places)) <= wilds - home:
                return True
    return False
