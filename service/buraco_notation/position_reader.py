"""Reading a position: its fields one by one, then the cards they leave unnamed, then whether all of it fits together.

What a position looks like stands in `position_notation`.
"""

from collections.abc import Callable
from typing import Any, Final

from buraco_notation.labelled_fields import NUMBER, Keywords, LabelledFields
from buraco_notation.melds import Named, read_meld
from buraco_notation.reading import Cursor, Faults, Token, read_card, read_integer
from buraco_notation.rule_sets import TOKEN, read_rule_set
from buraco_notation.unnamed_cards import NONE, Cards, Unnamed, deal_out, left_over, named_in, read_cards
from buraco_rules import (
    HAND_SIZE,
    POTS,
    PRESETS,
    Deal,
    Ending,
    Match,
    Meld,
    Phase,
    RuleSet,
    Side,
    Turn,
    UndoStep,
    deal_problems,
    match_problems,
)

LABELS: Final = (
    *("rules", "seats", "match", "turn", "hand 0", "hand 1", "hand 2", "hand 3"),
    *("melds 0", "side 0", "melds 1", "side 1", "pile", "pots", "stock", "undo"),
)
_ENDINGS: Final = {ending.name.lower(): ending for ending in Ending if ending}
_BINDINGS: Final = ("lock", "must", "unplayed")
_AFTER_LAID: Final = ("", ",", "was", *_BINDINGS)


