"""Tables and score sheets as lines of plain text, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from buraco_notation import format_meld, format_move
from buraco_rules import (
    Deal,
    DealScore,
    Discard,
    DrawStock,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    Phase,
    ScoreLineKind,
    TakePile,
    legal_moves,
)
from buraco_rules.cards import CARD_TEXT

WIDTH: Final = 100

_SCORE_LABELS: Final = {
    ScoreLineKind.MELD_CARDS: "melded cards",
    ScoreLineKind.BURACO: "buracos",
    ScoreLineKind.CLOSING: "closing",
    ScoreLineKind.HAND: "cards in hand",
    ScoreLineKind.NO_POT: "no pot taken",
    ScoreLineKind.UNUSED_POT: "pot not played from",
    ScoreLineKind.OPENING_PENALTIES: "failed openings",
}
_MOVE_LABELS: Final[tuple[tuple[str, tuple[type, ...]], ...]] = (
    ("draws", (DrawStock, TakePile)),
    ("new melds", (LayMeld,)),
    ("lay-offs", (LayOff,)),
    ("wilds moved", (MoveWild,)),
    ("discards", (Discard,)),
)
_LABEL_WIDTH: Final = 12


def table_lines(deal: Deal) -> Iterator[str]:
    """The table as everybody sees it, but for a closed pile, which is shown whole."""
    for number, side in enumerate(deal.sides):
        yield from wrapped(f"side {number}", [f"{index}: {format_meld(meld)}" for index, meld in enumerate(side.melds)])
    yield from wrapped("pile", [CARD_TEXT[card] for card in deal.pile], gap=" ")
    counts = [f"{len(deal.stock)} in the stock", f"{len(deal.pots)} pots"]
    counts += [f"seat {seat} holds {len(hand)}" for seat, hand in enumerate(deal.hands)]
    yield from wrapped("cards", [f"{count}," for count in counts[:-1]] + counts[-1:], gap=" ")


def hand_lines(deal: Deal) -> Iterator[str]:
    """Every hand, and what is hidden besides."""
    for seat, hand in enumerate(deal.hands):
        yield from wrapped(f"hand {seat}", [CARD_TEXT[card] for card in hand], gap=" ")


def side_lines(deal: Deal) -> Iterator[str]:
    """Pots and openings of both sides, where there is something to tell."""
    for number, side in enumerate(deal.sides):
        told = [f"{side.pots_taken} pots taken"] if side.pots_taken else []
        told += [f"seat {seat} has not played from its pot" for seat in side.unplayed_pots]
        if side.opening_required:
            told.append(f"must open with {side.opening_required} points")
        if side.opening_penalties:
            told.append(f"{side.opening_penalties} points off for failed openings")
        if told:
            yield from wrapped(f"side {number}", [", ".join(told)])


def move_lines(deal: Deal) -> Iterator[str]:
    """Every legal move in short notation, by kind."""
    moves: list[Move] = legal_moves(deal)
    for label, kinds in _MOVE_LABELS:
        texts = [format_move(move) for move in moves if isinstance(move, kinds)]
        if texts:
            yield from wrapped(label, texts)


def score_lines(score: DealScore) -> Iterator[str]:
    """The score sheet, the lines of a kind added up."""
    yield f"  {'':24}{'side 0':>10}{'side 1':>10}"
    for kind, label in _SCORE_LABELS.items():
        found = [[line.points for line in side.lines if line.kind is kind] for side in score.sides]
        if any(found):
            first, second = [str(sum(points)) if points else "-" for points in found]
            yield f"  {label:24}{first:>10}{second:>10}"
    first_side, second_side = score.sides
    yield f"  {'this deal':24}{first_side.total:>10}{second_side.total:>10}"
    yield f"  {'match':24}{first_side.match_total:>10}{second_side.match_total:>10}"


def duty_lines(deal: Deal) -> Iterator[str]:
    """Who is to move, what that seat has to do, and what binds it."""
    turn = deal.turn
    does = {Phase.DRAW: "it draws", Phase.MELD: "it may meld, then discards"}
    yield f"Turn {turn.number}, seat {deal.seat_to_move} is to move: {does[deal.phase]}"
    bound = []
    if turn.must_meld:
        bound.append(f"the next move must meld {CARD_TEXT[turn.must_meld]}, the top card of the closed pile (R3.4)")
    if turn.locked_card:
        bound.append(f"the {CARD_TEXT[turn.locked_card]} that was taken is locked (R3.3)")
    if turn.opening_attempt:
        bound.append("an opening attempt is running (R11.2)")
    if bound:
        yield from wrapped("bound", bound)


def wrapped(label: str, items: Sequence[str], *, gap: str = "   ") -> Iterator[str]:
    """A label and its items, `-` for none, on as many lines as they need; no item is broken."""
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
