"""Read a position: its fields one by one, then the cards they leave unnamed, then whether all of it fits together.

`positions` describes the form of the text.
"""

from itertools import chain
from typing import Final

from buraco_notation.cards import read_card
from buraco_notation.fields import NUMBER, Keywords, split_fields
from buraco_notation.melds import NamedCard, read_meld
from buraco_notation.reading import Cursor, TextProblems, read_ending, take_required
from buraco_notation.rule_sets import TOKENS, read_rule_set
from buraco_notation.unnamed_cards import Cards, UnnamedCards, deal_out, left_over, named_in, read_cards
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
_BINDINGS: Final = ("lock", "must", "unplayed")
_AFTER_LAID: Final = ("", ",", "was", *_BINDINGS)


class PositionReader:
    """Reads one position; every part adds its problems to the same collector."""

    def __init__(self, text: str) -> None:
        """Split the text into fields; `read` reads them."""
        self._problems = TextProblems(text)
        self._fields = split_fields(text, TOKENS, LABELS, self._problems)

    def read(self, *, verify: bool) -> Deal:
        """Return the deal; with `verify` only one that play can lead to. Raise NotationError. To be called once."""
        known_rules = self._read_rules()
        rules = known_rules or PRESETS[0]
        seats = self._read_seats()
        match = self._read_match(seats)
        turn, seat, phase, ending = self._read_turn(seats, match)
        table = [self._read_melds(number, rules) for number in range(2)]
        first, second = [self._read_side(number)._replace(melds=melds) for number, (melds, _) in enumerate(table)]
        turn = turn._replace(undo=self._read_undo(rules, len(table[seat & 1][0])))
        lists = [
            *[self._read_cards(f"hand {number}", f"hands[{number}]", HAND_SIZE) for number in range(seats)],
            *self._read_pots(max(0, POTS - first.pots_taken - second.pots_taken)),
            self._read_cards("pile", "pile", 0),
            self._read_cards("stock", "stock", None),
        ]
        filled = self._fill_in(known_rules, lists, [name for _, names in table for name in names])
        deal = Deal(
            rules=rules,
            seats=seats,
            match=match,
            stock=filled[-1],
            pile=filled[-2],
            pots=tuple(filled[seats:-2]),
            hands=tuple([tuple(sorted(hand)) for hand in filled[:seats]]),
            sides=(first, second),
            seat_to_move=seat,
            phase=phase,
            turn=turn,
            ending=ending,
        )
        for path, problem in deal_problems(deal) if verify else ():
            self._fields.add_problem(path, problem)
        self._problems.raise_if_any()
        return deal

    def _fill_in(self, rules: RuleSet | None, lists: list[Cards], melded: list[NamedCard]) -> list[tuple[int, ...]]:
        """Return the lists with their unnamed cards filled in. Raise NotationError if there is any problem by then."""
        if rules is not None and self._problems:
            left_over(rules.jokers, [*melded, *named_in(lists)], self._problems)
        if rules is None or self._problems:
            raise self._problems.error()
        filled = deal_out(rules.jokers, lists, melded, self._fields.fallback, self._problems)
        self._problems.raise_if_any()
        return filled

    # ---- what the deal is of -----------------------------------------------------------------------------

    def _read_rules(self) -> RuleSet | None:
        return self._fields.read(
            "rules", "rules", lambda cursor: read_rule_set(cursor, self._problems), None, is_required=True
        )

    def _read_seats(self) -> int:
        seats = self._fields.read("seats", "seats", self._fields.read_seats, 2) or 4
        for number in range(seats, 4):
            label = self._fields.label(f"hand {number}")
            if label is not None:
                self._problems.add(label, f"there are {seats} seats: see the field 'seats'")
        return seats

    def _read_match(self, seats: int) -> Match:
        fields = self._fields
        keywords: Keywords = {
            "deal": ("deal_number", fields.read_number),
            "scores": ("scores", fields.read_pair),
            "starter": ("starter", fields.read_number),
            "target": ("target_score", fields.read_number),
        }
        before = len(self._problems)
        match = Match(**fields.read_keywords("match", "match", keywords))
        for path, problem in match_problems(match, seats) if len(self._problems) == before else ():
            fields.add_problem(f"match.{path}", problem)
        return match

    # ---- what binds --------------------------------------------------------------------------------------

    def _read_turn(self, seats: int, match: Match) -> tuple[Turn, int, Phase, Ending]:
        """Read the turn without its undo steps, the seat to move, the phase and the ending."""
        fields = self._fields

        def read_seat(cursor: Cursor) -> int:
            token = cursor.peek()
            seat = fields.read_number(cursor)
            if seat < seats:
                return seat
            self._problems.add_unexpected(token, f"a seat, 0 to {seats - 1}")
            return 0

        keywords: Keywords = {
            NUMBER: ("number", fields.read_number),
            "seat": ("seat", read_seat),
            "draw": ("phase", lambda _: (Phase.DRAW, Ending.NONE)),
            "meld": ("phase", lambda _: (Phase.MELD, Ending.NONE)),
            "over": ("phase", lambda cursor: (Phase.OVER, read_ending(cursor.take(), self._problems))),
            "lock": ("locked_card", self._read_card),
            "must": ("must_meld", self._read_card),
            "attempt": ("opening_attempt", lambda _: True),
        }
        values = fields.read_keywords("turn", "turn", keywords)
        for name, path in (("seat", "seat_to_move"), ("phase", "ending")):
            if name in values:
                fields.set_place(path, fields.place_of(f"turn.{name}"))
        phase, ending = values.pop("phase", (Phase.DRAW, Ending.NONE))
        starter = (match.starter + match.deal_number - 1) % seats
        number = values.pop("number", (values.get("seat", starter) - starter) % seats + 1)
        seat = values.pop("seat", (starter + number - 1) % seats)
        return Turn(number, **values), seat, phase, ending

    def _read_card(self, cursor: Cursor) -> int:
        return read_card(cursor, self._problems)

    def _read_undo(self, rules: RuleSet, melds: int) -> tuple[UndoStep, ...]:
        """Read what can be taken back, by a side that has so many melds."""
        steps = self._fields.read_items("undo", "turn.undo", lambda cursor: self._read_undo_step(cursor, rules)) or []
        # New melds come last, so the newest is the last of the side's melds, and so on backwards.
        for index, step in reversed(list(enumerate(steps))):
            if step.before is None:
                melds -= 1
                steps[index] = step._replace(meld=melds)
        return tuple(steps)

    def _read_undo_step(self, cursor: Cursor, rules: RuleSet) -> UndoStep:
        problems, sign = self._problems, cursor.peek()
        index, before = 0, None
        cards: list[int] = []
        if sign.text in ("=", "&", "~"):
            cursor.take()
        else:
            problems.add_unexpected(sign, "'=', '&' or '~'")
        if sign.text in ("&", "~"):
            index = self._fields.read_number(cursor)
        if sign.text == "&":
            take_required(cursor, problems, ":", "':' and the cards laid off")
        if sign.text != "~":
            while cursor.peek().text not in _AFTER_LAID:
                cards.append(self._read_card(cursor))
            if not cards:
                problems.add_unexpected(cursor.peek(), "the cards laid")
        if sign.text in ("&", "~"):
            take_required(cursor, problems, "was", "'was' and the meld as it was")
            before, _ = read_meld(cursor, rules, problems, _BINDINGS)
        locked_card = self._read_card(cursor) if cursor.take_if("lock") else 0
        must_meld = self._read_card(cursor) if cursor.take_if("must") else 0
        unplayed_pot = cursor.take_if("unplayed")
        while cursor.peek().text not in ("", ","):
            problems.add_unexpected(cursor.take(), "',' or the end of the field")
        return UndoStep(index, before, tuple(cards), locked_card, must_meld, unplayed_pot)

    # ---- where the cards are -----------------------------------------------------------------------------

    def _read_melds(self, side: int, rules: RuleSet) -> tuple[tuple[Meld, ...], list[NamedCard]]:
        """Read a side's melds, and the cards they name. A faulty meld is left out."""
        found = self._fields.read_items(
            f"melds {side}", f"sides[{side}].melds", lambda cursor: read_meld(cursor, rules, self._problems)
        )
        melds = tuple([meld for meld, _ in found or () if meld is not None])
        return melds, list(chain.from_iterable([named for _, named in found or ()]))

    def _read_side(self, side: int) -> Side:
        fields = self._fields
        keywords: Keywords = {
            "pots": ("pots_taken", fields.read_number),
            "unplayed": ("unplayed_pots", fields.read_numbers),
            "opening": ("opening_required", fields.read_number),
            "penalties": ("opening_penalties", fields.read_number),
        }
        return Side(**fields.read_keywords(f"side {side}", f"sides[{side}]", keywords))

    def _read_cards(self, label: str, path: str, default: int | None) -> Cards:
        """Read the cards of a field; so many unnamed ones (None: all that are left) if it is left out."""
        unnamed: Cards = [] if default == 0 else [UnnamedCards(default, self._fields.fallback)]
        return self._fields.read(label, path, lambda cursor: read_cards(cursor, self._problems), unnamed)

    def _read_pots(self, default: int) -> list[Cards]:
        pots = self._fields.read_items("pots", "pots", lambda cursor: read_cards(cursor, self._problems))
        return [[UnnamedCards(HAND_SIZE, self._fields.fallback)] for _ in range(default)] if pots is None else pots
