"""Caches that are bounded by bytes."""

import random
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from buraco_rules import PRESETS, Meld, meld_book
from buraco_rules.caching import ENTRY, ByteBudget
from buraco_rules.cards import ACE, KING, card_at
from buraco_rules.melds import candidates
from buraco_rules.melds import meld_book as books
from buraco_rules.melds.candidates import candidate_moves
from tests.memory import size_of
from tests.rules.playouts import playout


def test_results_are_cached() -> None:
    """A function is called once for equal arguments; what it raises is not cached."""
    calls: list[int] = []

    @ByteBudget(1 << 20).cached(each=1)
    def half(number: int) -> bytes:
        """Docstring."""
        calls.append(number)
        if number % 2:
            raise ValueError(number)
        return bytes(number // 2)

    assert [half(2), half(4), half(2)] == [bytes(1), bytes(2), bytes(1)]
    for _ in range(2):
        with pytest.raises(ValueError, match="3"):
            half(3)
    assert calls == [2, 4, 3, 3]
    assert half.__doc__ == "Docstring."


def test_caches_share_a_budget() -> None:
    """Entries of all caches count, and where one more does not fit all caches start empty again."""
    budget = ByteBudget(3 * ENTRY + 30)
    calls: list[int] = []

    def made(number: int) -> bytes:
        calls.append(number)
        return bytes(10)

    first, second = budget.cached(each=1)(partial(made)), budget.cached(each=1)(partial(made))
    for _ in range(2):
        first(1), second(2), second(3)
    assert (calls, budget.used_bytes) == ([1, 2, 3], 3 * ENTRY + 30)
    first(4)
    assert budget.used_bytes == ENTRY + 10
    first(4), first(1), second(2)
    assert calls == [1, 2, 3, 4, 1, 2]
    budget.clear()
    assert budget.used_bytes == 0
    first(4)
    assert calls == [1, 2, 3, 4, 1, 2, 4]


def test_entry_larger_than_the_budget_is_alone() -> None:
    """A result larger than the budget is returned, and makes room for the next one."""
    budget = ByteBudget(1000)
    big = budget.cached(each=1)(bytes)
    assert len(big(5000)) == 5000
    assert big(3) == bytes(3)
    assert budget.used_bytes == ENTRY + 3


BUDGETS = (books.ANSWERS, candidates._LAY_OFFS)


def caches() -> list[Any]:
    """The caches of meld books and offers."""
    modules = (books, candidates)
    return [value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear")]


def suits(rng: random.Random) -> tuple[int, ...]:
    """A hand that can be laid in many ways: most of one suit, twice, with wilds."""
    suit = rng.randrange(4)
    cards = [card_at(suit, place) for place in range(ACE, KING + 1) if rng.random() < 0.9] * 2
    return tuple(sorted([*cards, 53, card_at(0, 2), card_at(1, 2)]))


@pytest.mark.parametrize("kind", ["play", "long suits", "house rules"])
def test_answers_take_no_more_than_is_counted(kind: str) -> None:
    """What is remembered of melds takes no more memory than is counted: in play, at worst, and of strangers' rules."""
    for budget in BUDGETS:
        budget.clear()
    rng = random.Random(1)
    if kind == "play":
        for rules in PRESETS[::3]:
            for deal, _ in playout(rules, 4, 1):
                candidate_moves(rules, deal.hand, deal.side.melds)
    else:
        for number in range(40):
            rules = PRESETS[number % len(PRESETS)]
            if kind == "house rules":
                rules = replace(rules, id=f"house-{number}", display_name="House rules " * 8)
            melds: tuple[Meld, ...] = ()
            for _ in range(3):
                hand = suits(rng)
                lays = candidate_moves(rules, hand, melds)
                outcome = meld_book(rules).choose(None, rng.choice(lays[:5]).cards, None)
                melds = (*melds, outcome.meld) if outcome is not None else melds
    assert len(caches()) >= 9
    assert (
        size_of(caches()) <= sum(budget.used_bytes for budget in BUDGETS) <= sum(budget.max_bytes for budget in BUDGETS)
    )
