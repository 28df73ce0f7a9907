"""Whole deals played at random: every position on the way, in all rule sets and with all that a turn may hold."""

import random
from collections.abc import Iterator
from functools import cache

from buraco_rules import (
    PRESETS,
    Deal,
    LayMeld,
    LayOff,
    Match,
    Phase,
    RuleSet,
    apply,
    card_points,
    deal_match,
    legal_moves,
    undo,
)
from buraco_rules.events import Event

Step = tuple[Deal, tuple[Event, ...]]
"""A position, and what happened last."""


def playout(rules: RuleSet, seats: int, seed: int, *, eager: float = 0.8) -> Iterator[Step]:
    """One deal from the first card to the last. Cards are laid where they can be, mostly; some plays are taken back."""
    rng = random.Random(f"{rules.id}/{seats}/{seed}")
    match = Match(
        deal_number=rng.randint(1, 5),
        scores=(rng.choice((0, 1200)), rng.choice((-300, 1500))),
        starter=rng.randrange(seats),
        target_score=rng.choice((0, 2005)),
    )
    deal, dealt = deal_match(rules, seats, rng.randbytes(32), match)
    events: tuple[Event, ...] = (dealt,)
    while True:
        yield deal, events
        if deal.phase is Phase.OVER:
            return
        moves = legal_moves(deal)
        lays = [move for move in moves if isinstance(move, LayMeld | LayOff)]
        if deal.turn.undo and rng.random() < 0.2:
            deal, events = undo(deal)
        elif lays and deal.side.opening_required and rng.random() < 0.9:
            # An opening wants points: little is laid only where more is on the table already.
            best = max(lays, key=lambda lay: card_points(rules, lay.cards))
            opens = deal.turn.opening_attempt or card_points(rules, best.cards) > 45
            rest = [move for move in moves if not isinstance(move, LayMeld | LayOff)]
            deal, events = apply(deal, best if opens or not rest else rng.choice(rest))
        else:
            deal, events = apply(deal, rng.choice(lays if lays and rng.random() < eager else moves))


@cache
def played(deals: int = 1) -> tuple[Step, ...]:
    """Every position of so many random deals of each preset, at 2 and at 4 seats."""
    return tuple(
        step for seed in range(deals) for rules in PRESETS for seats in (2, 4) for step in playout(rules, seats, seed)
    )
