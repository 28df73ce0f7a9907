import random
from functools import cache

import pytest

from buraco_rules import BURACO_SIZE, BuracoKind, Meld, MeldKind, RuleSet, make_meld, meld_book
from buraco_rules.cards import ACE_HIGH, TWOS, deck
from buraco_rules.validation.melds import leads_to, meld_problem
from tests.rules.positions import CLASSIC
from tests.rules.sampling import ALL_RULES, some_cards, some_meld


@cache
def makeable(rules: RuleSet, meld: Meld) -> bool:
    """Whether the meld book makes a meld of its cards, or of one that it can make and a card laid off at an end."""
    book, size, index = meld_book(rules), len(meld.cards), meld.wild_index
    if any(outcome.meld == meld for outcome in book.arrange(None, meld.cards)):
        return True
    for end in (0, size - 1):
        if size == 3 or index == end:
            continue
        rest = meld.cards[1:] if end == 0 else meld.cards[:-1]
        low = meld.low_position + (meld.kind is MeldKind.RUN and end == 0)
        base = make_meld(rules, meld.kind, rest, low, None if index is None else index - (end == 0))
        if makeable(rules, base) and any(outcome.meld == meld for outcome in book.arrange(base, (meld.cards[end],))):
            return True
    return False


@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: rules.id)
def test_sound_melds_are_those_of_the_meld_book(rules: RuleSet) -> None:
    """A meld, whole or with something changed in it, is sound if and only if the meld book can make it."""
    rng = random.Random(rules.id)
    verdicts = {True: 0, False: 0}
    for _ in range(150):
        meld = some_meld(rules, rng, longest=14)
        for candidate in (meld, spoiled(rules, meld, rng)):
            sound = meld_problem(rules, candidate) is None
            assert sound == makeable(rules, candidate), candidate
            verdicts[sound] += 1
    assert min(verdicts.values()) > 20


def spoiled(rules: RuleSet, meld: Meld, rng: random.Random) -> Meld:
    """A meld with something changed in it; it may still be one. Its kind of buraco is right."""
    cards = list(meld.cards)
    low, index, kind = meld.low_position, meld.wild_index, meld.kind
    what = rng.randrange(6)
    if what == 0:
        place = rng.randrange(len(cards))
        cards[place] = rng.choice((*TWOS, rng.choice(deck(rules.jokers))))
    elif what == 1:
        low += rng.choice((-1, 1))
    elif what == 2:
        index = rng.choice((None, 0, len(cards) - 1, rng.randrange(len(cards))))
    elif what == 3:
        first, second = rng.sample(range(len(cards)), 2)
        cards[first], cards[second] = cards[second], cards[first]
    elif what == 4:
        kind, low = (
            (MeldKind.SET, 0) if kind is MeldKind.RUN else (MeldKind.RUN, rng.randint(1, ACE_HIGH + 1 - len(cards)))
        )
    elif len(cards) > 3:
        cards.pop(rng.choice((0, -1)))
        index = None if index == len(cards) else index
    return make_meld(rules, kind, tuple(cards), low, index)


def test_what_leads_to_a_meld() -> None:
    """A play leads to the melds that the meld book makes of it, and to no other."""
    rng = random.Random(11)
    for _ in range(200):
        rules = rng.choice(ALL_RULES)
        base = some_meld(rules, rng) if rng.random() < 0.7 else None
        cards = some_cards(rules, rng, rng.randint(1 if base else 3, 5), near=base)
        outcomes = [outcome.meld for outcome in meld_book(rules).arrange(base, cards)]
        other = some_meld(rules, rng)
        assert all(leads_to(rules, base, cards, meld) for meld in outcomes)
        assert leads_to(rules, base, cards, other) == (other in outcomes)
        if base is not None:
            moved = meld_book(rules).move_wild(base)
            assert moved is None or leads_to(rules, base, (), moved[0])
            assert not leads_to(rules, base, (), base)


def test_sizes_of_buracos_are_told() -> None:
    """A meld of seven that says it is no buraco is told what it is (R9.2)."""
    meld = make_meld(CLASSIC, MeldKind.RUN, tuple(range(3, 3 + BURACO_SIZE)), 3, None)
    assert meld_problem(CLASSIC, meld) is None
    assert meld_problem(CLASSIC, meld._replace(buraco=BuracoKind.NONE)) == "its buraco is CLEAN, not NONE (R9.2)"
