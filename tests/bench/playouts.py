"""What a playout costs, ours and the peers': legal actions are listed at every step, one is taken at random."""

import statistics
from collections.abc import Callable
from typing import NamedTuple


class Played(NamedTuple):
    """One game, from the first decision of a player to the last; dealing is not counted."""

    seconds: float
    """Of the processor."""
    actions: int
    """Decisions of players."""
    listed: int
    """Legal actions that were listed in all."""


class Cost(NamedTuple):
    """What many games say."""

    per_action: float
    """Microseconds of the processor, the median of the games."""
    listed: float
    """Legal actions listed at a step."""
    length: float
    """Actions a game."""


def cost(play: Callable[[], Played], seconds: float) -> Cost:
    """What the games that `play` plays cost, measured for so many seconds."""
    games: list[Played] = []
    while sum([game.seconds for game in games]) < seconds:
        games.append(play())
    actions = sum([game.actions for game in games])
    return Cost(
        statistics.median([game.seconds / game.actions for game in games]) * 1e6,
        sum([game.listed for game in games]) / actions,
        actions / len(games),
    )


def print_heading(title: str) -> None:
    """The head of a table of costs."""
    print(f"{title}: random playout, legal moves listed at every step (processor time, median of the games)")
    print(f"  {'':38}{'µs/action':>11}{'moves listed':>14}{'actions/game':>14}")


def print_cost(name: str, measured: Cost) -> None:
    """A line of the table."""
    print(f"  {name:38}{measured.per_action:>11.1f}{measured.listed:>14.1f}{measured.length:>14.0f}", flush=True)
