"""The meld book against an exhaustive reading of R4 and R5 that shares no code with it."""

import random

import pytest

from buraco_notation import format_cards
from buraco_rules import Meld, RuleSet, meld_book
from buraco_rules.cards import TWOS, card_at
from tests.rules.positions import CLASSIC, CLOSED, DIRECT, DIRTY_OPEN, meld_of, show
from tests.rules.reference_melds import buraco_kind, default, moved_wild, one_by_one, results
from tests.rules.sampling import ALL_RULES, some_cards, some_meld

SIZES = [1, 2, 3, 3, 4, 4, 5, 6]


def name(rules: RuleSet) -> str:
    """A rule set with the options of its wilds."""
    return f"{rules.id}-{rules.wild_moves.name}-{rules.wild_end.name}-{rules.two_aces}".lower()


def compare(rules: RuleSet, base: Meld | None, cards: tuple[int, ...]) -> bool:
    """Compare all outcomes of some cards, by place of the wild and by default; tell whether there was any."""
    case = f"{name(rules)}: {format_cards(cards)} on {base and show(base)}"
    book = meld_book(rules)
    expected = {result.wild_position: result.meld for result in results(rules, base, cards)}
    outcomes = book.arrange(base, cards)
    assert {outcome.wild_position: outcome.meld for outcome in outcomes} == expected, case
    assert len(outcomes) == len(expected), case
    assert all(sorted(outcome.cards) == sorted(cards) for outcome in outcomes), case
    chosen = book.choose(base, cards, None)
    assert (chosen and chosen.meld) == default(rules, base, cards), case
    for place in (*range(16), -1):
        told = book.choose(base, cards, place)
        natural_two = place == 2 and None in expected and expected[None].low_position in (1, 2)
        wanted = expected.get(place, expected[None] if natural_two else None)
        assert (told and told.meld) == wanted, f"{case}, wild at {place}"
    return bool(expected)


def compare_many(rules: RuleSet, rng: random.Random, rounds: int) -> int:
    """Compare so many random cases; tell how many were legal."""
    legal = 0
    for _ in range(rounds):
        base = some_meld(rules, rng) if rng.random() < 0.7 else None
        cards = some_cards(rules, rng, rng.choice(SIZES), near=base)
        legal += bool(cards) and compare(rules, base, cards)
    return legal


@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_book_as_the_rules_say(rules: RuleSet) -> None:
    """R4, R5: new melds and lay-offs of random cards have the outcomes that trying every placement finds."""
    assert compare_many(rules, random.Random(name(rules)), 350) > 50


@pytest.mark.slow
@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_book_as_the_rules_say_at_length(rules: RuleSet) -> None:
    """R4, R5: the same for many more cards."""
    assert compare_many(rules, random.Random(name(rules) + " at length"), 20_000) > 2_000


@pytest.mark.parametrize("rules", [CLASSIC, CLOSED, DIRTY_OPEN], ids=name)
def test_hands_of_a_small_pack(rules: RuleSet) -> None:
    """R4: of random selections of ten cards around the 2 and the ace exactly the legal ones are melds."""
    rng = random.Random(7)
    pack = [14, 15, 16, 17, 15, 26, 25, 2, 53 if rules.jokers else 28, 14]
    for size in (3, 4):
        for _ in range(60):
            compare(rules, None, tuple(rng.sample(pack, size)))


@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_runs_up_to_both_ends(rules: RuleSet) -> None:
    """R4.5, R5.3: long runs of all shapes take an ace, a king, a 2, a wild and pairs of them as the rules say."""
    rng = random.Random(name(rules))
    legal = 0
    for _ in range(120):
        base = some_meld(rules, rng, longest=14)
        while len(base.cards) < 8 or base.low_position == 0:
            base = some_meld(rules, rng, longest=14)
        suit = (base.natural - 1) // 13
        missing = [card_at(suit, place) for place in range(1, 15) if card_at(suit, place) not in base.cards]
        pool = [*missing, TWOS[suit], TWOS[(suit + 1) % 4], *missing, card_at(suit, 1)]
        size = rng.choice([1, 2, 3, len(missing), len(missing) + 1])
        legal += compare(rules, base, tuple(rng.sample(pool, max(1, min(size, 5)))))
    assert legal > 15


@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_together_as_one_by_one(rules: RuleSet) -> None:
    """R5.4: what is laid off together ends as in some legal order one by one, if there is any."""
    rng, book, compared = random.Random(name(rules)), meld_book(rules), 0
    for _ in range(400):
        base = some_meld(rules, rng)
        cards = some_cards(rules, rng, rng.choice([2, 2, 3, 4]), near=base)
        ends = {(end.cards, end.stays_dirty) for end in one_by_one(rules, base, cards)} if cards else set()
        if ends:
            chosen = book.choose(base, cards, None)
            case = f"{format_cards(cards)} on {show(base)}: {chosen and show(chosen.meld)}"
            assert chosen is not None, case
            assert (chosen.meld.cards, chosen.meld.stays_dirty) in ends or not rules.dirty_sticks, case
            assert chosen.meld.cards in {end for end, _ in ends}, case
            compared += 1
    assert compared > 20


@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_moved_wilds(rules: RuleSet) -> None:
    """R5.2: the wilds of random melds move to the other end where the rules let them, and nowhere else."""
    rng, book, moves = random.Random(name(rules)), meld_book(rules), 0
    for _ in range(300):
        base = some_meld(rules, rng, longest=14)
        moved = book.move_wild(base)
        expected = moved_wild(rules, base)
        assert (moved and moved[0]) == expected, show(base)
        if moved is not None:
            moves += 1
            meld, place = moved
            assert meld.wild_position in (place, None)
            assert (
                book.move_wild(meld) == (None if meld.wild_index is None else (base, base.wild_position))
                or base.stays_dirty != meld.stays_dirty
            )
    assert (moves > 20) is (rules.wild_moves.name == "FREE_END")


@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_kinds_of_random_melds(rules: RuleSet) -> None:
    """R9.2, R9.3: random melds on the table are buracos of the kind that the rules say."""
    rng = random.Random(name(rules))
    kinds = set()
    for _ in range(300):
        meld = some_meld(rules, rng, longest=14)
        assert meld.buraco is buraco_kind(rules, meld), show(meld)
        assert meld.stays_dirty is (rules.dirty_sticks and len(meld.cards) >= 7 and meld.wild_index is not None)
        kinds.add(meld.buraco)
    assert len(kinds) >= 3


def test_reference_knows_the_examples() -> None:
    """R5: the reference itself gives the examples of the rules, so that both cannot be wrong in the same way unseen."""
    assert [show(result.meld) for result in results(CLASSIC, None, (14, 15, 26))] == ["2h@12 Kh Ah"]
    base = meld_of(CLASSIC, "6h Jo@7 8h")
    assert results(CLASSIC, base, (23,)) == []
    assert [show(result.meld) for result in results(CLASSIC, base, (20, 23))] == ["6h 7h 8h Jo@9 Th"]
    assert [show(result.meld) for result in results(DIRECT, None, (15, 2, 28))] == ["2s 2h 2d"]
    assert results(CLASSIC, None, (15, 2, 28)) == []
