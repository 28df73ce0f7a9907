"""No dead ends (R3.6), checked by searching the rest of the turn with an independent reading of the rules."""

import random

import pytest

from buraco_rules import (
    Deal,
    Discard,
    IllegalMove,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    Phase,
    RuleSet,
    TakePile,
    Violation,
    apply,
    legal_moves,
)
from tests.rules.positions import CLASSIC, CLOSED, house, play
from tests.rules.reference_melds import moved_wild, results
from tests.rules.reference_turns import can_finish, may_discard, parts, put_down, second_set, what_follows
from tests.rules.sampling import ALL_RULES, some_position
from tests.rules.test_arrangements import name

RULES = (*ALL_RULES, house(CLASSIC, close_needs_clean=True), house(CLASSIC, closed_pile=True))


def refusal(deal: Deal, move: Move) -> Violation | None:
    """The principal reason why a move is refused; None where it is accepted."""
    try:
        apply(deal, move)
    except IllegalMove as refused:
        return refused.violations[0]
    return None


def check_turn(deal: Deal) -> set[Violation | None]:
    """Every lay, moved wild and discard is accepted just where the turn can be finished after it; the answers met."""
    met: set[Violation | None] = set()
    for cards in parts(deal.hand, len(deal.hand)):
        for index, base in [(None, None), *enumerate(deal.side.melds)]:
            for result in results(deal.rules, base, cards):
                place = result.wild_position
                move = LayMeld(cards, place) if index is None else LayOff(index, cards, place)
                if place is None and _default_acts(deal, index, cards):
                    continue
                if index is None and second_set(deal, result.meld):
                    assert refusal(deal, move) in (Violation.SECOND_SET, Violation.TOP_CARD_FIRST)
                    continue
                met.add(check_move(deal, move, put_down(deal, index, cards, result.meld)))
    for index, base in enumerate(deal.side.melds):
        meld = moved_wild(deal.rules, base)
        if meld is not None:
            place = meld.wild_position or 2
            met.add(check_move(deal, MoveWild(index, place), put_down(deal, index, (), meld)))
    for card in set(deal.hand):
        answer = refusal(deal, Discard(card))
        assert (answer is None) is may_discard(deal, card), (deal, card)
        met.add(answer)
    return met


def _default_acts(deal: Deal, index: int | None, cards: tuple[int, ...]) -> bool:
    """Whether a move without a place means another arrangement than the one in which no card acts."""
    base = None if index is None else deal.side.melds[index]
    return results(deal.rules, base, cards)[0].wild_position is not None


def check_move(deal: Deal, move: Move, after: Deal) -> Violation | None:
    """A move that leads to `after` is accepted just where the turn can be finished, else rightly refused."""
    answer = refusal(deal, move)
    must_meld = deal.turn.must_meld
    if must_meld and (isinstance(move, MoveWild) or must_meld not in getattr(move, "cards", ())):
        assert answer is Violation.TOP_CARD_FIRST, (deal, move)
        return answer
    assert (answer is None) is can_finish(after), (deal, move, answer)
    if answer is not None and after.hand:
        assert answer is Violation.DEAD_END, (deal, move, answer)
    elif answer is not None:
        follows = what_follows(deal.rules, after.side, len(after.pots), None)
        assert not isinstance(follows, str)
        assert answer in follows, (deal, move, answer)
    else:
        goes_on = play(deal, move)
        assert goes_on.phase is Phase.OVER or can_finish(goes_on)
    return answer


def check_positions(rules: RuleSet, rng: random.Random, rounds: int, largest: int) -> set[Violation | None]:
    """Check random positions; tell which answers were met."""
    met: set[Violation | None] = set()
    for _ in range(rounds):
        met |= check_turn(some_position(rules, rng, rng.randint(1, largest)))
    return met


@pytest.mark.parametrize("rules", RULES, ids=name)
def test_accepted_just_where_the_turn_can_be_finished(rules: RuleSet) -> None:
    """R3.6: a move is accepted just where an exhaustive search finds a way to finish the turn after it."""
    met = check_positions(rules, random.Random(name(rules)), 60, 4)
    assert {None, Violation.DEAD_END} <= met


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULES, ids=name)
def test_accepted_just_where_the_turn_can_be_finished_at_length(rules: RuleSet) -> None:
    """R3.6: the same for many more positions, of hands up to five cards."""
    assert None in check_positions(rules, random.Random(name(rules) + " at length"), 1500, 5)


@pytest.mark.parametrize("rules", [rules for rules in RULES if rules.closed_pile], ids=name)
def test_closed_pile_is_taken_just_where_it_leads_on(rules: RuleSet) -> None:
    """R3.4, R3.6: a closed pile may be taken just where its top card can be melded in a turn that can be finished."""
    rng = random.Random(name(rules))
    answers = []
    for _ in range(150):
        deal = some_position(rules, rng, rng.randint(1, 3), phase=Phase.DRAW)
        top = deal.pile[-1]
        hand = tuple(sorted((*deal.hand, top)))
        locked = top if len(deal.pile) == 1 else 0
        taken = deal._replace(
            phase=Phase.MELD,
            pile=deal.pile[:-1],
            hands=deal.replace_hand(hand),
            turn=deal.turn._replace(must_meld=top, locked_card=locked),
        )
        answer = refusal(deal, TakePile())
        assert answer in (None, Violation.TOP_CARD_UNUSABLE)
        assert (answer is None) is can_finish(taken), deal
        answers.append(answer)
        if answer is None:
            assert play(deal, TakePile()) == taken
            check_turn(taken)
    assert len(set(answers)) == 2


@pytest.mark.parametrize("rules", RULES, ids=name)
def test_there_is_always_a_move(rules: RuleSet) -> None:
    """R3.6: whatever listed moves a seat makes, it always has another until the turn is over."""
    rng = random.Random(name(rules))
    for _ in range(60):
        deal = some_position(rules, rng, rng.randint(2, 6))
        if not can_finish(deal):
            continue
        number = deal.turn.number
        while deal.phase is Phase.MELD and deal.turn.number == number:
            moves = [move for move in legal_moves(deal) if not isinstance(move, MoveWild) or rng.random() < 0.5]
            lays = [move for move in moves if isinstance(move, LayMeld | LayOff)]
            assert legal_moves(deal)
            deal = play(deal, rng.choice(lays or moves or legal_moves(deal)))


def test_both_answers_about_a_closed_pile_are_met() -> None:
    """R3.4: the random positions hold piles that may be taken and piles that may not."""
    rng = random.Random(1)
    deals = [some_position(CLOSED, rng, 3, phase=Phase.DRAW) for _ in range(80)]
    assert {refusal(deal, TakePile()) for deal in deals} == {None, Violation.TOP_CARD_UNUSABLE}
