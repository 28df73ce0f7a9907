"""The reasons for which a move is illegal, with the names and numbers of `buraco.v1.Violation`."""

from enum import IntEnum
from typing import Final


class Violation(IntEnum):
    """One rule that a move breaks; `VIOLATION_TEXT` has it in words with the rule's number."""

    NOT_YOUR_TURN = 1
    DEAL_OVER = 2
    NOT_DRAWN = 3
    ALREADY_DRAWN = 4
    STOCK_EMPTY = 5
    PILE_EMPTY = 6
    CARD_NOT_IN_HAND = 7
    CARD_LOCKED = 8
    TOP_CARD_UNUSABLE = 9
    TOP_CARD_FIRST = 10
    MAKART = 11
    DEAD_END = 12
    TOO_FEW_CARDS = 13
    TOO_MANY_CARDS = 14
    NO_MELD = 15
    GAP = 16
    WRAP = 17
    PLACE_TAKEN = 18
    NO_SETS = 19
    NO_SET_OF_TWOS = 20
    TOO_MANY_WILDS = 21
    TOO_FEW_NATURALS = 22
    TWO_ACES = 23
    NO_SUCH_MELD = 24
    CARD_DOES_NOT_FIT = 25
    SECOND_SET = 26
    WILD_STAYS = 27
    NO_WILD_TO_MOVE = 28
    NO_PLACE_FOR_WILD = 29
    WILD_POSITION = 30
    POT_ONLY_IN_FLIGHT = 31
    POT_NEEDS_BURACO = 32
    CLOSE_NEEDS_BURACO = 33
    CLOSE_NEEDS_CLEAN = 34
    CLOSE_ONLY_BY_DISCARD = 35
    CLOSE_ONLY_IN_FLIGHT = 36
    CLOSE_DISCARD_WILD = 37
    BELOW_OPENING_MINIMUM = 38
    NOTHING_TO_UNDO = 39


VIOLATION_TEXT: Final[dict[Violation, str]] = {
    Violation.NOT_YOUR_TURN: "another seat is to move (R3.2)",
    Violation.DEAL_OVER: "the deal is over (R3.2)",
    Violation.NOT_DRAWN: "the turn begins with a draw (R3.1)",
    Violation.ALREADY_DRAWN: "there is no second draw (R3.2)",
    Violation.STOCK_EMPTY: "the stock has no card (R3.1)",
    Violation.PILE_EMPTY: "an empty pile cannot be taken (R3.2)",
    Violation.CARD_NOT_IN_HAND: "the hand does not hold these cards (R3.1)",
    Violation.CARD_LOCKED: "the only card of a taken pile may not be discarded in the same turn (R3.3)",
    Violation.TOP_CARD_UNUSABLE: "the top card of the closed pile cannot be melded at once (R3.4)",
    Violation.TOP_CARD_FIRST: "the next move must meld the top card of the closed pile (R3.4)",
    Violation.MAKART: "with one card in hand and one in the pile the stock must be drawn (R3.5)",
    Violation.DEAD_END: "the turn could not be finished legally after this move (R3.6)",
    Violation.TOO_FEW_CARDS: "a meld has at least three cards, a lay-off at least one (R4.1, R4.2)",
    Violation.TOO_MANY_CARDS: "a run has at most 14 cards, a set at most eight naturals and one wild (R4.1, R4.2)",
    Violation.NO_MELD: "the naturals are neither of one suit nor of one rank (R4.1, R4.2)",
    Violation.GAP: "the naturals are not consecutive, and no wild can fill what is missing (R4.1)",
    Violation.WRAP: "the ace is low or high, never both ways round (R4.1)",
    Violation.PLACE_TAKEN: "the place of the card is taken by a natural (R4.1)",
    Violation.NO_SETS: "there are no sets in this rule set (R4.3)",
    Violation.NO_SET_OF_TWOS: "2s may not form a set (R4.3)",
    Violation.TOO_MANY_WILDS: "at most one card acts as a wild in a meld (R4.4)",
    Violation.TOO_FEW_NATURALS: "a meld has at least two naturals (R4.4)",
    Violation.TWO_ACES: "a run may not hold a natural ace at both ends (R4.5)",
    Violation.NO_SUCH_MELD: "the side has no such meld (R4.6)",
    Violation.CARD_DOES_NOT_FIT: "the card is of another suit or rank than the meld (R4.6)",
    Violation.SECOND_SET: "the side already has a set of this rank (R4.6)",
    Violation.WILD_STAYS: "the wild keeps its place (R5.2)",
    Violation.NO_WILD_TO_MOVE: "the meld has no wild that could move (R5.2)",
    Violation.NO_PLACE_FOR_WILD: "a complete run leaves no place for its wild (R5.3)",
    Violation.WILD_POSITION: "the wild cannot stand at the place asked for (R5.4)",
    Violation.POT_ONLY_IN_FLIGHT: "this pot can only be picked up in flight (R6.2)",
    Violation.POT_NEEDS_BURACO: "a pot needs a buraco on the side's table (R6.2)",
    Violation.CLOSE_NEEDS_BURACO: "closing needs a buraco (R7.1)",
    Violation.CLOSE_NEEDS_CLEAN: "closing needs a clean buraco (R7.1)",
    Violation.CLOSE_ONLY_BY_DISCARD: "the last card must be discarded (R7.2)",
    Violation.CLOSE_ONLY_IN_FLIGHT: "the last card must be melded (R7.2)",
    Violation.CLOSE_DISCARD_WILD: "the closing discard is no joker and no 2 (R7.2)",
    Violation.BELOW_OPENING_MINIMUM: "no pot and no close below the opening minimum (R11.2)",
    Violation.NOTHING_TO_UNDO: "nothing of this turn can be taken back (R11.4)",
}


class IllegalMove(Exception):
    """A move breaks the rules: `violations` lists which, the principal one first."""

    def __init__(self, *violations: Violation) -> None:
        super().__init__("; ".join(VIOLATION_TEXT[violation] for violation in violations))
        self.violations = violations
