"""An independent reading of R3.6, R6 and R7: what an emptied hand means, and whether a turn can still be finished.

Plain search over everything the rest of the turn could do; made for small hands.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from buraco_rules import CloseBy, Deal, Meld, MeldKind, PotBy, RuleSet, Side, Turn, Violation
from buraco_rules.cards import RANK, TWO
from tests.rules.reference_melds import is_wild, moved_wild, results

POT = "pot"
CLOSE = "close"
Follows = str | frozenset[Violation]
"""What follows when a hand is emptied: a pot, the close, or all the reasons why it may not be emptied so."""


def what_follows(rules: RuleSet, side: Side, pots_left: int, discarded: int | None) -> Follows:
    """R6 and R7 for a side whose player empties the hand: in flight, or by discarding a card."""
    if side.opening_required:
        return frozenset({Violation.BELOW_OPENING_MINIMUM})
    buracos = [meld for meld in side.melds if len(meld.cards) >= 7]
    clean = [meld for meld in buracos if meld.wild_index is None and not meld.stays_dirty]
    against: set[Violation] = set()
    may_take_another = pots_left > 0 and side.pots_taken < rules.pots_per_side
    if may_take_another:
        if discarded is not None and (side.pots_taken > 0 or rules.pot_by is PotBy.FLIGHT):
            against.add(Violation.POT_ONLY_IN_FLIGHT)
        if rules.pot_needs_buraco and not buracos:
            against.add(Violation.POT_NEEDS_BURACO)
        if not against:
            return POT
        if side.pots_taken == 0:
            return frozenset(against)
    against = set()
    if not buracos:
        against.add(Violation.CLOSE_NEEDS_BURACO)
    elif rules.close_needs_clean and not clean:
        against.add(Violation.CLOSE_NEEDS_CLEAN)
    if discarded is None and rules.close_by is CloseBy.DISCARD:
        against.add(Violation.CLOSE_ONLY_BY_DISCARD)
    if discarded is not None and rules.close_by is CloseBy.FLIGHT:
        against.add(Violation.CLOSE_ONLY_IN_FLIGHT)
    if discarded is not None and is_wild(discarded) and not rules.close_discard_wild:
        against.add(Violation.CLOSE_DISCARD_WILD)
    return frozenset(against) or CLOSE


def can_finish(deal: Deal) -> bool:
    """Whether the seat to move, which has drawn, can finish its turn legally from here (R3.6)."""
    seen: set[tuple[object, ...]] = set()

    def search(deal: Deal) -> bool:
        side, turn = deal.side, deal.turn
        if any(wins_match(deal.rules, meld) for meld in side.melds):
            return True
        if not deal.hand:
            return isinstance(what_follows(deal.rules, side, len(deal.pots), None), str)
        state = (deal.hand, side, turn)
        if state in seen:
            return False
        seen.add(state)
        if any(may_discard(deal, card) for card in set(deal.hand)):
            return True
        return any(search(after) for after in (*_after_lays(deal), *_after_wild_moves(deal)))

    return search(deal)


def may_discard(deal: Deal, card: int) -> bool:
    """Whether a card of the hand may end the turn (R3.3, R3.4, R6, R7; R11.2 for a failed attempt)."""
    if deal.turn.must_meld or (deal.turn.locked_card == card and deal.hand.count(card) == 1):
        return False
    if len(deal.hand) > 1 or (deal.side.opening_required and deal.side.melds):
        return True
    return isinstance(what_follows(deal.rules, deal.side, len(deal.pots), card), str)


def wins_match(rules: RuleSet, meld: Meld) -> bool:
    """R7.3: seven 2s or more in a set."""
    naturals = [card for index, card in enumerate(meld.cards) if index != meld.wild_index]
    return (
        rules.twos_buraco_wins
        and meld.kind is MeldKind.SET
        and len(naturals) >= 7
        and all(RANK[card] == TWO for card in naturals)
    )


def put_down(deal: Deal, index: int | None, cards: Sequence[int], meld: Meld) -> Deal:
    """The deal with cards of the hand laid so, legal or not; an empty hand is left empty."""
    side, turn = deal.side, deal.turn
    hand = list(deal.hand)
    for card in cards:
        hand.remove(card)
    melds = list(side.melds)
    if index is None:
        melds.append(meld)
    else:
        melds[index] = meld
    required = side.opening_required
    if sum(deal.rules.values[card] for meld in melds for card in meld.cards) >= required:
        required = 0
    pile = deal.pile
    if turn.must_meld:
        hand, pile = [*hand, *pile], ()
    locked = 0 if turn.locked_card in cards else turn.locked_card
    return deal._replace(
        pile=pile,
        hands=deal.replace_hand(tuple(sorted(hand))),
        sides=deal.replace_side(side._replace(melds=tuple(melds), opening_required=required)),
        turn=Turn(turn.number, locked),
    )


def parts(hand: Sequence[int], longest: int) -> Iterator[tuple[int, ...]]:
    """Every selection of up to so many cards of a hand, each once."""
    for size in range(1, min(longest, len(hand)) + 1):
        yield from dict.fromkeys(combinations(sorted(hand), size))


def _after_lays(deal: Deal) -> Iterator[Deal]:
    for cards in parts(deal.hand, len(deal.hand)):
        if deal.turn.must_meld and deal.turn.must_meld not in cards:
            continue
        for index, base in [(None, None), *enumerate(deal.side.melds)]:
            for result in results(deal.rules, base, cards):
                if index is None and second_set(deal, result.meld):
                    continue
                yield put_down(deal, index, cards, result.meld)


def second_set(deal: Deal, meld: Meld) -> bool:
    """Whether a new meld is a set of a rank of which the side has one, where that is forbidden (R4.6)."""
    ranks = [RANK[other.natural] for other in deal.side.melds if other.kind is MeldKind.SET]
    return deal.rules.one_set_per_rank and meld.kind is MeldKind.SET and RANK[meld.natural] in ranks


def _after_wild_moves(deal: Deal) -> Iterator[Deal]:
    if deal.turn.must_meld:
        return
    for index, base in enumerate(deal.side.melds):
        meld = moved_wild(deal.rules, base)
        if meld is not None:
            yield put_down(deal, index, (), meld)
