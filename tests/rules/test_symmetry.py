"""What must not matter does not matter: the names of suits, the order in which cards are named."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from buraco_rules.cards import JOKER
from buraco_rules.deal import Deal, UndoStep
from buraco_rules.dealing import deal_first
from buraco_rules.legal import legal_moves
from buraco_rules.melds import Meld, MeldKind
from buraco_rules.moves import Discard, LayMeld, LayOff, Move
from buraco_rules.presets import PRESETS
from buraco_rules.rule_sets import RuleSet
from buraco_rules.scoring import score_deal
from tests.rules.positions import play, reasons
from tests.rules.test_move_lists import mutated

Renaming = Callable[[int], int]


def renaming(order: list[int]) -> Renaming:
    """A change of suits, spades to order[0] and so on; jokers stay jokers."""
    return lambda card: (
        card if card == JOKER or not 1 <= card <= 52 else 13 * order[(card - 1) // 13] + (card - 1) % 13 + 1
    )


def rename_cards(rename: Renaming, cards: tuple[int, ...], *, is_sorted: bool = False) -> tuple[int, ...]:
    """Cards renamed, sorted again where they were."""
    renamed = [rename(card) for card in cards]
    return tuple(sorted(renamed) if is_sorted else renamed)


def rename_meld(rename: Renaming, meld: Meld) -> Meld:
    """A meld renamed; the naturals of a set are sorted again, its wild stays last."""
    if meld.kind is MeldKind.RUN:
        return meld._replace(cards=rename_cards(rename, meld.cards))
    naturals = len(meld.cards) if meld.wild_index is None else meld.wild_index
    sorted_again = rename_cards(rename, meld.cards[:naturals], is_sorted=True)
    return meld._replace(cards=(*sorted_again, *rename_cards(rename, meld.cards[naturals:])))


def rename_deal(rename: Renaming, deal: Deal) -> Deal:
    """A deal renamed; cards of plays that can be taken back are sorted, for sets have no order of their own."""
    steps = tuple(
        UndoStep(*step)._replace(
            before=None if step.before is None else rename_meld(rename, step.before),
            cards=rename_cards(rename, step.cards, is_sorted=True),
            locked_card=rename(step.locked_card),
            must_meld=rename(step.must_meld),
        )
        for step in deal.turn.undo
    )
    first, second = (
        side._replace(melds=tuple(rename_meld(rename, meld) for meld in side.melds)) for side in deal.sides
    )
    return deal._replace(
        stock=rename_cards(rename, deal.stock),
        pile=rename_cards(rename, deal.pile),
        pots=tuple(rename_cards(rename, pot) for pot in deal.pots),
        hands=tuple(rename_cards(rename, hand, is_sorted=True) for hand in deal.hands),
        sides=(first, second),
        turn=deal.turn._replace(
            locked_card=rename(deal.turn.locked_card), must_meld=rename(deal.turn.must_meld), undo=steps
        ),
    )


def rename_move(rename: Renaming, move: Move) -> Move:
    """A move renamed, its cards sorted."""
    if isinstance(move, LayMeld | LayOff):
        return replace(move, cards=rename_cards(rename, move.cards, is_sorted=True))
    return Discard(rename(move.card)) if isinstance(move, Discard) else move


def unchanged(card: int) -> int:
    """No change of suits."""
    return card


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_suits_are_names(rules: RuleSet) -> None:
    """R4: with suits exchanged every move, refusal, state and score is the same but for the suits."""
    rng = random.Random(rules.id)
    for seats in (2, 4):
        order = rng.sample(range(4), 4)
        while order == sorted(order):
            order = rng.sample(range(4), 4)
        rename = renaming(order)
        deal, _ = deal_first(rules, seats, rng.randbytes(32))
        twin = rename_deal(rename, deal)
        assert twin != deal
        while moves := legal_moves(deal):
            there = {rename_move(rename, move) for move in moves}
            assert there == {rename_move(unchanged, move) for move in legal_moves(twin)}
            strange = mutated(deal, rng.choice(moves), rng)
            if not isinstance(strange, LayMeld | LayOff) or all(0 < card <= JOKER for card in strange.cards):
                assert reasons(deal, strange) == reasons(twin, rename_move(rename, strange))
            lays = [move for move in moves if isinstance(move, LayMeld | LayOff)]
            move = rng.choice(lays if lays and rng.random() < 0.6 else moves)
            deal, twin = play(deal, move), play(twin, rename_move(rename, move))
            assert rename_deal(rename, deal) == rename_deal(unchanged, twin)
        assert score_deal(deal) == score_deal(twin)


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_order_of_named_cards(rules: RuleSet) -> None:
    """R5.4: the order in which a move names its cards changes neither the state nor the reasons of a refusal."""
    rng = random.Random(rules.id)
    deal, _ = deal_first(rules, 4, rng.randbytes(32))
    compared = 0
    while moves := legal_moves(deal):
        lays = [move for move in moves if isinstance(move, LayMeld | LayOff)]
        for move in rng.sample(lays, min(3, len(lays))):
            cards = tuple(rng.sample(move.cards, len(move.cards)))
            assert play(deal, replace(move, cards=cards)) == play(deal, move)
            by_default = replace(move, wild_position=None)
            assert play(deal, replace(by_default, cards=cards)) == play(deal, by_default)
            strange = mutated(deal, move, rng)
            if isinstance(strange, LayMeld | LayOff):
                shuffled = replace(strange, cards=tuple(rng.sample(strange.cards, len(strange.cards))))
                assert reasons(deal, shuffled) == reasons(deal, strange)
            compared += len(cards) > 1
        deal = play(deal, rng.choice(lays if lays and rng.random() < 0.6 else moves))
    assert compared > 5
