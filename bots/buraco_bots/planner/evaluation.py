"""What a position is worth: the points by which a side is expected to win the deal."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from operator import mul

from buraco_bots.planner.features import (
    FEATURES,
    HAND_FEATURES,
    PUBLIC_FEATURES,
    Knowledge,
    hand_features,
    pile_features,
    public_features,
    share_left,
)
from buraco_rules import Deal, Ending, Phase, score_deal


@cache
def load_weights() -> tuple[float, ...]:
    """Return the fitted weights, one a feature."""
    found = tuple(json.loads(files(__package__).joinpath("weights.json").read_text())["weights"])
    assert len(found) == FEATURES
    return found


class Evaluation:
    """Values of positions within one turn of a seat, in points of the deal's difference."""

    def __init__(self, deal: Deal, seat: int, knowledge: Knowledge) -> None:
        weights = load_weights()
        half = len(weights) // 2
        left = share_left(deal)
        # All positions of a turn have the same stock but for the card that is drawn.
        both = [weight + left * late for weight, late in zip(weights[:half], weights[half:], strict=True)]
        self._public = both[:PUBLIC_FEATURES]
        self._hand = both[PUBLIC_FEATURES : PUBLIC_FEATURES + HAND_FEATURES]
        self._pile = both[PUBLIC_FEATURES + HAND_FEATURES :]
        self._seat = seat
        self._knowledge = knowledge

    def value(self, deal: Deal, hand: tuple[int, ...], unknown: int) -> float:
        """Return the value of a position in which the seat holds `hand` and so many cards that it has not seen."""
        in_flight = unknown > 0 and deal.seat_to_move == self._seat
        return (
            self.public_value(deal, hand, len(hand) + unknown)
            + self._hand_value(deal, hand, unknown, in_flight=in_flight)
            + self.pile_value(deal, deal.pile)
        )

    def public_value(self, deal: Deal, hand: tuple[int, ...], held: int) -> float:
        """Return the part of the value that both tables and the numbers of cards make."""
        return sum(map(mul, self._public, public_features(deal, self._seat, hand, held, self._knowledge)))

    def hand_value(self, deal: Deal, hand: tuple[int, ...]) -> float:
        """Return the part of the value that the cards of the hand make."""
        return self._hand_value(deal, hand, 0, in_flight=False)

    def pile_value(self, deal: Deal, pile: tuple[int, ...]) -> float:
        """Return the part of the value that a pile makes."""
        return sum(map(mul, self._pile, pile_features(deal, self._seat, pile, self._knowledge)))

    def _hand_value(self, deal: Deal, hand: tuple[int, ...], unknown: int, *, in_flight: bool) -> float:
        side = deal.sides[self._seat & 1]
        return sum(map(mul, self._hand, hand_features(deal.rules, side, hand, unknown, in_flight=in_flight)))

    def value_of_end(self, deal: Deal) -> float:
        """Return the difference of the points of a deal that is over, hidden hands counted at their mean."""
        assert deal.phase is Phase.OVER
        side = self._seat & 1
        if deal.ending is Ending.TWOS_BURACO:
            return 3000.0
        sides = score_deal(deal).sides
        result = float(sides[side].total - sides[1 - side].total)
        for number, cards in enumerate(deal.hands):
            hidden = cards.count(0) * self._knowledge.mean_value
            result += hidden if number & 1 != side else -hidden
        return result
