"""What happened, in words for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from buraco_notation import format_cards, format_meld
from buraco_rules import Deal, Ending, Meld
from buraco_rules.cards import CARD_TEXT
from buraco_rules.events import (
    DealEnded,
    Dealt,
    Discarded,
    Drew,
    Event,
    LaidOff,
    MatchEnded,
    Melded,
    Opened,
    OpeningFailed,
    PotsJoined,
    PotTaken,
    TookPile,
    TookRest,
    Undone,
    WildMoved,
)


def in_words(event: Event) -> str:
    """What a seat did, without naming it ("draws 5h"), or what happened to all ("the pots become the stock").

    Hidden cards are told; empty for an event that says nothing, as the rest of a pile that had none.
    """
    return _WORDS[type(event)](event)


def ending_in_words(deal: Deal) -> str:
    """How a finished deal ended."""
    seat = f"seat {deal.seat_to_move}"
    return {
        Ending.NONE: "the deal goes on",
        Ending.CLOSED: f"{seat} closed",
        Ending.STOCK: "the stock ran out",
        Ending.MAX_TURNS: "the limit of turns was reached",
        Ending.TWOS_BURACO: f"{seat} wins the match with a buraco of 2s",
    }[deal.ending]


def _dealt(event: Dealt) -> str:
    upcard = f", {CARD_TEXT[event.upcard]} is turned up" if event.upcard else ""
    return f"deal {event.deal_number} is dealt{upcard}, seat {event.starter} starts"


def _drew(event: Drew) -> str:
    return f"draws {CARD_TEXT[event.card]}, {event.stock_count} left in the stock"


def _took_pile(event: TookPile) -> str:
    if len(event.cards) < event.size:
        return f"takes {format_cards(event.cards)} from the top of the closed pile of {event.size}"
    return f"takes the pile: {format_cards(event.cards)}"


def _took_rest(event: TookRest) -> str:
    return f"gets the rest of the pile: {format_cards(event.cards)}" if event.size else ""


def _melded(event: Melded) -> str:
    return f"melds {_meld(event.meld)} (meld {event.meld_index})"


def _laid_off(event: LaidOff) -> str:
    return f"lays {format_cards(event.cards)} off on meld {event.meld_index}: {_meld(event.meld)}"


def _wild_moved(event: WildMoved) -> str:
    return f"moves the wild of meld {event.meld_index}: {_meld(event.meld)}"


def _discarded(event: Discarded) -> str:
    return f"discards {CARD_TEXT[event.card]}"


def _pot_taken(event: PotTaken) -> str:
    how = "in flight" if event.in_flight else "by discard"
    return f"picks up a pot {how}: {format_cards(event.cards)}"


def _pots_joined(event: PotsJoined) -> str:
    return f"the pots become the stock: {event.stock_count} cards"


def _opened(event: Opened) -> str:
    return f"opens with {event.points} points"


def _opening_failed(event: OpeningFailed) -> str:
    back = f", {format_cards(event.cards)} return to the hand" if event.cards else ""
    return f"fails to open{back}: -{event.penalty}, the next attempt needs {event.next_required}"


def _undone(event: Undone) -> str:
    what = "a moved wild" if not event.cards else format_cards(event.cards)
    return f"takes back {what} from meld {event.meld_index}"


def _deal_ended(event: DealEnded) -> str:
    first, second = event.score.sides
    return f"the deal is over: {first.total} to side 0, {second.total} to side 1"


def _match_ended(event: MatchEnded) -> str:
    result = "a draw" if event.winner is None else f"side {event.winner} wins"
    return f"the match is over, {event.scores[0]} to {event.scores[1]}: {result}"


def _meld(meld: Meld) -> str:
    kind = f", {meld.buraco.name.lower().replace('_', '-')} buraco" if meld.buraco else ""
    return f"{format_meld(meld)}{kind}"


_WORDS: Final[dict[type, Callable[[Any], str]]] = {
    Dealt: _dealt,
    Drew: _drew,
    TookPile: _took_pile,
    TookRest: _took_rest,
    Melded: _melded,
    LaidOff: _laid_off,
    WildMoved: _wild_moved,
    Discarded: _discarded,
    PotTaken: _pot_taken,
    PotsJoined: _pots_joined,
    Opened: _opened,
    OpeningFailed: _opening_failed,
    Undone: _undone,
    DealEnded: _deal_ended,
    MatchEnded: _match_ended,
}
