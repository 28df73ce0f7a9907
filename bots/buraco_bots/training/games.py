"""The deals by which two sets of weights are compared."""

from __future__ import annotations

from dataclasses import replace
from math import tanh
from typing import Final, NamedTuple

from buraco_bots.matches import bot_random, master_seed, play_deal
from buraco_bots.planner import PlannerBot
from buraco_bots.planner.weights import Game, Weights
from buraco_rules import PRESETS, Ending, Match, deal_match, score_deal, server_seed

MAX_TURNS: Final = 160
"""Turns after which a deal of the training ends, so that two bots that only wait do not hold it up."""
LONG_MATCH: Final = 2000
"""The target of a match of several deals."""
WIDE: Final = 500.0
"""A lead in one deal of a match that counts little less than a greater one."""
NARROW: Final = 120.0
"""The same where the deal decides."""
EQUIVALENT: Final = frozenset({"burraco-fibur", "buraco-stbl"})
"""Rule sets so close to another that training on them would count that one twice."""


GAMES: Final = tuple(
    [
        Game(replace(rules, id=f"{rules.id}-trained", max_turns=MAX_TURNS), seats, is_one_deal)
        for rules in PRESETS
        if rules.id not in EQUIVALENT
        for seats in (2, 4)
        for is_one_deal in (False, True)
    ]
)


class Trial(NamedTuple):
    """Two sets of weights that play a pair of deals in a game."""

    game: Game
    seed: str
    first: Weights
    second: Weights


def compare(trial: Trial) -> float:
    """Return how much better the first weights did in the pair, from -1 to 1."""
    return (_play(trial, 0) + _play(trial, 1)) / 2


def _play(trial: Trial, side: int) -> float:
    """Return the result of one deal of the pair, in which the first weights play `side`."""
    game = trial.game
    contenders = (trial.first, trial.second) if side == 0 else (trial.second, trial.first)
    bots = [PlannerBot.with_weights(bot_random(trial.seed, seat), contenders[seat & 1]) for seat in range(game.seats)]
    match = Match(target_score=0 if game.is_one_deal else LONG_MATCH, starter=-1)
    deal, _ = deal_match(game.rules, game.seats, server_seed(master_seed(trial.seed), 1), match)
    end = play_deal(deal, bots).deal
    if end.ending is Ending.TWOS_BURACO:
        return 1.0 if end.seat_to_move & 1 == side else -1.0
    totals = [score.total for score in score_deal(end).sides]
    return tanh((totals[side] - totals[1 - side]) / (NARROW if game.is_one_deal else WIDE))
