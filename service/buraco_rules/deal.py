"""The state of a deal: immutable values only, hidden cards included."""

from bisect import insort
from enum import IntEnum
from typing import Final, NamedTuple

from buraco_rules.meld import Meld
from buraco_rules.rule_sets import RuleSet

HAND_SIZE: Final = 11
"""Cards of a hand as dealt, and of a pot (R2.1)."""
POTS: Final = 2
"""Pots of a deal, not of a side (R2.1)."""
CLOSING_BONUS: Final = 100
NO_POT_PENALTY: Final = 100
UNUSED_POT_PENALTY: Final = 100
MAX_UNDO_STEPS: Final = 128
"""Plays of a turn that can be taken back; the oldest are dropped. Only wilds moved to and fro could be more."""


def add_card(hand: tuple[int, ...], card: int) -> tuple[int, ...]:
    """Return a sorted hand with one card more.

    >>> add_card((3, 9), 5)
    (3, 5, 9)
    """
    cards = list(hand)
    insort(cards, card)
    return tuple(cards)


def remove_cards(hand: tuple[int, ...], cards: tuple[int, ...]) -> tuple[int, ...]:
    """Return the hand without these cards. Raise ValueError if it does not hold them.

    >>> remove_cards((3, 5, 5, 9), (5, 3))
    (5, 9)
    """
    rest = list(hand)
    for card in cards:
        rest.remove(card)
    return tuple(rest)


class Phase(IntEnum):
    """What the seat to move has to do."""

    DRAW = 1
    """Draw from the stock or take the pile."""
    MELD = 2
    """Meld, lay off, move wilds or discard: it has drawn."""
    OVER = 3
    """Nothing: the deal is over."""


DRAW: Final = Phase.DRAW
MELD: Final = Phase.MELD
OVER: Final = Phase.OVER
"""Names of their own for what every move reads: a member read from its enumeration takes five times as long."""


class Ending(IntEnum):
    """Why a deal ended."""

    NONE = 0
    """The deal is running."""
    CLOSED = 1
    """A player closed (R7.1)."""
    STOCK = 2
    """The stock ran out (R8.1, R8.2)."""
    MAX_TURNS = 3
    """The limit of turns was reached (R8.3)."""
    TWOS_BURACO = 4
    """A buraco of 2s won the match (R7.3)."""


RUNNING: Final = Ending.NONE


class Match(NamedTuple):
    """Where a match stands (R10)."""

    deal_number: int = 1
    """Of the deal that is played, from 1."""
    scores: tuple[int, int] = (0, 0)
    """One a side, finished deals only."""
    starter: int = 0
    """The seat that started the first deal."""
    target_score: int = 0
    """0 = a match of one deal."""


class Side(NamedTuple):
    """The melds of a side, and what else is known of it in a deal."""

    melds: tuple[Meld, ...] = ()
    pots_taken: int = 0
    """In this deal."""
    unplayed_pots: tuple[int, ...] = ()
    """Seats that took a pot and have not played a card of it yet (R9.1), in order."""
    opening_required: int = 0
    """Points still to open with; 0 once opened, or where no minimum binds (R11.2)."""
    opening_penalties: int = 0
    """Charged in this deal for failed openings, as a positive number (R11.2)."""


class UndoStep(NamedTuple):
    """What a play of this turn changed, so that it can be taken back (R11.4)."""

    meld: int
    """Index among the side's melds."""
    before: Meld | None
    """The meld as it was; None when the play made it."""
    cards: tuple[int, ...]
    """Those laid; none for a moved wild."""
    locked_card: int
    must_meld: int
    """Both as `Turn` had them before the play."""
    unplayed_pot: bool
    """Whether the seat had not played a card of its pot before."""


class Turn(NamedTuple):
    """What binds the seat to move for the rest of its turn."""

    number: int = 1
    """Of the turns of all seats, from 1."""
    locked_card: int = 0
    """The only card of a taken pile, not to be discarded in this turn (R3.3); 0 = none."""
    must_meld: int = 0
    """The top card of a closed pile, which the next move must meld (R3.4); 0 = none."""
    opening_attempt: bool = False
    """Whether the side has melded below its opening minimum in this turn (R11.2)."""
    undo: tuple[UndoStep, ...] = ()
    """What can be taken back, oldest first (R11.4)."""


class Deal(NamedTuple):
    """One deal of a match. Seats are numbered clockwise; side = seat mod 2."""

    rules: RuleSet
    seats: int
    match: Match
    stock: tuple[int, ...]
    """The top card is the last."""
    pile: tuple[int, ...]
    """The top card is the last."""
    pots: tuple[tuple[int, ...], ...]
    """Still on the table; the next to be taken is the first."""
    hands: tuple[tuple[int, ...], ...]
    """One a seat, sorted."""
    sides: tuple[Side, Side]
    seat_to_move: int
    """Once the deal is over, the seat that moved last."""
    phase: Phase
    turn: Turn
    ending: Ending = Ending.NONE

    @property
    def hand(self) -> tuple[int, ...]:
        """Return the hand of the seat to move."""
        return self.hands[self.seat_to_move]

    @property
    def side(self) -> Side:
        """Return the side of the seat to move."""
        return self.sides[self.seat_to_move & 1]

    @property
    def starter(self) -> int:
        """Return the seat that starts this deal (R2.3)."""
        return (self.match.starter + self.match.deal_number - 1) % self.seats

    def replace_hand(self, hand: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Return all hands, with this one for the seat to move."""
        hands = list(self.hands)
        hands[self.seat_to_move] = hand
        return tuple(hands)

    def replace_side(self, side: Side) -> tuple[Side, Side]:
        """Return both sides, with this one for the seat to move."""
        return (self.sides[0], side) if self.seat_to_move & 1 else (side, self.sides[1])

    def continue_turn(
        self, *, stock: tuple[int, ...], pile: tuple[int, ...], hand: tuple[int, ...], side: Side, turn: Turn
    ) -> "Deal":
        """Return the deal after a draw or play, with this hand and side for the seat to move, which goes on (MELD).

        Built by hand, because every move needs it and `_replace` takes three times as long.
        """
        rules, seats, match, _, _, pots, _, _, seat, _, _, ending = self
        hands, sides = self.replace_hand(hand), self.replace_side(side)
        return Deal._make((rules, seats, match, stock, pile, pots, hands, sides, seat, MELD, turn, ending))

    def end_turn(self, pile: tuple[int, ...], hand: tuple[int, ...], side: Side) -> "Deal":
        """Return the deal at the beginning of the next seat's turn, with this hand and side for the seat to move."""
        rules, seats, match, stock, _, pots, _, _, seat, _, turn, ending = self
        hands, sides, following = self.replace_hand(hand), self.replace_side(side), Turn(turn.number + 1)
        seat = (seat + 1) % seats
        return Deal._make((rules, seats, match, stock, pile, pots, hands, sides, seat, DRAW, following, ending))
