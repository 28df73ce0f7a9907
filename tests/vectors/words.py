"""Read the short texts of vectors into the JSON of the messages they stand for.

Written for itself: cards and melds are read here anew, so that a slip in the notation of the rules cannot hide.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

Json = dict[str, Any]

SUITS: Final = "shdc"
RANKS: Final = "A23456789TJQK"
JOKER: Final = 53
PHASES: Final = {"draw": 1, "meld": 2, "over": 3}
ENDINGS: Final = {"closed": 1, "stock": 2, "max_turns": 3, "twos_buraco": 4}
BURACOS: Final = {"dirty": 1, "semi_clean": 2, "clean": 3, "royal": 4, "ace_to_ace": 5}
ACTIONS: Final = {
    "draw_stock": 1,
    "take_pile": 2,
    "lay_meld": 3,
    "lay_off": 4,
    "move_wild": 5,
    "discard": 6,
    "undo": 7,
}
RUN: Final = 1
SET: Final = 2


class WordError(ValueError):
    """A text of a vector cannot be read."""


def card(text: str) -> int:
    """Return the number of a card: `As` is 1, `Kc` 52, `Jo` 53."""
    if text == "Jo":
        return JOKER
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        raise WordError(f"not a card: {text!r}")
    return 13 * SUITS.index(text[1]) + RANKS.index(text[0]) + 1


def cards(text: str) -> list[int]:
    """Return the numbers of cards, separated by spaces; `-` stands for none."""
    return [] if text == "-" else [card(word) for word in text.split()]


def card_text(number: int) -> str:
    """Return a card as people read it."""
    if number == JOKER:
        return "Jo"
    return RANKS[(number - 1) % 13] + SUITS[(number - 1) // 13] if 0 < number < JOKER else f"card {number}"


def rank(number: int) -> int:
    """Return 1 for an ace to 13 for a king, 0 for a joker."""
    return 0 if number == JOKER else (number - 1) % 13 + 1


def meld(text: str) -> Json:
    """Read a meld: cards in order of place, the acting wild in brackets, from seven cards on its kind, `!` for dirt."""
    words = text.split()
    stays_dirty = words[-1:] == ["!"]
    if stays_dirty:
        words.pop()
    buraco = BURACOS[words.pop()] if words and words[-1] in BURACOS else 0
    acting = [index for index, word in enumerate(words) if word.startswith("[") and word.endswith("]")]
    numbers = [card(word.strip("[]")) for word in words]
    if len(acting) > 1 or len(numbers) < 3 or (len(numbers) >= 7) != bool(buraco):
        raise WordError(f"not a meld, or its kind of buraco is missing: {text!r}")
    naturals = [(index, number) for index, number in enumerate(numbers) if index not in acting]
    found: Json = {"cards": numbers}
    if len({rank(number) for _, number in naturals}) == 1:
        found |= {"kind": SET}
        if acting and acting[0] != len(numbers) - 1:
            raise WordError(f"the wild of a set stands last: {text!r}")
        numbers[: len(naturals)] = sorted(numbers[: len(naturals)])
    else:
        index, anchor = next((index, number) for index, number in naturals if rank(number) != 1)
        found |= {"kind": RUN, "low_position": rank(anchor) - index}
    if acting:
        found["wild_index"] = acting[0]
    if buraco:
        found["buraco"] = buraco
    if stays_dirty:
        found["stays_dirty"] = True
    return found


def score_line(text: str) -> Json:
    """Read a line of a score sheet: `cards 0: 45`, `clean 0: 200`, `closing: 100`, `hand 1: -30`, `no pot: -100`."""
    found = re.fullmatch(r"([a-z_ ]+?)(?: (\d+))?: (-?\d+)", text)
    if found is None:
        raise WordError(f"not a line of a score: {text!r}")
    what, number, points = found[1], found[2], int(found[3])
    plain = {"closing": 3, "no pot": 5, "unused pot": 6, "opening": 7}
    if what in plain:
        return {"kind": plain[what], "points": points}
    if what == "cards":
        return {"kind": 1, "points": points, "meld": int(number)}
    if what == "hand":
        return {"kind": 4, "points": points, "seat": int(number)}
    return {"kind": 2, "points": points, "meld": int(number), "buraco": BURACOS[what]}


def turn(text: str) -> Json:
    """Read a turn: `5 seat 0 meld lock 9c must 9c attempt`, or `5 seat 0 over closed`. What it omits does not bind."""
    found: Json = {}
    words = text.split()
    while words:
        word = words.pop(0)
        if word.isdigit():
            found["number"] = int(word)
        elif word == "seat":
            found["seat"] = int(words.pop(0))
        elif word in PHASES:
            found["phase"] = PHASES[word]
            found["ending"] = ENDINGS[words.pop(0)] if word == "over" else 0
            found |= {"locked_card": 0, "must_meld": 0, "opening_attempt": False}
        elif word == "lock":
            found["locked_card"] = card(words.pop(0))
        elif word == "must":
            found["must_meld"] = card(words.pop(0))
        elif word == "attempt":
            found["opening_attempt"] = True
        else:
            raise WordError(f"not a part of a turn: {word!r}")
    return found


def side(text: str) -> Json:
    """Read a side without its melds: `pots 1 unplayed 0 2 opening 95 penalties 20`; `-` for nothing of all that."""
    found: Json = {"pots_taken": 0, "unplayed_pots": [], "opening_required": 0, "opening_penalties": 0}
    names = {"pots": "pots_taken", "opening": "opening_required", "penalties": "opening_penalties"}
    words = [] if text == "-" else text.split()
    while words:
        word = words.pop(0)
        if word == "unplayed":
            while words and words[0].isdigit():
                found["unplayed_pots"].append(int(words.pop(0)))
        elif word in names:
            found[names[word]] = int(words.pop(0))
        else:
            raise WordError(f"not a part of a side: {word!r}")
    return found


class EventReader:
    """Reads what happens in one turn; what a text leaves out is taken from the position before."""

    def __init__(self, stock: int, pots: Sequence[Sequence[int]]) -> None:
        """`stock` is how many cards it had before the turn, `pots` those that were on the table."""
        self._stock = stock
        self._pots = [sorted(pot) for pot in pots]

    def read(self, text: str) -> Json:
        """Return an event as JSON."""
        for pattern, build in _EVENTS:
            found = re.fullmatch(pattern, text)
            if found is not None:
                event = build(found)
                break
        else:
            raise WordError(f"not an event: {text!r}")
        if "drew" in event:
            self._stock -= 1
            event["drew"]["stock_count"] = self._stock
        if "pot_taken" in event:
            pot = self._pots.pop(0)
            event["pot_taken"] |= {"cards": pot, "count": len(pot)}
        return event


def _seat(found: re.Match[str]) -> Json:
    return {"seat": int(found[1])}


def _took_pile(found: re.Match[str]) -> Json:
    taken = cards(found[2])
    return {"took_pile": _seat(found) | {"cards": taken, "count": int(found[3] or len(taken))}}


def _took_rest(found: re.Match[str]) -> Json:
    taken = sorted(cards(found[2]))
    return {"took_rest": _seat(found) | {"cards": taken, "count": len(taken)}}


def _laid_off(found: re.Match[str]) -> Json:
    laid = sorted(cards(found[2]))
    return {"laid_off": _seat(found) | {"index": int(found[3]), "cards": laid, "meld": meld(found[4])}}


def _failed(found: re.Match[str]) -> Json:
    shown = {"cards": sorted(cards(found[2])), "penalty": int(found[3]), "next_required": int(found[4])}
    return {"opening_failed": _seat(found) | shown}


def _undone(found: re.Match[str]) -> Json:
    event = _seat(found) | {"cards": sorted(cards(found[2])), "index": int(found[3])}
    return {"undone": event if found[4] == "gone" else event | {"meld": meld(found[4])}}


def _deal_ended(found: re.Match[str]) -> Json:
    event: Json = {"ending": ENDINGS[found[1]]}
    return {"deal_ended": event if found[2] is None else event | {"seat": int(found[2])}}


def _match_ended(found: re.Match[str]) -> Json:
    event: Json = {"scores": [int(found[2]), int(found[3])]}
    return {"match_ended": event if found[1] is None else event | {"winner": int(found[1])}}


_EVENTS: Final[tuple[tuple[str, Callable[[re.Match[str]], Json]], ...]] = (
    (r"(\d) draws (\S+)", lambda found: {"drew": _seat(found) | {"card": card(found[2])}}),
    (r"(\d) takes pot( in flight)?", lambda found: {"pot_taken": _seat(found) | {"in_flight": bool(found[2])}}),
    (r"(\d) takes back (.+) from (\d+): (.+)", _undone),
    (r"(\d) takes (.+?)(?: of (\d+))?", _took_pile),
    (r"(\d) gets (.+)", _took_rest),
    (
        r"(\d) melds (\d+): (.+)",
        lambda found: {"melded": _seat(found) | {"index": int(found[2]), "meld": meld(found[3])}},
    ),
    (r"(\d) lays (.+) on (\d+): (.+)", _laid_off),
    (
        r"(\d) moves the wild of (\d+): (.+)",
        lambda found: {"wild_moved": _seat(found) | {"index": int(found[2]), "meld": meld(found[3])}},
    ),
    (r"(\d) discards (\S+)", lambda found: {"discarded": _seat(found) | {"card": card(found[2])}}),
    (r"pots join: (\d+)", lambda found: {"pots_joined": {"stock_count": int(found[1])}}),
    (r"(\d) opens with (\d+)", lambda found: {"opened": _seat(found) | {"points": int(found[2])}}),
    (r"(\d) fails with (.+): (\d+), next (\d+)", _failed),
    (r"deal ends: (\w+?)(?: by (\d))?", _deal_ended),
    (r"match ends: (?:side (\d) wins|draw) (-?\d+) (-?\d+)", _match_ended),
)