class PositionReader:
    """Reads one position; every part leaves its faults in the same place."""

    def __init__(self, text: str) -> None:
        """Nothing but the fields is looked for before `deal` is called."""
        self._faults = Faults(text)
        self._fields = LabelledFields(text, TOKEN, LABELS, self._faults)

    def deal(self, *, sound: bool) -> Deal:
        """The deal. Raises NotationFaults."""
        faults = self._faults
        rules = self._rules()
        readable = PRESETS[0] if rules is None else rules
        seats = self._seats()
        match = self._match(seats)
        turn, seat, phase, ending = self._turn(seats, match)
        table = [self._melds(number, readable) for number in range(2)]
        sides = [self._side(number)._replace(melds=melds) for number, (melds, _) in enumerate(table)]
        turn = turn._replace(undo=self._undo(readable, len(table[seat & 1][0])))
        lists = [
            *[self._cards(f"hand {number}", f"hands[{number}]", HAND_SIZE) for number in range(seats)],
            *self._pots(max(0, POTS - sum([side.pots_taken for side in sides]))),
            self._cards("pile", "pile", 0),
            self._cards("stock", "stock", None),
        ]
        melded = [name for _, names in table for name in names]
        if rules is not None and faults:
            left_over(rules.jokers, [*melded, *named_in(lists)], faults)
        faults.raise_if_any()
        filled = deal_out(readable.jokers, lists, melded, self._fields.end, faults)
        faults.raise_if_any()
        deal = Deal(
            rules=readable,
            seats=seats,
            match=match,
            stock=filled[-1],
            pile=filled[-2],
            pots=tuple(filled[seats:-2]),
            hands=tuple([tuple(sorted(hand)) for hand in filled[:seats]]),
            sides=(sides[0], sides[1]),
            seat_to_move=seat,
            phase=phase,
            turn=turn,
            ending=ending,
        )
        for path, problem in deal_problems(deal) if sound else ():
            self._fields.fault(path, problem)
        faults.raise_if_any()
        return deal

    # ---- what the deal is of -----------------------------------------------------------------------------

    def _rules(self) -> RuleSet | None:
        cursor = self._fields.open("rules", "rules")
        if cursor is None:
            self._faults.add(self._fields.end, "the field 'rules' is missing")
            return None
        rules = read_rule_set(cursor, self._faults)
        if rules is not None:
            self._fields.close(cursor)
        return rules

    def _seats(self) -> int:
        cursor = self._fields.open("seats", "seats")
        if cursor is not None and cursor.peek().text not in ("2", "4"):
            self._faults.expected(cursor.peek(), "2 or 4 seats (R2.1)")
            return 4
        seats = 2
        if cursor is not None:
            seats = int(cursor.take().text)
            self._fields.close(cursor)
        for number in range(seats, 4):
            label = self._fields.label(f"hand {number}")
            if label is not None:
                self._faults.add(label, f"there are {seats} seats: see the field 'seats'")
        return seats

    def _match(self, seats: int) -> Match:
        fields = self._fields
        cursor = fields.open("match", "match")
        if cursor is None:
            return Match()
        keywords: Keywords = {
            "deal": ("deal_number", fields.number),
            "scores": ("scores", lambda cursor: (self._score(cursor), self._score(cursor))),
            "starter": ("starter", fields.number),
            "target": ("target_score", fields.number),
        }
        faults = len(self._faults)
        match = Match(**fields.keywords(cursor, "match", keywords))
        for path, problem in match_problems(match, seats) if len(self._faults) == faults else ():
            fields.fault(f"match.{path}", problem)
        return match

    def _score(self, cursor: Cursor) -> int:
        return read_integer(cursor, self._faults, "the scores of both sides") or 0

    # ---- what binds --------------------------------------------------------------------------------------

    def _turn(self, seats: int, match: Match) -> tuple[Turn, int, Phase, Ending]:
        """The turn without its undo steps, the seat to move, the phase and the ending."""
        fields = self._fields
        cursor = fields.open("turn", "turn")
        keywords: Keywords = {
            NUMBER: ("number", fields.number),
            "seat": ("seat", self._seat_of(seats)),
            "draw": ("phase", lambda _: (Phase.DRAW, Ending.NONE)),
            "meld": ("phase", lambda _: (Phase.MELD, Ending.NONE)),
            "over": ("phase", lambda cursor: (Phase.OVER, self._ending(cursor))),
            "lock": ("locked_card", self._card),
            "must": ("must_meld", self._card),
            "attempt": ("opening_attempt", lambda _: True),
        }
        values = {} if cursor is None else fields.keywords(cursor, "turn", keywords)
        for name, path in (("seat", "seat_to_move"), ("phase", "ending")):
            if name in values:
                fields.place(path, fields.where(f"turn.{name}"))
        phase, ending = values.pop("phase", (Phase.DRAW, Ending.NONE))
        starter = (match.starter + match.deal_number - 1) % seats
        first = (values.get("seat", starter) - starter) % seats + 1
        number = values.pop("number", first)
        seat = values.pop("seat", (starter + number - 1) % seats)
        return Turn(number, **values), seat, phase, ending

    def _seat_of(self, seats: int) -> Callable[[Cursor], int]:
        def seat(cursor: Cursor) -> int:
            token = cursor.peek()
            number = self._fields.number(cursor)
            if number >= seats:
                self._faults.expected(token, f"a seat, 0 to {seats - 1}")
                return 0
            return number

        return seat

    def _ending(self, cursor: Cursor) -> Ending:
        token = cursor.take()
        ending = _ENDINGS.get(token.text)
        if ending is None:
            self._faults.expected(token, f"how the deal ended: {', '.join(_ENDINGS)}")
        return ending or Ending.NONE

    def _card(self, cursor: Cursor) -> int:
        return read_card(cursor, self._faults)

    def _undo(self, rules: RuleSet, melds: int) -> tuple[UndoStep, ...]:
        """What can be taken back, by a side that has so many melds."""
        cursor = self._fields.open("undo", "turn.undo")
        steps: list[UndoStep] = []
        if cursor is None:
            return ()
        while True:
            self._fields.place(f"turn.undo[{len(steps)}]", cursor.peek())
            steps.append(self._undo_step(cursor, rules))
            if not cursor.takes(","):
                break
        self._fields.close(cursor)
        # New melds come last, so the newest is the last of the side's melds, and so on backwards.
        for index in range(len(steps) - 1, -1, -1):
            if steps[index].before is None:
                melds -= 1
                steps[index] = steps[index]._replace(meld=melds)
        return tuple(steps)

    def _undo_step(self, cursor: Cursor, rules: RuleSet) -> UndoStep:
        sign = cursor.peek()
        index, before = 0, None
        cards: tuple[int, ...] = ()
        if sign.text not in ("=", "&", "~"):
            self._faults.expected(sign, "'=', '&' or '~'")
        else:
            cursor.take()
        if sign.text in ("&", "~"):
            index = self._fields.number(cursor)
        if sign.text == "&" and not cursor.takes(":"):
            self._faults.expected(cursor.peek(), "':' and the cards laid off")
        if sign.text != "~":
            cards = self._laid(cursor)
        if sign.text in ("&", "~"):
            if not cursor.takes("was"):
                self._faults.expected(cursor.peek(), "'was' and the meld as it was")
            before, _ = read_meld(cursor, rules, self._faults, _BINDINGS)
        bound: dict[str, Any] = {"locked_card": 0, "must_meld": 0, "unplayed_pot": False}
        if cursor.takes("lock"):
            bound["locked_card"] = self._card(cursor)
        if cursor.takes("must"):
            bound["must_meld"] = self._card(cursor)
        bound["unplayed_pot"] = cursor.takes("unplayed")
        while cursor.peek().text not in ("", ","):
            self._faults.expected(cursor.take(), "',' or the end of the field")
        return UndoStep(index, before, cards, **bound)

    def _laid(self, cursor: Cursor) -> tuple[int, ...]:
        cards: list[int] = []
        while cursor.peek().text not in _AFTER_LAID:
            cards.append(self._card(cursor))
        if not cards:
            self._faults.expected(cursor.peek(), "the cards laid")
        return tuple(cards)

    # ---- where the cards are -----------------------------------------------------------------------------

    def _melds(self, side: int, rules: RuleSet) -> tuple[tuple[Meld, ...], list[Named]]:
        """A side's melds, and the cards they name. A faulty meld is left out."""
        path = f"sides[{side}].melds"
        cursor = self._fields.open(f"melds {side}", path)
        melds: list[Meld] = []
        named: list[Named] = []
        if cursor is None or (cursor.peek().text == NONE and cursor.peek(1).text == ""):
            return (), named
        while True:
            self._fields.place(f"{path}[{len(melds)}]", cursor.peek())
            meld, names = read_meld(cursor, rules, self._faults)
            named += names
            if meld is not None:
                melds.append(meld)
            if not cursor.takes(","):
                break
        self._fields.close(cursor)
        return tuple(melds), named

    def _side(self, side: int) -> Side:
        fields = self._fields
        cursor = fields.open(f"side {side}", f"sides[{side}]")
        keywords: Keywords = {
            "pots": ("pots_taken", fields.number),
            "unplayed": ("unplayed_pots", fields.numbers),
            "opening": ("opening_required", fields.number),
            "penalties": ("opening_penalties", fields.number),
        }
        return Side() if cursor is None else Side(**fields.keywords(cursor, f"sides[{side}]", keywords))

    def _cards(self, label: str, path: str, default: int | None) -> Cards:
        """The cards of a field; so many unnamed ones (None: all that are left) where it is left out."""
        cursor = self._fields.open(label, path)
        if cursor is None:
            return [] if default == 0 else [Unnamed(default, Token("", self._fields.end.start))]
        cards = read_cards(cursor, self._faults)
        self._fields.close(cursor)
        return cards

    def _pots(self, default: int) -> list[Cards]:
        cursor = self._fields.open("pots", "pots")
        if cursor is None:
            return [[Unnamed(HAND_SIZE, self._fields.end)] for _ in range(default)]
        pots: list[Cards] = []
        if cursor.peek().text == NONE and cursor.peek(1).text == "":
            return pots
        while True:
            self._fields.place(f"pots[{len(pots)}]", cursor.peek())
            pots.append(read_cards(cursor, self._faults))
            if not cursor.takes(","):
                break
        self._fields.close(cursor)
        return pots
