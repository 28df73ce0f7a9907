"""Every legal move: the same judgements as `turn.apply`, read the other way round."""

from buraco_rules.arrangements import meld_book
from buraco_rules.deal import Deal, Phase
from buraco_rules.drawing import draw_violation
from buraco_rules.laying import discardable, turn_violation, with_moved_wild
from buraco_rules.lays import can_meld_or_lay_off, legal_lays
from buraco_rules.moves import Discard, DrawStock, Move, MoveWild, TakePile
from buraco_rules.rule_sets import WildMoves
from buraco_rules.view import NextAction

_DRAWS = (DrawStock(), TakePile())
_DISCARDS = tuple(Discard(card) for card in range(54))
"""By card."""


def legal_moves(deal: Deal) -> list[Move]:
    """Every legal move of the seat to move, each once; none once the deal is over.

    The cards of a meld are in order of place, and the wild's place is given whenever a card acts as a wild, so that
    each move has exactly one outcome.
    """
    if deal.phase is Phase.DRAW:
        return [move for move in _DRAWS if draw_violation(deal, move) is None]
    if deal.phase is Phase.OVER:
        return []
    moves: list[Move] = [*legal_lays(deal)]
    if not deal.turn.must_meld:
        moves += _wild_moves(deal)
        moves += map(_DISCARDS.__getitem__, discardable(deal))
    return moves


def next_actions(deal: Deal) -> tuple[NextAction, ...]:
    """What the seat to move may do now, in the order of `NextAction`."""
    if deal.phase is Phase.OVER:
        return ()
    if deal.phase is Phase.DRAW:
        draws: list[tuple[NextAction, DrawStock | TakePile]] = [
            (NextAction.DRAW_STOCK, DrawStock()),
            (NextAction.TAKE_PILE, TakePile()),
        ]
        return tuple(action for action, move in draws if draw_violation(deal, move) is None)
    lay_meld, lay_off = can_meld_or_lay_off(deal)
    free = not deal.turn.must_meld
    may = {
        NextAction.LAY_MELD: lay_meld,
        NextAction.LAY_OFF: lay_off,
        NextAction.MOVE_WILD: free and bool(_wild_moves(deal)),
        NextAction.DISCARD: free and bool(discardable(deal)),
        NextAction.UNDO: bool(deal.turn.undo),
    }
    return tuple(action for action, allowed in may.items() if allowed)


def _wild_moves(deal: Deal) -> list[Move]:
    if deal.rules.wild_moves is not WildMoves.FREE_END:
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
