"""Tables, hands and legal moves as lines of plain text, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from buraco_notation import format_meld, format_move
from buraco_rules import (
    Deal,
    Discard,
    DrawStock,
    LayMeld,
    LayOff,
    MoveWild,
    Phase,
    TakePile,
    legal_moves,
)
from buraco_rules.cards import CARD_TEXT

WIDTH: Final = 100

_MOVE_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "draws": (DrawStock, TakePile),
    "new melds": (LayMeld,),
    "lay-offs": (LayOff,),
    "wilds moved": (MoveWild,),
    "discards": (Discard,),
}
_LABEL_WIDTH: Final = 12


def format_table(deal: Deal) -> Iterator[str]:
    """Yield the table as everybody sees it, but for a closed pile, which is shown whole."""
    for number, side in enumerate(deal.sides):
        yield from wrap(f"side {number}", [f"{index}: {format_meld(meld)}" for index, meld in enumerate(side.melds)])
    yield from _wrap_cards("pile", deal.pile)
    counts = [f"{len(deal.stock)} in the stock", f"{len(deal.pots)} pots"]
    counts += [f"seat {seat} holds {len(hand)}" for seat, hand in enumerate(deal.hands)]
    yield from wrap("cards", [f"{count}," for count in counts[:-1]] + counts[-1:], gap=" ")


def format_hands(deal: Deal) -> Iterator[str]:
    """Yield the hand of every seat."""
    for seat, hand in enumerate(deal.hands):
        yield from _wrap_cards(f"hand {seat}", hand)


def format_pots_and_openings(deal: Deal) -> Iterator[str]:
    """Yield what each side has done with its pots and openings, if anything."""
    for number, side in enumerate(deal.sides):
        notes = [f"{side.pots_taken} pots taken"] if side.pots_taken else []
        notes += [f"seat {seat} has not played from its pot" for seat in side.unplayed_pots]
        if side.opening_required:
            notes.append(f"must open with {side.opening_required} points")
        if side.opening_penalties:
            notes.append(f"{side.opening_penalties} points off for failed openings")
        if notes:
            yield from wrap(f"side {number}", [", ".join(notes)])


def format_legal_moves(deal: Deal) -> Iterator[str]:
    """Yield every legal move in short notation, by kind."""
    moves = legal_moves(deal)
    for label, kinds in _MOVE_KINDS.items():
        texts = [format_move(move) for move in moves if isinstance(move, kinds)]
        if texts:
            yield from wrap(label, texts)


def format_turn(deal: Deal) -> Iterator[str]:
    """Yield who is to move in a running deal, what that seat has to do, and what binds it."""
    turn = deal.turn
    task = "it draws" if deal.phase is Phase.DRAW else "it may meld, then discards"
    yield f"Turn {turn.number}, seat {deal.seat_to_move} is to move: {task}"
    bound = []
    if turn.must_meld:
        bound.append(f"the next move must meld {CARD_TEXT[turn.must_meld]}, the top card of the closed pile (R3.4)")
    if turn.locked_card:
        bound.append(f"the {CARD_TEXT[turn.locked_card]} that was taken is locked (R3.3)")
    if turn.opening_attempt:
        bound.append("an opening attempt is running (R11.2)")
    if bound:
        yield from wrap("bound", bound)


def wrap(label: str, items: Sequence[str], *, gap: str = "   ") -> Iterator[str]:
    """Yield a label and its items, `-` for none, on as many lines as they need; no item is broken."""
    margin = f"  {label:{_LABEL_WIDTH}} "
    line = ""
    for item in items or ["-"]:
        longer = f"{line}{gap}{item}" if line else item
        if line and len(margin) + len(longer) > WIDTH:
            yield (margin + line).rstrip()
            margin, line = " " * len(margin), item
        else:
            line = longer
    yield (margin + line).rstrip()


def _wrap_cards(label: str, cards: Iterable[int]) -> Iterator[str]:
    return wrap(label, [CARD_TEXT[card] for card in cards], gap=" ")
