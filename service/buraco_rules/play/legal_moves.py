"""Every legal move of a turn, by the same decisions as `apply`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from buraco_rules.deal import DRAW, OVER, Deal
from buraco_rules.melds.meld_book import meld_book
from buraco_rules.moves import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile
from buraco_rules.play.drawing import draw_violation
from buraco_rules.play.laying import (
    choose_outcome,
    discard_violation,
    legal_lays,
    spare_cards,
    turn_violation,
    with_moved_wild,
)
from buraco_rules.rule_sets import FREE_END
from buraco_rules.view import NextAction

_DRAWS = (DrawStock(), TakePile())
_discard_of: Final = [Discard(card) for card in range(54)].__getitem__
"""The move that discards a card."""
_ACTIONS: Final[dict[type, NextAction]] = {
    DrawStock: NextAction.DRAW_STOCK,
    TakePile: NextAction.TAKE_PILE,
    LayMeld: NextAction.LAY_MELD,
    LayOff: NextAction.LAY_OFF,
    MoveWild: NextAction.MOVE_WILD,
    Discard: NextAction.DISCARD,
}


def legal_moves(deal: Deal) -> list[Move]:
    """Return every legal move of the seat to move, each once; none once the deal is over.

    Melds come first, then lay-offs, moved wilds and discards. The cards of a meld are in order of place, and the wild's
    place is given whenever a card acts as a wild, so that each move has exactly one outcome.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> legal_moves(deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32))[0])
    [DrawStock(), TakePile()]
    """
    phase = deal.phase
    if phase is DRAW:
        return [move for move in _DRAWS if draw_violation(deal, move) is None]
    if phase is OVER:
        return []
    moves: list[Move] = [*legal_lays(deal)]
    if not deal.turn.must_meld:
        if deal.rules.wild_moves is FREE_END:
            moves += _wild_moves(deal)
        moves += map(_discard_of, _discardable_cards(deal))
    return moves


def normalise_move(deal: Deal, move: Move) -> Move:
    """Return a legal move as `legal_moves` lists it: cards in order of place, and the wild's place if one acts.

    So the text of a meld shows what it became. A move that the cards cannot make is returned as it is; what the turn
    allows is not asked.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> normalise_move(deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32))[0], LayMeld((5, 53, 3)))
    LayMeld(cards=(3, 53, 5), wild_position=4)
    """
    if not isinstance(move, LayMeld | LayOff):
        return move
    if isinstance(move, LayOff) and not 0 <= move.meld < len(deal.side.melds):
        return move
    outcome = choose_outcome(deal, move)
    if outcome is None:
        return move
    normal = replace(move, cards=outcome.cards, wild_position=outcome.wild_position)
    return normal if choose_outcome(deal, normal) == outcome else move


def next_actions(deal: Deal, moves: Sequence[Move]) -> tuple[NextAction, ...]:
    """Return what the seat to move may do, in the order of `NextAction`: the kinds of its legal moves, and undo.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["open"], 2, bytes(32))
    >>> next_actions(deal, legal_moves(deal))
    (<NextAction.DRAW_STOCK: 1>,)
    """
    kinds = set(map(type, moves))
    actions = [action for kind, action in _ACTIONS.items() if kind in kinds]
    return (*actions, NextAction.UNDO) if deal.turn.undo else tuple(actions)


def _wild_moves(deal: Deal) -> list[Move]:
    moves: list[Move] = []
    book, can_finish = meld_book(deal.rules), spare_cards(deal) >= 0
    for index, base in enumerate(deal.side.melds):
        moved = book.move_wild(base) if base.wild_index is not None else None
        if moved is not None:
            meld, place = moved
            if can_finish or turn_violation(with_moved_wild(deal, index, meld)) is None:
                moves.append(MoveWild(index, place))
    return moves


def _discardable_cards(deal: Deal) -> list[int]:
    """Return the cards of the hand that may be discarded, each once."""
    cards, locked = list(dict.fromkeys(deal.hand)), deal.turn.locked_card
    if len(deal.hand) == 1:
        locked = cards[0]  # with others in the hand, only a lock can forbid a card
    if locked and locked in cards and discard_violation(deal, locked) is not None:
        cards.remove(locked)
    return cards
