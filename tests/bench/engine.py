"""The engine alone, every rule set."""

import random
import time

from buraco_rules import PRESETS, Deal, Phase, RuleSet, apply, deal_first, legal_moves
from tests.bench.playouts import Played, cost, print_cost, print_heading

_WARM_UP = 200
"""Deals: as in a service that has been up for a while. What is remembered of the first few seldom comes again."""


def measure_engine(seconds: float) -> None:
    """Print what an action costs in every rule set, at two and at four seats."""
    print_heading("engine")
    for rules in PRESETS:
        for seats in (2, 4):
            chance = warmed_up(rules, seats)

            def play(rules: RuleSet = rules, seats: int = seats, chance: random.Random = chance) -> Played:
                return _play_out(deal_first(rules, seats, chance.randbytes(32))[0], chance)

            print_cost(f"{rules.id}, {seats} seats", cost(play, seconds / 6))


def warmed_up(rules: RuleSet, seats: int) -> random.Random:
    """A generator of deals and choices, once the first deals have filled the meld book."""
    chance = random.Random(f"{rules.id} {seats}")
    for _ in range(_WARM_UP):
        _play_out(deal_first(rules, seats, chance.randbytes(32))[0], chance)
    return chance


def _play_out(deal: Deal, chance: random.Random) -> Played:
    actions = listed = 0
    choose = chance.random
    begun = time.process_time()
    while deal.phase is not Phase.OVER:
        moves = legal_moves(deal)
        listed += len(moves)
        deal, _ = apply(deal, moves[int(choose() * len(moves))])
        actions += 1
    return Played(time.process_time() - begun, actions, listed)
