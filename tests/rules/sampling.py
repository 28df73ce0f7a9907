"""Random cards, melds and rule sets, drawn from a seeded generator."""

import random
from dataclasses import replace

from buraco_notation import format_cards
from buraco_rules import PRESETS, Deal, Meld, MeldKind, Phase, RuleSet, WildEnd, WildMoves, card_points, make_meld
from buraco_rules.cards import ACE_HIGH, JOKER, TWOS, card_at, deck
from tests.rules.positions import CLASSIC, CLOSED, position, show

CUSTOM = tuple(
    replace(base, id="house-rules", wild_moves=moves, wild_end=end, two_aces=aces, ace_to_ace=1000 if aces else 0)
    for base, aces in ((CLASSIC, False), (CLOSED, True))
    for moves in WildMoves
    for end in WildEnd
    if (moves, end) != (base.wild_moves, base.wild_end)
)
"""The ways of moving wilds that no preset has."""
ALL_RULES = (*PRESETS, *CUSTOM)


def some_meld(rules: RuleSet, rng: random.Random, *, longest: int = 13) -> Meld:
    """A legal meld of a random kind and length, often with an acting wild."""
    wilds = [*TWOS, JOKER] if rules.jokers else [*TWOS]
    while True:
        acts = rng.random() < 0.7
        if rules.sets and rng.random() < 0.25:
            rank = rng.choice([2, *range(1, 14)] if rules.set_of_twos else [1, *range(3, 14)])
            copies = [card for card in deck(0) if card_at(0, rank) == (card - 1) % 13 + 1]
            largest = 6 if rank == 2 and rules.twos_buraco_wins else 8
            naturals = tuple(sorted(rng.sample(copies, rng.randint(3 - acts, largest))))
            wild = rng.choice([wild for wild in wilds if rank != 2 or wild == JOKER] or [0])
            if acts and wild:
                return make_meld(rules, MeldKind.SET, (*naturals, wild), 0, len(naturals))
            if len(naturals) >= 3:
                return make_meld(rules, MeldKind.SET, naturals, 0, None)
            continue
        suit, size = rng.randrange(4), rng.randint(3, longest)
        low = rng.randint(1, ACE_HIGH + 1 - size)
        cards = [card_at(suit, low + index) for index in range(size)]
        index = rng.choice([0, size - 1, rng.randrange(size)]) if acts else None
        if index is not None:
            cards[index] = rng.choice([TWOS[suit], *wilds])
            if cards[index] == TWOS[suit] and low + index == 2:
                continue
        if size == 14 and not rules.two_aces and index not in (0, 13):
            continue
        if max(map(cards.count, cards)) <= 2 or cards.count(JOKER) == 1:
            return make_meld(rules, MeldKind.RUN, tuple(cards), low, index)


def some_cards(rules: RuleSet, rng: random.Random, count: int, *, near: Meld | None = None) -> tuple[int, ...]:
    """Random cards of a deck without the cards of `near`; mostly such as might be melded, or laid off on `near`."""
    left = deck(rules.jokers)
    for card in near.cards if near is not None else ():
        left.remove(card)
    if near is None:
        suit, rank, low = rng.randrange(4), rng.randint(1, 13), rng.randint(1, 12)
        places = range(low, min(low + count, ACE_HIGH) + 1)
    else:
        suit, rank = (near.natural - 1) // 13, (near.natural - 1) % 13 + 1
        low, high = near.low_position, near.low_position + len(near.cards) - 1
        below = rng.randint(0, count)
        places = range(max(1, low - below), min(ACE_HIGH, high + count - below) + 1)
    if (near is not None and near.kind is MeldKind.SET) or (near is None and rules.sets and rng.random() < 0.25):
        likely = [card for card in left if (card - 1) % 13 + 1 == rank]
    else:
        naturals = set() if near is None else {card for at, card in enumerate(near.cards) if at != near.wild_index}
        likely = [card for place in places if (card := card_at(suit, place)) in left and card not in naturals]
    wilds = [card for card in left if card == JOKER or card in TWOS]
    likely += rng.sample(wilds, min(rng.choice([0, 1, 1, 2]), len(wilds)))
    if rng.random() < 0.15:
        likely += rng.sample(left, 2)
    cards = rng.sample(likely, min(count, len(likely)))
    return tuple(card for card in cards if cards.count(card) <= left.count(card))


def some_position(rules: RuleSet, rng: random.Random, hand_size: int, *, phase: Phase = Phase.MELD) -> Deal:
    """A position of a small hand that often fits on melds of its own side, somewhere between two pots and none."""
    left = deck(rules.jokers)
    required = 75 if rules.opening_minimum is not None and rng.random() < 0.25 else 0
    melds: list[Meld] = []
    for _ in range(0 if required and phase is Phase.DRAW else rng.choice([0, 1, 1, 2, 2, 3])):
        meld = some_meld(rules, rng, longest=rng.choice([4, 7, 8, 13]))
        if required and card_points(rules, tuple(c for m in (*melds, meld) for c in m.cards)) >= required:
            continue
        if all(meld.cards.count(card) <= left.count(card) for card in meld.cards):
            melds.append(meld)
            for card in meld.cards:
                left.remove(card)
    hand: list[int] = []
    while len(hand) < hand_size:
        near = rng.choice(melds) if melds and rng.random() < 0.7 else None
        for card in some_cards(rules, rng, rng.randint(1, hand_size), near=near):
            if card in left and len(hand) < hand_size:
                hand.append(card)
                left.remove(card)
    taken = 0 if required else rng.choice([0, 1, 1, 1, rules.pots_per_side])
    they_took = rng.choice([0, 1]) if taken < 2 else 0
    pile = rng.sample(left, rng.choice([1, 1, 2, 4])) if phase is Phase.DRAW else []
    near_pile = some_cards(rules, rng, 1, near=rng.choice(melds)) if melds else ()
    if pile and near_pile and near_pile[0] in left:
        pile = [card for card in pile[:-1] if left.count(card) > (card == near_pile[0])] + [near_pile[0]]
    deal = position(
        rules,
        hand=format_cards(hand),
        melds=[show(meld) for meld in melds],
        taken=taken,
        they_took=they_took,
        pots=0 if rng.random() < 0.15 else None,
        required=required,
        pile=format_cards(pile),
        phase=phase,
        locked=format_cards([rng.choice(hand)]) if phase is Phase.MELD and rng.random() < 0.3 else "",
        unplayed=[0] if taken and rng.random() < 0.3 else [],
    )
    return deal._replace(turn=deal.turn._replace(opening_attempt=bool(required and melds)))
