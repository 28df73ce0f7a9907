"""What happened, in words for people."""

from __future__ import annotations

from buraco_notation import format_cards, format_meld
from buraco_rules import Meld
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


def describe_event(event: Event) -> str:
    """Return what a seat did, without naming it ("draws 5h"), or what happened to all ("the pots become the stock").

    Hidden cards are shown. Empty for the rest of a pile that had none.
    """
    match event:
        case Melded() | LaidOff() | WildMoved():
            return _describe_play(event)
        case Dealt() | PotsJoined() | DealEnded() | MatchEnded():
            return _describe_progress(event)
        case Drew():
            return f"draws {CARD_TEXT[event.card]}, {event.stock_count} left in the stock"
        case TookPile() if len(event.cards) < event.size:
            return f"takes {format_cards(event.cards)} from the top of the closed pile of {event.size}"
        case TookPile():
            return f"takes the pile: {format_cards(event.cards)}"
        case TookRest():
            return f"gets the rest of the pile: {format_cards(event.cards)}" if event.size else ""
        case Discarded():
            return f"discards {CARD_TEXT[event.card]}"
        case PotTaken():
            return f"picks up a pot {'in flight' if event.in_flight else 'by discard'}: {format_cards(event.cards)}"
        case Opened():
            return f"opens with {event.points} points"
        case OpeningFailed():
            back = f", {format_cards(event.cards)} return to the hand" if event.cards else ""
            return f"fails to open{back}: -{event.penalty}, the next attempt needs {event.next_required}"
        case Undone():
            return f"takes back {format_cards(event.cards) or 'a moved wild'} from meld {event.meld_index}"


def _describe_play(event: Melded | LaidOff | WildMoved) -> str:
    meld = _describe_meld(event.meld)
    match event:
        case Melded():
            return f"melds {meld} (meld {event.meld_index})"
        case LaidOff():
            return f"lays {format_cards(event.cards)} off on meld {event.meld_index}: {meld}"
        case WildMoved():
            return f"moves the wild of meld {event.meld_index}: {meld}"


def _describe_meld(meld: Meld) -> str:
    kind = f", {meld.buraco.name.lower().replace('_', '-')} buraco" if meld.buraco else ""
    return f"{format_meld(meld)}{kind}"


def _describe_progress(event: Dealt | PotsJoined | DealEnded | MatchEnded) -> str:
    match event:
        case Dealt():
            upcard = f", {CARD_TEXT[event.upcard]} is turned up" if event.upcard else ""
            return f"deal {event.deal_number} is dealt{upcard}, seat {event.starter} starts"
        case PotsJoined():
            return f"the pots become the stock: {event.stock_count} cards"
        case DealEnded():
            first, second = event.score.sides
            return f"the deal is over: {first.total} to side 0, {second.total} to side 1"
        case MatchEnded():
            result = "a draw" if event.winner is None else f"side {event.winner} wins"
            return f"the match is over, {event.scores[0]} to {event.scores[1]}: {result}"
