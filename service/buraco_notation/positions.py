"""Positions as one text, as FEN is for chess: everything of a `Deal`, hidden cards included.

A text is a list of fields `label: value`, apart by ` | ` or by line ends, in any order, each label once. `#` begins a
comment that goes to the end of the line.

    rules: open{makart=yes} | match: deal 2 scores 450 -120 starter 1 target 2005 | turn: 7 seat 0 meld lock Kd
    hand 0: 3h 4h 5h Kd
    melds 0: 3s 4s [2d] 6s, 9d Td Jd | side 0: pots 1 unplayed 0

- `rules`: the rule set as `rule_set_notation` writes it; the only field that must be given.
- `seats`: 2 or 4; left out: 2.
- `match`: `deal` its number, `scores` of both sides, `starter` of the first deal, `target` score; left out: 1, 0 0,
  0, 0.
- `turn`: its number, `seat` to move, then `draw`, `meld` or `over` with the ending (`closed`, `stock`, `max_turns`,
  `twos_buraco`), `lock` the locked card, `must` the top card to be melded, `attempt` while an opening attempt runs;
  left out: the first turn of the seat, the seat whose turn it is, `draw`, and nothing that binds.
- `hand 0` and so on: the cards of a seat; left out: `?11`.
- `melds 0`, `melds 1`: a side's melds apart by commas, as `meld_notation` writes them; left out: none.
- `side 0`, `side 1`: `pots` taken, `unplayed` seats that have not played from their pot, `opening` points required,
  `penalties` charged; left out: 0, none, 0, 0.
- `pile`: top card last; left out: empty.
- `pots`: those on the table apart by commas, the next first; left out: `?11` for each of two that nobody took.
- `stock`: top card last; left out: `?`.
- `undo`: what can be taken back, oldest first, apart by commas: `=3h 4h 5h` a new meld, `&1:6h was 3h 4h 5h` a
  lay-off on meld 1, `~1 was [2s] 3h 4h 5h` a moved wild; each then with `lock` and `must` as they were, and `unplayed`
  if the seat had not played from its pot; left out: nothing.

Seats and melds count from 0. `-` stands for no cards or melds.

In hands, pots, pile and stock `?11` stands for eleven cards named nowhere, and one `?` for all that are left, so that a
position can be typed by hand. They are dealt out in the order of the deck: spades, hearts, diamonds, clubs, each ace to
king; then, in the same order, the second copies of which neither is named; then jokers. First come all `?n`, hands by
seat, then pots, pile and stock; what is left goes to `?`.

The canonical form is one line in the order above, `side` after the `melds` of each side, every card named, and
everything left out that need not be given but for `turn`, hands, `pots` and `stock`.
"""

from itertools import chain

from buraco_notation.cards import format_cards
from buraco_notation.melds import format_meld
from buraco_notation.position_reader import PositionReader
from buraco_notation.reading import NotationFaults
from buraco_notation.rule_sets import format_rule_set
from buraco_notation.unnamed_cards import NONE
from buraco_rules import Deal, Ending, Match, Side, Turn, UndoStep
from buraco_rules.cards import CARD_TEXT

__all__ = ["format_position", "parse_position"]


def format_position(deal: Deal, *, lines: bool = False) -> str:
    """A position as text, in its canonical form; with `lines` each field on a line of its own.

    Raises ValueError for a deal that no text stands for, which play cannot reach.

    >>> deal = parse_position("rules: open | turn: seat 1 meld | hand 1: Kd 3h 4h 5h | pile: 9c")
    >>> format_position(deal)[:101]
    'rules: open | turn: 2 seat 1 meld | hand 0: As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js | hand 1: 3h 4h 5h Kd | '
    """
    text = ("\n" if lines else " | ").join([f"{label}: {value}" for label, value in _fields(deal) if value])
    try:
        is_written = parse_position(text, sound=False) == deal
    except NotationFaults as faults:
        raise ValueError(f"no text stands for this deal: {faults}") from faults
    if not is_written:
        raise ValueError("no text stands for this deal: its melds, hands or obligations are not in order")
    return text


def parse_position(text: str, *, sound: bool = True) -> Deal:
    """The deal that a text tells of. Raises NotationFaults, which name all that is wrong and where.

    Where the text is in order, the position is judged by `buraco_rules.deal_problems`; `sound=False` leaves that out.

    >>> parse_position("rules: open | hand 0: 3h 4h 4h 4h")
    Traceback (most recent call last):
        ...
    buraco_notation.reading.NotationFaults: 1:32: 4h is named too often: there are 2 (R1.1)
    """
    return PositionReader(text).deal(sound=sound)


def _fields(deal: Deal) -> list[tuple[str, str]]:
    hands = [(f"hand {seat}", _cards(hand)) for seat, hand in enumerate(deal.hands)]
    sides = [
        [(f"melds {number}", ", ".join(map(format_meld, side.melds))), (f"side {number}", _side(side))]
        for number, side in enumerate(deal.sides)
    ]
    return [
        ("rules", format_rule_set(deal.rules)),
        ("seats", "" if deal.seats == 2 else str(deal.seats)),
        ("match", _match(deal.match)),
        ("turn", _turn(deal)),
        *hands,
        *chain.from_iterable(sides),
        ("pile", format_cards(deal.pile)),
        ("pots", ", ".join(map(format_cards, deal.pots)) or NONE),
        ("stock", _cards(deal.stock)),
        ("undo", ", ".join(map(_undo_step, deal.turn.undo))),
    ]


def _cards(cards: tuple[int, ...]) -> str:
    return format_cards(cards) or NONE


def _match(match: Match) -> str:
    parts = {
        "deal": str(match.deal_number) if match.deal_number != 1 else "",
        "scores": f"{match.scores[0]} {match.scores[1]}" if any(match.scores) else "",
        "starter": str(match.starter or ""),
        "target": str(match.target_score or ""),
    }
    return " ".join([f"{keyword} {value}" for keyword, value in parts.items() if value])


def _turn(deal: Deal) -> str:
    turn = deal.turn
    phase = deal.phase.name.lower()
    if deal.ending is not Ending.NONE:
        phase += f" {deal.ending.name.lower()}"
    attempt = " attempt" if turn.opening_attempt else ""
    return f"{turn.number} seat {deal.seat_to_move} {phase}{_bound(turn)}{attempt}"


def _bound(turn: Turn | UndoStep) -> str:
    lock = f" lock {CARD_TEXT[turn.locked_card]}" if turn.locked_card else ""
    must = f" must {CARD_TEXT[turn.must_meld]}" if turn.must_meld else ""
    return lock + must


def _side(side: Side) -> str:
    parts = {
        "pots": str(side.pots_taken or ""),
        "unplayed": " ".join(map(str, side.unplayed_pots)),
        "opening": str(side.opening_required or ""),
        "penalties": str(side.opening_penalties or ""),
    }
    return " ".join([f"{keyword} {value}" for keyword, value in parts.items() if value])


def _undo_step(step: UndoStep) -> str:
    cards = format_cards(step.cards)
    if step.before is None:
        what = f"={cards}"
    else:
        what = f"&{step.meld}:{cards}" if cards else f"~{step.meld}"
        what += f" was {format_meld(step.before)}"
    return what + _bound(step) + (" unplayed" if step.unplayed_pot else "")
