"""Take plays of the turn back (R11.4)."""

from buraco_rules.deal import Deal, Phase
from buraco_rules.events import Event, Undone
from buraco_rules.violations import IllegalMove, Violation


def undo(deal: Deal) -> tuple[Deal, tuple[Event, ...]]:
    """Return the deal before the newest play of the turn, and the event. Raise IllegalMove if none may be taken back.

    A draw is no play. A pot, the rest of a closed pile or an opening attempt leaves nothing to take back.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> undo(deal_first(PRESETS_BY_ID["open"], 2, bytes(32))[0])
    Traceback (most recent call last):
    buraco_rules.violations.IllegalMove: nothing of this turn can be taken back (R11.4)
    """
    if deal.phase is Phase.OVER:
        raise IllegalMove(Violation.DEAL_OVER)
    turn, side = deal.turn, deal.side
    if not turn.undo:
        raise IllegalMove(Violation.NOTHING_TO_UNDO)
    step = turn.undo[-1]
    index = step.meld
    kept = () if step.before is None else (step.before,)
    unplayed = set(side.unplayed_pots)
    if step.unplayed_pot:
        unplayed.add(deal.seat_to_move)
    before = deal._replace(
        hands=deal.replace_hand(tuple(sorted(deal.hand + step.cards))),
        sides=deal.replace_side(
            side._replace(
                melds=(*side.melds[:index], *kept, *side.melds[index + 1 :]),
                unplayed_pots=tuple(sorted(unplayed)),
            )
        ),
        turn=turn._replace(locked_card=step.locked_card, must_meld=step.must_meld, undo=turn.undo[:-1]),
    )
    return before, (Undone(deal.seat_to_move, index, step.cards, step.before),)
