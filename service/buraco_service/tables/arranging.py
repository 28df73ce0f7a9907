"""Arranging cards of a hand as a meld, before the player decides what to lay."""

from collections import Counter
from collections.abc import Sequence

from buraco_rules import Meld, Violation
from buraco_service.tables.changes import RuleBroken, running_deal
from buraco_service.tables.state import TableValue


def meld_to_extend(table: TableValue, seat: int, meld: int | None, cards: Sequence[int]) -> Meld | None:
    """Return the meld of the seat's side that its cards may be laid off on, by index; None if none is asked for.

    Raise TABLE_NOT_PLAYING, TABLE_FINISHED, or RuleBroken if the side has no such meld or the hand lacks a card.
    """
    deal = running_deal(table)
    melds = deal.sides[seat & 1].melds
    broken = [] if meld is None or meld < len(melds) else [Violation.NO_SUCH_MELD]
    if Counter(cards) - Counter(deal.hands[seat]):
        broken.append(Violation.CARD_NOT_IN_HAND)
    if broken:
        raise RuleBroken(table.rules.id, broken)
    return None if meld is None else melds[meld]
