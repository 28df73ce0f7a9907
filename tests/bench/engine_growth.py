"""What an action costs early and late in a match, and with few and many melds on the table."""

import random
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from buraco_rules import PRESETS_BY_ID, Deal, Match, Phase, RuleSet, apply, deal_match, legal_moves, next_match
from tests.bench.engine import warmed_up
from tests.bench.scripted import ENDLESS

_RULE_SETS = ("buraco-plus-classic", "closed")
_DEALS = 100
_BY_DEAL = (1, 6, 21, 51)
_BY_MELDS = (0, 1, 3, 5, 8, 12)
"""Where the groups begin."""


class _Part(NamedTuple):
    """All actions of one deal that fell into one group."""

    per_action: float
    """Microseconds of the processor."""
    actions: int
    listed: int


_Groups = defaultdict[int, list[_Part]]
"""By where the group begins."""


def measure_engine_growth(seconds: float) -> None:
    """Print two tables a rule set: an action by the number of its deal, and by the melds of the side to move."""
    print(f"engine: matches of {_DEALS} deals at 2 seats (processor time, median of the deals)")
    for name in _RULE_SETS:
        by_deal, by_melds = _play(PRESETS_BY_ID[name], seconds)
        _print_groups(f"{name}, number of the deal", (*_BY_DEAL, _DEALS + 1), by_deal)
        _print_groups(f"{name}, melds of the side to move", (*_BY_MELDS, None), by_melds)
    print()


def _play(rules: RuleSet, seconds: float) -> tuple[_Groups, _Groups]:
    """The cost of whole matches that take so many seconds at least, grouped in both ways."""
    chance = warmed_up(rules, 2)
    by_deal, by_melds = _Groups(list), _Groups(list)
    end = time.process_time() + seconds
    while time.process_time() < end:
        match = Match(target_score=ENDLESS, starter=-1)
        for _ in range(_DEALS):
            deal, spent = _play_out(deal_match(rules, 2, chance.randbytes(32), match)[0], chance)
            by_deal[_begin(_BY_DEAL, match.deal_number)].append(_part(spent))
            for begin in _BY_MELDS:
                group = [one for one in spent if _begin(_BY_MELDS, one[0]) == begin]
                if group:
                    by_melds[begin].append(_part(group))
            match = next_match(deal)
    return by_deal, by_melds


def _play_out(deal: Deal, chance: random.Random) -> tuple[Deal, list[tuple[int, float, int]]]:
    """A deal at its end, and of each action the melds there were, its seconds, and the moves listed for it."""
    spent = []
    choose = chance.random
    while deal.phase is not Phase.OVER:
        melds = len(deal.side.melds)
        begun = time.process_time()
        moves = legal_moves(deal)
        deal, _ = apply(deal, moves[int(choose() * len(moves))])
        spent.append((melds, time.process_time() - begun, len(moves)))
    return deal, spent


def _part(spent: Sequence[tuple[int, float, int]]) -> _Part:
    seconds = sum([seconds for _, seconds, _ in spent])
    return _Part(seconds / len(spent) * 1e6, len(spent), sum([listed for _, _, listed in spent]))


def _begin(begins: Sequence[int], number: int) -> int:
    return max([begin for begin in begins if begin <= number])


def _print_groups(name: str, begins: Sequence[int | None], groups: _Groups) -> None:
    print(f"  {name:46}{'µs/action':>11}{'moves listed':>14}{'actions':>10}")
    for begin, following in pairwise(begins):
        parts = groups[begin or 0]
        actions = sum([part.actions for part in parts])
        if actions:
            cost = statistics.median([part.per_action for part in parts])
            listed = sum([part.listed for part in parts]) / actions
            print(f"    {_range(begin or 0, following):44}{cost:>11.1f}{listed:>14.1f}{actions:>10}", flush=True)


def _range(begin: int, following: int | None) -> str:
    if following is None:
        return f"{begin} and more"
    return str(begin) if following == begin + 1 else f"{begin} to {following - 1}"
