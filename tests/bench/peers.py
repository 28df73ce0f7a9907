"""Other engines for games with melds, from Python as ours: gin rummy of OpenSpiel (C++) and of RLCard (Python).

Of either the bare game and the environment for learning around it, which also observes at every step. A draw of a card
is a step of its own in OpenSpiel, a chance node: its time counts, its number does not, for it is part of a decision
here and in RLCard.
"""

import importlib.util
import random
import time
from collections.abc import Callable
from typing import Any

from tests.bench.playouts import Played, cost, print_cost

_WARM_UP = 3


def measure_peers(seconds: float) -> None:
    """Print lines for the peers under those of the engine; say which are not installed."""
    chance = random.Random(1)
    _measure(
        "OpenSpiel gin rummy", "pyspiel", {"bare": _open_spiel, "environment": _open_spiel_environment}, chance, seconds
    )
    _measure("RLCard gin rummy", "rlcard", {"bare": _rlcard, "environment": _rlcard_environment}, chance, seconds)


def _measure(
    name: str,
    module: str,
    kinds: dict[str, Callable[[random.Random], Callable[[], Played]]],
    chance: random.Random,
    seconds: float,
) -> None:
    if importlib.util.find_spec(module) is None:
        print(f"  {name}: not installed here, so not measured (tests/bench.lock)", flush=True)
        return
    for kind, make in kinds.items():
        play = make(chance)
        for _ in range(_WARM_UP):
            play()
        print_cost(f"{name}, {kind}", cost(play, seconds / 3))


def _open_spiel(chance: random.Random) -> Callable[[], Played]:
    import pyspiel

    game: Any = pyspiel.load_game("gin_rummy")
    choose = chance.random

    def play() -> Played:
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(chance.choice(state.chance_outcomes())[0])
        actions = listed = 0
        begun = time.process_time()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes = state.chance_outcomes()  # all cards unseen are as likely
                state.apply_action(outcomes[int(choose() * len(outcomes))][0])
                continue
            legal = state.legal_actions()
            listed += len(legal)
            state.apply_action(legal[int(choose() * len(legal))])
            actions += 1
        return Played(time.process_time() - begun, actions, listed)

    return play


def _open_spiel_environment(chance: random.Random) -> Callable[[], Played]:
    from open_spiel.python import rl_environment

    environment: Any = rl_environment.Environment("gin_rummy")
    environment.seed(chance.randrange(2**31))
    choose = chance.random

    def play() -> Played:
        step = environment.reset()
        actions = listed = 0
        begun = time.process_time()
        while not step.last():
            legal = step.observations["legal_actions"][step.observations["current_player"]]
            listed += len(legal)
            step = environment.step([legal[int(choose() * len(legal))]])
            actions += 1
        return Played(time.process_time() - begun, actions, listed)

    return play


def _rlcard(chance: random.Random) -> Callable[[], Played]:
    import numpy as np
    from rlcard.games.gin_rummy import Game

    game: Any = Game()
    game.np_random = np.random.RandomState(chance.randrange(2**31))
    choose = chance.random

    def play() -> Played:
        game.init_game()
        actions = listed = 0
        begun = time.process_time()
        while not game.is_over():
            legal = game.judge.get_legal_actions()
            listed += len(legal)
            game.step(legal[int(choose() * len(legal))])
            actions += 1
        return Played(time.process_time() - begun, actions, listed)

    return play


def _rlcard_environment(chance: random.Random) -> Callable[[], Played]:
    import rlcard

    environment: Any = rlcard.make("gin-rummy", config={"seed": chance.randrange(2**31)})
    choose = chance.random

    def play() -> Played:
        state, _ = environment.reset()
        actions = listed = 0
        begun = time.process_time()
        while not environment.is_over():
            legal = list(state["legal_actions"])
            listed += len(legal)
            state, _ = environment.step(legal[int(choose() * len(legal))])
            actions += 1
        return Played(time.process_time() - begun, actions, listed)

    return play
