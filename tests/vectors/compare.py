"""Describe how an answer differs from what a vector expects: lines of text, none if all is as expected."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from google.protobuf.message import Message

from buraco.v1 import deal_pb2, event_pb2, move_pb2, score_pb2, view_pb2
from tests.vectors.messages import as_json, normal_event, normal_meld, normal_move
from tests.vectors.words import Json, card_text

_CARDS: Final = frozenset({"card", "cards", "hand", "pile", "stock", "locked_card", "must_meld", "upcard"})


def differs(what: str, expected: Any, got: Any) -> Iterator[str]:
    """Yield a line if two values differ."""
    if expected != got:
        yield f"{what}: expected {_shown(expected)}\n{' ' * len(what)}       got {_shown(got)}"


def _shown(value: Any, name: str = "") -> str:
    """Return a value with its cards as people read them."""
    if isinstance(value, dict):
        return "{" + ", ".join([f"{key}: {_shown(entry, key)}" for key, entry in value.items()]) + "}"
    if isinstance(value, list):
        if name in _CARDS:
            return "(" + " ".join([card_text(number) for number in value]) + ")"
        return "[" + ", ".join([_shown(entry, name if name in ("hands", "pots") else "") for entry in value]) + "]"
    if name in _CARDS and isinstance(value, int) and value:
        return card_text(value)
    return str(value)


# ---- what happened -----------------------------------------------------------------------------------


def events(expected: Sequence[Json], got: Iterable[event_pb2.Event]) -> Iterator[str]:
    """Compare events one by one, in order."""
    happened = [normal_event(as_json(event)) for event in got]
    for index in range(max(len(expected), len(happened))):
        due = expected[index] if index < len(expected) else "nothing more"
        yield from differs(f"event {index}", due, happened[index] if index < len(happened) else "nothing more")


def moves(expected: Sequence[Json], got: Iterable[move_pb2.Move]) -> Iterator[str]:
    """Compare a list of moves, in any order, each once."""
    due = Counter([repr(normal_move(move)) for move in expected])
    listed = [normal_move(as_json(move)) for move in got]
    there = Counter([repr(move) for move in listed])
    if due != there:
        by_text = {repr(move): _shown(move) for move in [*listed, *map(normal_move, expected)]}
        yield from [f"missing move: {by_text[text]}" for text in due - there]
        yield from [f"move that is not expected: {by_text[text]}" for text in there - due]


def refusal(expected: Json, reason: str, fields: Sequence[str]) -> Iterator[str]:
    """Compare a refusal: its reason, and its fields, each at or under one that is expected, and the other way round."""
    yield from differs("reason", expected["reason"], reason)
    for due in expected["fields"]:
        if not any([is_under(field, due) for field in fields]):
            yield f"no problem of {due} is reported, only of {', '.join(fields) or 'nothing'}"
    for field in fields:
        if not any([is_under(field, due) for due in expected["fields"]]):
            yield f"a problem that is not expected: {field}"


def is_under(field: str, path: str) -> bool:
    """Return True if a field is the one that the path names, or a part of it."""
    return field == path or field.startswith((path + ".", path + "["))


def violations(expected: Sequence[str], got: Sequence[str]) -> Iterator[str]:
    """Compare violations: the principal one comes first, the others in any order."""
    if got[:1] != [*expected][:1] or set(got) != set(expected):
        yield from differs("violations", [*expected], [*got])


# ---- the position afterwards --------------------------------------------------------------------------


def after(facts: Json, snapshot: deal_pb2.Snapshot) -> Iterator[str]:
    """Compare the facts of a position that a vector names."""
    deal = snapshot.deal
    for name, expected in facts.items():
        if name in ("hands", "hand_counts", "melds", "sides"):
            for number, value in expected.items():
                yield from differs(f"{name} {number}", _named(name, value), _numbered(name, deal, int(number)))
        elif name == "turn":
            turn = turn_json(deal)
            yield from differs("turn", expected, {key: turn[key] for key in expected})
        elif name != "score":
            yield from differs(name, _named(name, expected), _named(name, _single(name, deal)))


def _named(name: str, value: Any) -> Any:
    """Return a list of cards under a name that shows it as such."""
    return {"cards": value} if name in ("hands", "pile", "stock") else value


def _numbered(name: str, deal: deal_pb2.Deal, number: int) -> Any:
    if name == "hands":
        return {"cards": sorted(deal.hands[number].cards)}
    if name == "hand_counts":
        return len(deal.hands[number].cards)
    if name == "melds":
        return [normal_meld(as_json(meld)) for meld in deal.sides[number].melds]
    return side_json(deal.sides[number])


def _single(name: str, deal: deal_pb2.Deal) -> Any:
    if name in ("pile", "stock"):
        return [*getattr(deal, name)]
    return {"stock_count": len(deal.stock), "pot_count": len(deal.pots), "undo_steps": len(deal.turn.undo)}[name]


def side_json(side: deal_pb2.Side) -> Json:
    """Return a side without its melds."""
    return {
        "pots_taken": side.pots_taken,
        "unplayed_pots": [*side.unplayed_pots],
        "opening_required": side.opening_required,
        "opening_penalties": side.opening_penalties,
    }


def turn_json(deal: deal_pb2.Deal) -> Json:
    """Return the turn of a position."""
    return {
        "number": deal.turn.number,
        "seat": deal.seat_to_move,
        "phase": int(deal.phase),
        "ending": int(deal.ending),
        "locked_card": int(deal.turn.locked_card),
        "must_meld": int(deal.turn.must_meld),
        "opening_attempt": deal.turn.opening_attempt,
    }


def score(facts: Json, got: score_pb2.DealScore, deal: deal_pb2.Deal) -> Iterator[str]:
    """Compare lines, totals and match totals, as far as they are expected. Lines that count nothing may be left out.

    The melds of each sheet are those of the deal that it counts.
    """
    for side in got.sides:
        number = str(side.side)
        counted = [[normal_meld(as_json(meld)) for meld in part.melds] for part in (deal.sides[side.side], side)]
        yield from differs(f"melds {number} of the score", *counted)
        if number in facts.get("lines", {}):
            lines = [as_json(line) for line in side.lines if line.points]
            expected = [{key: value for key, value in line.items() if value} for line in facts["lines"][number]]
            got_lines = [{key: value for key, value in line.items() if value} for line in lines]
            yield from differs(f"lines {number}", *(sorted(part, key=repr) for part in (expected, got_lines)))
        yield from differs(f"sum of the lines {number}", sum([line.points for line in side.lines]), side.total)
    for name, attribute in (("totals", "total"), ("match_totals", "match_total")):
        if name in facts:
            yield from differs(name, facts[name], [getattr(side, attribute) for side in got.sides])


def cards_in(snapshot: deal_pb2.Snapshot) -> Counter[int]:
    """Return every card of a position."""
    deal = snapshot.deal
    found = Counter[int]([*deal.stock, *deal.pile])
    for held in (*deal.pots, *deal.hands):
        found.update(held.cards)
    for side in deal.sides:
        for meld in side.melds:
            found.update(meld.cards)
    return found


# ---- what is seen ------------------------------------------------------------------------------------


def view(facts: Json, got: view_pb2.View) -> Iterator[str]:
    """Compare the facts of a view that a vector names."""
    for name, expected in facts.items():
        if name == "turn":
            turn = _view_turn(got)
            yield from differs("turn", expected, {key: turn[key] for key in expected})
        elif name == "melds":
            for number, melds in expected.items():
                seen = [normal_meld(as_json(meld)) for meld in got.sides[int(number)].melds]
                yield from differs(f"melds {number}", melds, seen)
        else:
            yield from differs(name, {name: expected}, {name: _seen(name, got)})


def _view_turn(got: view_pb2.View) -> Json:
    return {
        "number": got.turn_number,
        "seat": got.seat_to_move,
        "phase": int(got.phase),
        "ending": int(got.ending),
        "locked_card": int(got.locked_card),
        "must_meld": int(got.must_meld),
        "opening_attempt": got.opening_attempt,
    }


def _seen(name: str, got: view_pb2.View) -> Any:
    if name == "actions":
        return sorted([int(action) for action in got.next_actions])
    if name == "hand_counts":
        return [seat.hand_count for seat in got.seats]
    if name in ("hand", "pile", "pot_counts"):
        return [*getattr(got, name)]
    if name in ("stock_count", "pile_count", "starter"):
        return getattr(got, name)
    return [getattr(side, name) for side in got.sides]


def message(expected: Json, got: Message) -> Iterator[str]:
    """Compare a whole message, field by field."""
    fields = as_json(got)
    for name in {**expected, **fields}:
        yield from differs(name, {name: expected.get(name)}, {name: fields.get(name)})
