"""Whether the reasons for which cards are refused fit them, by trying all small combinations."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement

import pytest

from buraco_notation import parse_cards
from buraco_rules import PRESETS, Meld, RuleSet, Violation, meld_book, why_not_laid
from buraco_rules.cards import ACE, JOKER, RANK, SUIT, TWO, WILDS
from tests.rules.positions import CLASSIC, CLOSED, WTCC, house, meld_of, melded

Cards = tuple[int, ...]

POOL = parse_cards("As 2s 3s 4s 6s Qs Ks Ah 2h 3h 3d Jo")
MELDS = (
    "4s 5s 6s",
    "4s 5s Jo@6",
    "4s Jo@5 6s",
    "As 2h@2 3s",
    "Js Qs Ks",
    "Qs Ks As",
    "3s 4s 2h@5",
    "3s 3h 3d",
    "3s 3h Jo*",
)

EVERY_RULE_SET = pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)


def combinations(rules: RuleSet, sizes: range) -> Iterator[Cards]:
    """All hands of so many of the pool's cards that the deck can deal."""
    for size in sizes:
        for cards in combinations_with_replacement(POOL, size):
            most = Counter(cards)
            if all(count <= (rules.jokers if card == JOKER else 2) for card, count in most.items()):
                yield cards


def refused(rules: RuleSet, base: Meld | None, sizes: range) -> Iterator[tuple[Cards, list[Violation]]]:
    """The combinations that cannot be laid on the meld, or as a new one, and why."""
    for cards in combinations(rules, sizes):
        if not meld_book(rules).arrange(base, cards):
            reasons = why_not_laid(rules, base, cards, None)
            assert reasons
            assert len(set(reasons)) == len(reasons)
            yield cards, reasons


def is_too_wild(cards: Cards) -> bool:
    """Whether more than one card would act as a wild in every run and set of these cards."""
    decisive = [card for card in cards if card not in WILDS] or [card for card in cards if card != JOKER]
    suits, ranks = {SUIT[card] for card in decisive}, {RANK[card] for card in decisive}
    wilds = sum(card in WILDS for card in cards)
    in_runs = [wilds - any(RANK[card] == TWO and SUIT[card] == suit for card in cards) for suit in suits]
    in_sets = [sum(RANK[card] != rank and card in WILDS for card in cards) for rank in ranks]
    return min([*in_runs, *in_sets], default=wilds) > 1


@EVERY_RULE_SET
def test_reasons_for_no_new_meld(rules: RuleSet) -> None:
    """R4: each reason is true of the cards, and a meld comes of them where an option that it names is switched on."""
    seen = set()
    for cards, reasons in refused(rules, None, range(3, 5)):
        naturals = [card for card in cards if card not in WILDS]
        seen.update(reasons)
        if Violation.NO_SET_OF_TWOS in reasons:
            assert meld_book(house(rules, set_of_twos=True)).arrange(None, cards)
        if Violation.NO_SETS in reasons:
            assert len({RANK[card] for card in naturals}) == 1 if naturals else TWO in map(RANK.__getitem__, cards)
        if Violation.TOO_MANY_WILDS in reasons and len(naturals) < 2:
            assert is_too_wild(cards)
        if Violation.PLACE_TAKEN in reasons:
            assert max(Counter(naturals).values()) > 1
        if Violation.TWO_ACES in reasons:
            assert not rules.two_aces
        if not naturals and cards.count(JOKER) > 1:
            assert reasons[0] is Violation.TOO_MANY_WILDS or not rules.sets
        if set(cards) == {JOKER}:
            assert reasons == [Violation.TOO_MANY_WILDS, Violation.TOO_FEW_NATURALS]
    assert Violation.GAP in seen
    assert (Violation.NO_SETS in seen) is not rules.sets


@EVERY_RULE_SET
def test_reasons_for_no_lay_off(rules: RuleSet) -> None:
    """R4, R5.2: a wild stays only where the cards would be a meld if it did not, and a gap is one for any wild."""
    possible = [meld for meld in MELDS if (rules.jokers or "Jo" not in meld) and (rules.sets or "3h" not in meld)]
    assert len(possible) >= 5
    for base in (meld_of(rules, meld) for meld in possible):
        for cards, reasons in refused(rules, base, range(1, 3)):
            together = meld_book(rules).arrange(None, (*base.cards, *cards))
            if reasons[0] is Violation.WILD_STAYS:
                assert together
            if reasons[0] is Violation.GAP:
                assert not together
            if Violation.WRAP in reasons:
                assert sum(RANK[card] == ACE for card in (*base.cards, *cards)) == 1


@pytest.mark.parametrize(
    ("rules", "cards", "why"),
    [
        (CLASSIC, "Jo Jo Jo", "TOO_MANY_WILDS"),
        (CLOSED, "Jo Jo Jo", "TOO_MANY_WILDS"),
        (WTCC, "Jo Jo Jo", "TOO_MANY_WILDS"),
        (CLASSIC, "2s Jo Jo", "TOO_MANY_WILDS"),
        (CLASSIC, "2s 2h Jo", "NO_SET_OF_TWOS"),
        (WTCC, "2s 2h 2d", "NO_SETS"),
        (CLASSIC, "3s 3s 2s Jo", "TOO_MANY_WILDS"),
        (CLOSED, "As As Ks 3s", "GAP"),
        (CLASSIC, "As 3s Ks", "WRAP"),
    ],
)
def test_principal_reasons(rules: RuleSet, cards: str, why: str) -> None:
    """R4.3, R4.4: the principal reason is about the cards, not about an option that would not help them."""
    assert melded(rules, cards) == why
