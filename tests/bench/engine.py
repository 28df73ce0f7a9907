"""The engine alone: random playouts with the legal moves listed at every step."""

import random
import statistics
import time

from buraco_rules.deal import Deal, Phase
from buraco_rules.dealing import deal_first
from buraco_rules.legal import legal_moves
from buraco_rules.presets import PRESETS
from buraco_rules.rule_sets import RuleSet
from buraco_rules.turn import apply

_WARM_UP = 50


def measure_engine(seconds: float) -> None:
    """Print microseconds of processor time an action, for each rule set and number of seats."""
    print("engine: random playout, legal moves listed at every step (processor time, median of the deals)")
    print(f"  {'rule set':24}{'seats':>6}{'µs/action':>11}{'moves listed':>14}{'actions/deal':>14}")
    for rules in PRESETS:
        for seats in (2, 4):
            _playout(rules, seats, seconds / 6)
    print()


def _playout(rules: RuleSet, seats: int, seconds: float) -> None:
    chance = random.Random(f"{rules.id} {seats}")
    for _ in range(_WARM_UP):  # the first deals fill the meld book
        _play_out(deal_first(rules, seats, chance.randbytes(32))[0], chance)
    spent = 0.0
    deals: list[tuple[float, int, int]] = []
    while spent < seconds:
        deal, _ = deal_first(rules, seats, chance.randbytes(32))
        begun = time.process_time()
        acted, found = _play_out(deal, chance)
        taken = time.process_time() - begun
        deals.append((taken / acted, acted, found))
        spent += taken
    actions = sum(acted for _, acted, _ in deals)
    cost = statistics.median(cost for cost, _, _ in deals) * 1e6
    listed = sum(found for _, _, found in deals) / actions
    print(f"  {rules.id:24}{seats:>6}{cost:>11.1f}{listed:>14.1f}{actions / len(deals):>14.0f}", flush=True)


def _play_out(deal: Deal, chance: random.Random) -> tuple[int, int]:
    actions = listed = 0
    choose = chance.random
    while deal.phase is not Phase.OVER:
        moves = legal_moves(deal)
        listed += len(moves)
        deal, _ = apply(deal, moves[int(choose() * len(moves))])
        actions += 1
    return actions, listed
