"""Every legal move: the same judgements as `turn.apply`, read the other way round."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from buraco_rules.deal import DRAW, OVER, Deal
from buraco_rules.melds.meld_book import meld_book
from buraco_rules.moves import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile
from buraco_rules.play.drawing import draw_violation
from buraco_rules.play.laying import discardable, legal_lays, outcome_of, turn_violation, with_moved_wild
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
    """Every legal move of the seat to move, each once; none once the deal is over.

    The cards of a meld are in order of place, and the wild's place is given whenever a card acts as a wild, so that
    each move has exactly one outcome.
    """
    phase = deal.phase
    if phase is DRAW:
        return [move for move in _DRAWS if draw_violation(deal, move) is None]
    if phase is OVER:
        return []
    moves: list[Move] = [*legal_lays(deal)]
    if not deal.turn.must_meld:
        moves += _wild_moves(deal)
        moves += map(_discard_of, discardable(deal))
    return moves


def normal_move(deal: Deal, move: Move) -> Move:
    """A legal move as `legal_moves` lists it: cards in order of place, and the wild's place where one acts.

    So the text of a meld shows what it became. Any other move is given back as it is.
    """
    if not isinstance(move, LayMeld | LayOff):
        return move
    if isinstance(move, LayOff) and not 0 <= move.meld < len(deal.side.melds):
        return move
    outcome = outcome_of(deal, move)
    if outcome is None:
        return move
    normal = replace(move, cards=outcome.cards, wild_position=outcome.wild_position)
    return normal if outcome_of(deal, normal) == outcome else move


def next_actions(deal: Deal, moves: Sequence[Move]) -> tuple[NextAction, ...]:
    """What the seat to move may do now, in the order of `NextAction`: the kinds of its legal moves, and to undo."""
    kinds = set(map(type, moves))
    actions = [action for kind, action in _ACTIONS.items() if kind in kinds]
    return (*actions, NextAction.UNDO) if deal.turn.undo else tuple(actions)


def _wild_moves(deal: Deal) -> list[Move]:
    if deal.rules.wild_moves is not FREE_END:
        return []
    moves: list[Move] = []
    book = meld_book(deal.rules)
    for index, base in enumerate(deal.side.melds):
        moved = book.move_wild(base) if base.wild_index is not None else None
        if moved is not None:
            meld, place = moved
            if len(deal.hand) >= 2 or turn_violation(with_moved_wild(deal, index, meld)) is None:
                moves.append(MoveWild(index, place))
    return moves
