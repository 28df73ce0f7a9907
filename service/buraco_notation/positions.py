"""Positions as one text, as FEN is for chess: everything of a `Deal`, hidden cards included.

A text is a list of fields `label: value`, separated by ` | ` or by line ends, in any order, each label once. `#` begins
a comment that goes to the end of the line.

    rules: open{makart=yes} | match: deal 2 scores 450 -120 starter 1 target 2005 | turn: 7 seat 0 meld lock Kd
    hand 0: 3h 4h 5h Kd
    melds 0: 3s 4s [2d] 6s, 9d Td Jd | side 0: pots 1 unplayed 0

- `rules`: the rule set in the form of `rule_sets`; the only field that must be given.
- `seats`: 2 or 4; left out: 2.
- `match`: `deal` its number, `scores` of both sides, `starter` of the first deal, `target` score; left out: 1, 0 0,
  0, 0.
- `turn`: its number, `seat` to move, then `draw`, `meld` or `over` with the ending (`closed`, `stock`, `max_turns`,
  `twos_buraco`), `lock` the locked card, `must` the top card to be melded, `attempt` while an opening attempt runs;
  left out: the first turn of the seat, the seat whose turn it is, `draw`, and nothing that binds.
- `hand 0` and so on: the cards of a seat; left out: `?11`.
- `melds 0`, `melds 1`: a side's melds, separated by commas, in the form of `melds`; left out: none.
- `side 0`, `side 1`: `pots` taken, `unplayed` seats that have not played from their pot, `opening` points required,
  `penalties` charged; left out: 0, none, 0, 0.
- `pile`: top card last; left out: empty.
- `pots`: those on the table, separated by commas, the next first; left out: `?11` for each of two that nobody took.
- `stock`: top card last; left out: `?`.
- `undo`: what can be taken back, oldest first, separated by commas: `=3h 4h 5h` a new meld, `&1:6h was 3h 4h 5h` a
  lay-off on meld 1, `~1 was [2s] 3h 4h 5h` a moved wild; each then with `lock` and `must` as they were, and `unplayed`
  if the seat had not played from its pot; left out: nothing.

Seats and melds count from 0. `-` stands for no cards, melds, pots or undo steps.

In hands, pots, pile and stock `?11` stands for eleven cards named nowhere, and one `?` for all that are left, so that a
position can be typed by hand. They are dealt out in the order of the deck: spades, hearts, diamonds, clubs, each ace to
king; then, in the same order, the second copies of which neither is named; then jokers. First come all `?n`, hands by
seat, then pots, pile and stock; what is left goes to `?`.

The canonical form is one line in the order above, `side` after the `melds` of each side, every card named, and
everything left out that need not be given but for `turn`, hands, `pots` and `stock`.
"""

from itertools import chain

from buraco_notation.cards import format_cards
from buraco_notation.fields import NONE
from buraco_notation.melds import format_meld
from buraco_notation.position_reader import PositionReader
from buraco_notation.reading import check_reads_back
from buraco_notation.rule_sets import format_rule_set
from buraco_rules import Deal, Ending, Match, Side, Turn, UndoStep
from buraco_rules.cards import CARD_TEXT


def format_position(deal: Deal, *, lines: bool = False) -> str:
    """Return a position as text, in its canonical form; with `lines` each field on a line of its own.

    Raise ValueError for a deal that has no text form, which play cannot reach.

    >>> deal = parse_position("rules: open | turn: seat 1 meld | hand 1: Kd 3h 4h 5h | pile: 9c")
    >>> format_position(deal)[:101]
    'rules: open | turn: 2 seat 1 meld | hand 0: As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js | hand 1: 3h 4h 5h Kd | '
    """
    text = ("\n" if lines else " | ").join([f"{label}: {value}" for label, value in _fields(deal) if value])
    return check_reads_back(text, deal, lambda text: parse_position(text, verify=False))


def parse_position(text: str, *, verify: bool = True) -> Deal:
    """Return the deal of a text. Raise NotationError, which lists all that is wrong and where.

    With `verify` the position must be one that play can lead to, as `buraco_rules.deal_problems` decides.

    >>> parse_position("rules: open | hand 0: 3h 4h 4h 4h")
    Traceback (most recent call last):
    buraco_notation.reading.NotationError: 1:32: 4h is named too often: there are 2 (R1.1)
    """
    return PositionReader(text).read(verify=verify)


def _fields(deal: Deal) -> list[tuple[str, str]]:
    hands = [(f"hand {seat}", format_cards(hand) or NONE) for seat, hand in enumerate(deal.hands)]
    sides = [
        [(f"melds {number}", ", ".join(map(format_meld, side.melds))), (f"side {number}", _format_side(side))]
        for number, side in enumerate(deal.sides)
    ]
    return [
        ("rules", format_rule_set(deal.rules)),
        ("seats", "" if deal.seats == 2 else str(deal.seats)),
        ("match", _format_match(deal.match)),
        ("turn", _format_turn(deal)),
        *hands,
        *chain.from_iterable(sides),
        ("pile", format_cards(deal.pile)),
        ("pots", ", ".join(map(format_cards, deal.pots)) or NONE),
        ("stock", format_cards(deal.stock) or NONE),
        ("undo", ", ".join(map(_format_undo_step, deal.turn.undo))),
    ]


def _format_match(match: Match) -> str:
    return _format_keywords(
        deal="" if match.deal_number == 1 else match.deal_number,
        scores="{} {}".format(*match.scores) if any(match.scores) else "",
        starter=match.starter,
        target=match.target_score,
    )


def _format_keywords(**values: object) -> str:
    """Return keywords with their values, without those that are 0 or empty."""
    return " ".join([f"{keyword} {value}" for keyword, value in values.items() if value])


def _format_turn(deal: Deal) -> str:
    turn = deal.turn
    phase = deal.phase.name.lower()
    if deal.ending is not Ending.NONE:
        phase += f" {deal.ending.name.lower()}"
    attempt = " attempt" if turn.opening_attempt else ""
    return f"{turn.number} seat {deal.seat_to_move} {phase}{_format_bound(turn)}{attempt}"


def _format_bound(turn: Turn | UndoStep) -> str:
    lock = f" lock {CARD_TEXT[turn.locked_card]}" if turn.locked_card else ""
    must = f" must {CARD_TEXT[turn.must_meld]}" if turn.must_meld else ""
    return lock + must


def _format_side(side: Side) -> str:
    return _format_keywords(
        pots=side.pots_taken,
        unplayed=" ".join(map(str, side.unplayed_pots)),
        opening=side.opening_required,
        penalties=side.opening_penalties,
    )


def _format_undo_step(step: UndoStep) -> str:
    cards = format_cards(step.cards)
    if step.before is None:
        what = f"={cards}"
    else:
        what = f"&{step.meld}:{cards}" if cards else f"~{step.meld}"
        what += f" was {format_meld(step.before)}"
    return what + _format_bound(step) + (" unplayed" if step.unplayed_pot else "")
