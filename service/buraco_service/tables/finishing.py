"""How a turn is finished whose player does not: what the clock plays in its place."""

from buraco_rules import (
    Deal,
    Discard,
    DrawStock,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    apply,
    card_points,
    legal_moves,
)
from buraco_rules.cards import WILDS

_DISCARD, _LAY, _MOVE_WILD = range(3)


def finish_turn(deal: Deal) -> list[Move]:
    """Return moves that end the running turn of a deal, or the deal. The same deal gives the same moves.

    A draw comes from the stock. The discard is the natural that counts least, a wild only if nothing else may go. What
    has to be melded before, as the top card of a closed pile, or because no card may be discarded, is the least that
    the rules allow. Draws and opening attempts cannot be undone (R11.2, R11.4), so that nothing is.
    """
    moves: list[Move] = []
    turn = deal.turn.number
    # It ends: of the moves chosen only a moved wild leaves the hand as it is, and each of those only once.
    while not deal.ending and deal.turn.number == turn:
        move = min(legal_moves(deal), key=lambda move: _cost(deal, move))
        moves.append(move)
        deal, _ = apply(deal, move)
    return moves


def _cost(deal: Deal, move: Move) -> tuple[int, ...]:
    """Return what orders the legal moves: the one to play is the lowest. Equal ones stay in their order."""
    if isinstance(move, Discard):
        return _DISCARD, move.card in WILDS, card_points(deal.rules, (move.card,)), move.card
    if isinstance(move, LayMeld | LayOff):
        wilds = sum([card in WILDS for card in move.cards])
        return _LAY, wilds, len(move.cards)
    if isinstance(move, MoveWild):
        return (_MOVE_WILD, not _comes_home(deal, move))
    return (not isinstance(move, DrawStock),)


def _comes_home(deal: Deal, move: MoveWild) -> bool:
    """Return True if the wild moves to its natural place, where it stays: the last card may need it there (R3.6)."""
    after, _ = apply(deal, move)
    return after.side.melds[move.meld].wild_index is None
