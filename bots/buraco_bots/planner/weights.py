"""The weights of the planner: what it values, in points. They depend on options of the rule set and on the seats.

A weight is a sum: one coefficient for every game, and one for each trait that the game has. `weights.json` holds the
coefficients and how they came about; `make train` makes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from buraco_bots.greedy.situation import is_closing_hard
from buraco_rules import RuleSet


class Weights(NamedTuple):
    """What the planner values in one game, in points unless it is a chance or a share."""

    dirty_3: float
    """The chance that a meld of three cards with an acting wild becomes a buraco; so on for more cards."""
    dirty_4: float
    dirty_5: float
    dirty_6: float
    clean_3: float
    """The same of a meld without one."""
    clean_4: float
    clean_5: float
    clean_6: float
    royal: float
    """The share of the bonus of a royal that a clean run of twelve cards is worth; shorter ones less."""
    first_buraco: float
    """The first buraco of a side that needs one for a pot or to close, beyond its bonus."""
    first_clean: float
    """The first clean one of a side that needs it to close."""
    two: float
    """A 2 in the hand, kept for a buraco to come."""
    joker: float
    """A joker, beyond the worth of a 2."""
    card: float
    """Any other card in the hand."""
    same_rank: float
    """Two cards of a rank in the hand, where sets are legal."""
    next_to: float
    """Two neighbours of a suit in the hand."""
    near_to: float
    """Two cards of a suit with a gap of one between them."""
    twin: float
    """The second of two equal cards in the hand."""
    live: float
    """Each unseen card that would help a card of the hand to a meld."""
    fits: float
    """A card in the hand that extends a meld of the own side."""
    fits_gain: float
    """The share of what it would gain there."""
    near_own: float
    """A card in the hand two places away from a run of the own side."""
    keep: float
    """The share of a card's worth in the hand that is lost when it is melded."""
    risk: float
    """The chance that the deal ends before a card can be played, when nothing hints at its end."""
    risk_close: float
    """The same when an opponent without cards could close."""
    risk_card: float
    """What each card of the opponent takes off that."""
    risk_stock: float
    """The same when the stock is empty."""
    risk_turn: float
    """What each turn that the stock has left for the seat takes off that."""
    haste: float
    """A card that leaves the hand while a pot waits."""
    haste_few: float
    """The same with six cards or fewer, or when the deal may end soon."""
    haste_close: float
    """A card that leaves the hand while the side could close with the last one."""
    haste_lead: float
    """The same for each 100 points of lead, at most 300."""
    pot: float
    """A pot that would be the first of the side."""
    pot_risk: float
    """The same, for each unit of risk."""
    second_pot: float
    """A second pot of the side."""
    flight: float
    """Taking a pot without ending the turn."""
    close: float
    """Closing, beyond the bonus."""
    close_card: float
    """A card in an opponent's hand when the deal is closed."""
    unknown: float
    """The unknown card that is drawn from the stock."""
    hidden: float
    """A hidden card of a closed pile."""
    pile_left: float
    """A card of a pile that is left to the next player, as a loss."""
    pile_left_fit: float
    """The same of a card that extends a meld of the opponents."""
    gives: float
    """Discarding a card that extends a meld of the opponents, as a loss; so all that follow."""
    gives_gain: float
    """The share of what they would gain there."""
    gives_near: float
    """A card two places away from one of their runs."""
    gives_live: float
    """Each unseen card that would make a meld with the discarded one."""
    gives_wild: float
    """A wild."""
    pile_gives: float
    """For each card of the pile (12 at most): a card that extends a meld of theirs takes the pile with it."""
    pile_gives_live: float
    """The same for each unseen card that would make a meld."""
    pile_gives_wild: float
    """The same for a wild."""
    gives_known: float
    """Each card that the next player is known to hold, and that would make a pair with the discarded one."""
    pile_gives_known: float
    """The same, for each card of the pile."""


class Game(NamedTuple):
    """What is played."""

    rules: RuleSet
    seats: int
    is_one_deal: bool
    """Whether a match is one deal, so that a win by one point is as good as any."""


TRAITS: Final[Mapping[str, Callable[[Game], bool]]] = {
    "always": lambda game: True,
    "closed_pile": lambda game: game.rules.closed_pile,
    "sets": lambda game: game.rules.sets,
    "hard_close": lambda game: is_closing_hard(game.rules),
    "hard_close_open_pile": lambda game: is_closing_hard(game.rules) and not game.rules.closed_pile,
    "pot_needs_buraco": lambda game: game.rules.pot_needs_buraco,
    "four_seats": lambda game: game.seats == 4,
    "one_deal": lambda game: game.is_one_deal,
}
"""What a game may have that coefficients depend on."""

Coefficients = Mapping[str, Sequence[float]]
"""By name of the weight: one number for each of TRAITS."""


def weights_for(coefficients: Coefficients, game: Game) -> Weights:
    """Return the weights for a game: the sum of the coefficients whose traits it has."""
    has = [trait(game) for trait in TRAITS.values()]
    return Weights(
        *[
            sum([value for value, is_there in zip(coefficients[name], has, strict=True) if is_there])
            for name in Weights._fields
        ]
    )


@cache
def read_coefficients(path: str = "") -> Coefficients:
    """Return the coefficients of a file as `make train` writes it; those beside this module if none is named.

    Raise OSError, or ValueError if it is no such file.
    """
    source = Path(path) if path else files(__package__) / "weights.json"
    text = source.read_text(encoding="utf-8")
    try:
        document = json.loads(text)
        if document["traits"] != list(TRAITS):
            raise ValueError(f"the traits have to be {', '.join(TRAITS)}")
        return {name: tuple(map(float, document["coefficients"][name])) for name in Weights._fields}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no file of weights: {error}") from error


def format_weights(coefficients: Coefficients, how: Mapping[str, object]) -> str:
    """Return the text of a file of weights, with how they were made; numbers have four digits."""
    rows = {name: [float(f"{value:.4g}") for value in coefficients[name]] for name in Weights._fields}
    lines = ",\n".join([f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()])
    head = f'  "how": {json.dumps(how)},\n  "traits": {json.dumps(list(TRAITS))}'
    return f'{{\n{head},\n  "coefficients": {{\n{lines}\n  }}\n}}\n'
