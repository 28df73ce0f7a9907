"""Moves near to legal ones."""

import random

from buraco_rules import Deal, Discard, LayMeld, LayOff, Move, MoveWild


def mutated(deal: Deal, move: Move, rng: random.Random) -> Move:
    """A move changed so that it may name other cards, other melds, other places, or a card too often."""
    other = rng.choice(deal.hand) if rng.random() < 0.7 else rng.randint(1, 53)
    if isinstance(move, Discard):
        return Discard(other)
    if isinstance(move, MoveWild):
        return MoveWild(rng.randint(-1, 6), rng.randint(0, 15))
    if not isinstance(move, LayMeld | LayOff):
        moves: list[Move] = [LayMeld((other,) * 3), Discard(other), MoveWild(0, other), LayOff(0, (other,))]
        return rng.choice(moves)
    cards = list(move.cards)
    change = rng.randrange(5)
    if change == 0:
        cards[rng.randrange(len(cards))] = other
    elif change == 1:
        cards.append(other)
    elif change == 2:
        cards.append(rng.choice(cards))
    elif change == 3:
        cards.remove(rng.choice(cards))
    place = rng.choice([move.wild_position, None, rng.randint(-1, 16)])
    if isinstance(move, LayOff) is (change == 4):
        return LayMeld(tuple(cards), place)
    same = move.meld if isinstance(move, LayOff) else 0
    return LayOff(rng.choice([same, rng.randint(-1, 6)]), tuple(cards), place)
