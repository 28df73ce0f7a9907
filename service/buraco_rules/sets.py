"""Every set that cards can make (R4.2 to R4.4)."""

from itertools import groupby, product
from typing import Final

from buraco_rules.cards import RANK, TWO
from buraco_rules.melds import Meld, MeldKind, make_meld
from buraco_rules.moves import LayMeld
from buraco_rules.outcomes import Outcome
from buraco_rules.rule_sets import RuleSet

MAX_NATURALS: Final = 8


def set_outcomes(rules: RuleSet, base: Meld | None, rank: int, pool: tuple[int, ...], acting: int) -> list[Outcome]:
    """Every set that any of the pool's cards make, with exactly the wild `acting` laid as a wild (0 = none).

    The pool is sorted and of the one rank; rank 0 makes nothing. `base` is the set laid off on, None for a new one.
    """
    if rank == 0 or not rules.sets or (rank == TWO and not rules.set_of_twos):
        return []
    has_wild = base is not None and base.wild_index is not None
    if acting and (has_wild or RANK[acting] == rank):
        return []
    old: tuple[int, ...] = () if base is None else base.cards[:-1] if has_wild else base.cards
    wild = acting or (base.cards[-1] if base is not None and has_wild else 0)
    copies = [
        [tuple(group[:count]) for count in range(len(group) + 1)]
        for _, cards in groupby(pool)
        for group in [list(cards)]
    ]
    found = []
    for choice in product(*copies):
        laid = tuple([card for part in choice for card in part])
        naturals = tuple(sorted(old + laid))
        if not 2 <= len(naturals) <= MAX_NATURALS or len(naturals) + (wild > 0) < 3 or not (laid or acting):
            continue
        meld = make_meld(
            rules,
            MeldKind.SET,
            (*naturals, wild) if wild else naturals,
            0,
            len(naturals) if wild else None,
            stays_dirty=base is not None and base.stays_dirty,
        )
        played = (*laid, acting) if acting else laid
        found.append(Outcome(played, meld, None, (), LayMeld(played)))
    return found
