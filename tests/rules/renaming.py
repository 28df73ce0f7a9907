"""The names of suits exchanged: what must not matter."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from buraco_rules import Deal, Discard, LayMeld, LayOff, Meld, MeldKind, Move, UndoStep
from buraco_rules.cards import JOKER

Renaming = Callable[[int], int]


def renaming(order: Sequence[int]) -> Renaming:
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
