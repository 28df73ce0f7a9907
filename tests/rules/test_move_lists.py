"""The list of legal moves and the judgement of moves are the same thing read in two directions."""

import random
from collections.abc import Iterator

import pytest

from buraco_rules import (
    PRESETS,
    Deal,
    Discard,
    DrawStock,
    IllegalMove,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    NextAction,
    Phase,
    RuleSet,
    TakePile,
    apply,
    deal_first,
    legal_moves,
    normalise_move,
    view_of,
)
from buraco_rules.events import LaidOff, Melded, WildMoved
from tests.rules.positions import CLASSIC, house, lay, lay_off, play, position
from tests.rules.reference_turns import parts
from tests.rules.sampling import ALL_RULES, some_position
from tests.rules.test_arrangements import name

PLACES = (None, -1, *range(16))
ACTIONS: dict[type, NextAction] = {
    DrawStock: NextAction.DRAW_STOCK,
    TakePile: NextAction.TAKE_PILE,
    LayMeld: NextAction.LAY_MELD,
    LayOff: NextAction.LAY_OFF,
    MoveWild: NextAction.MOVE_WILD,
    Discard: NextAction.DISCARD,
}


def every_move(deal: Deal) -> Iterator[Move]:
    """Every move that could be thought of with the cards of the hand and the melds of the side, and some beyond."""
    yield from (DrawStock(), TakePile())
    indices = range(-1, len(deal.side.melds) + 1)
    for card in range(55):
        yield Discard(card)
    for index in indices:
        for place in range(-1, 16):
            yield MoveWild(index, place)
    for cards in ((), *parts(deal.hand, len(deal.hand))):
        for place in PLACES:
            yield LayMeld(cards, place)
            for index in indices:
                yield LayOff(index, cards, place)


def accepted(deal: Deal, move: Move) -> Deal | None:
    """The deal after a move; None where it is refused."""
    try:
        return apply(deal, move)[0]
    except IllegalMove:
        return None


def check_list(deal: Deal) -> None:
    """All accepted moves of `every_move` lead to just the states to which the listed moves lead, each of these once."""
    listed = {play(deal, move): move for move in legal_moves(deal)}
    assert len(listed) == len(legal_moves(deal)), "a state is listed twice"
    reached = {after for move in every_move(deal) if (after := accepted(deal, move)) is not None}
    assert reached == set(listed)


def check_positions(rules: RuleSet, rng: random.Random, rounds: int, largest: int) -> None:
    """Check random positions of small hands."""
    for _ in range(rounds):
        deal = some_position(rules, rng, rng.randint(1, largest))
        check_list(deal)
        check_list(some_position(rules, rng, rng.randint(1, 3), phase=Phase.DRAW))


@pytest.mark.parametrize("rules", PRESETS, ids=name)
def test_whole_suit(rules: RuleSet) -> None:
    """R4.5: all of a suit with both its aces is listed as one run where a run may hold both, and only there."""
    suit = "Ah 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh Ah"
    listed = legal_moves(position(rules, hand=f"{suit} 4c 9d"))
    assert [len(move.cards) for move in listed if isinstance(move, LayMeld) and len(move.cards) > 13] == (
        [14] if rules.two_aces else []
    )
    assert any(isinstance(move, LayMeld) and len(move.cards) == 13 for move in listed)


@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_list_is_what_brute_force_finds(rules: RuleSet) -> None:
    """R3.6, R4, R5: trying all cards of the hand on all melds with all places finds the listed moves and no other."""
    check_positions(rules, random.Random(name(rules)), 10, 4)


@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_list_of_a_larger_hand(rules: RuleSet) -> None:
    """R3.6, R4, R5: the same for a hand of six."""
    check_list(some_position(rules, random.Random(name(rules)), 6))


@pytest.mark.slow
@pytest.mark.parametrize("rules", ALL_RULES, ids=name)
def test_list_is_what_brute_force_finds_at_length(rules: RuleSet) -> None:
    """R3.6, R4, R5: the same for many more hands of up to six cards."""
    check_positions(rules, random.Random(name(rules) + " at length"), 150, 6)


@pytest.mark.parametrize(
    "rules", [*(r for r in ALL_RULES if r.closed_pile), house(CLASSIC, closed_pile=True)], ids=name
)
def test_closed_pile_by_brute_force(rules: RuleSet) -> None:
    """R3.4: after the top card of a closed pile was taken brute force finds the listed moves and no other."""
    rng, taken = random.Random(name(rules)), 0
    for _ in range(100):
        deal = some_position(rules, rng, rng.randint(1, 4), phase=Phase.DRAW)
        if TakePile() in legal_moves(deal):
            check_list(play(deal, TakePile()))
            taken += 1
        if taken == 6:
            return
    pytest.fail("too few piles could be taken")


def some_deals(rules: RuleSet, rng: random.Random) -> Iterator[Deal]:
    """The deals of a random game in which melding is preferred."""
    deal, _ = deal_first(rules, rng.choice([2, 4]), rng.randbytes(32))
    while moves := legal_moves(deal):
        yield deal
        plays = [move for move in moves if isinstance(move, LayMeld | LayOff | MoveWild)]
        deal = play(deal, rng.choice(plays if plays and rng.random() < 0.6 else moves))


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_listed_moves_do_what_they_say(rules: RuleSet) -> None:
    """R5.4: every listed move is accepted and leads to a state of its own, the wild standing where it says."""
    rng = random.Random(rules.id)
    for deal in some_deals(rules, rng):
        if rng.random() < 0.75:
            continue
        moves = legal_moves(deal)
        assert len(set(moves)) == len(moves)
        states = set()
        for move in moves:
            after, events = apply(deal, move)
            states.add(after)
            if isinstance(move, LayMeld | LayOff):
                event = events[0]
                assert isinstance(event, Melded | LaidOff)
                assert move.wild_position == event.meld.wild_position
                assert move.cards == (event.meld.cards if isinstance(event, Melded) else event.cards)
            if isinstance(move, MoveWild):
                assert isinstance(events[0], WildMoved)
                assert events[0].meld.wild_position in (move.wild_position, None)
        assert len(states) == len(moves)


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_next_actions_are_the_kinds_of_the_list(rules: RuleSet) -> None:
    """R3.1: what a seat may do next is told by kind just as the list of moves holds it, and undo beside it."""
    rng = random.Random(rules.id)
    for deal in some_deals(rules, rng):
        expected = {ACTIONS[type(move)] for move in legal_moves(deal)} | (
            {NextAction.UNDO} if deal.turn.undo else set()
        )
        told = view_of(deal, deal.seat_to_move).next_actions
        assert set(told) == expected
        assert list(told) == sorted(told)


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_moves_of_other_hands(rules: RuleSet) -> None:
    """R3.1: no card that only another hand, a pot, the stock or the pile holds can be played."""
    rng = random.Random(rules.id)
    for deal in some_deals(rules, rng):
        if deal.phase is Phase.DRAW or rng.random() < 0.7:
            continue
        foreign = {card for part in (*deal.hands, *deal.pots, deal.stock, deal.pile) for card in part} - set(deal.hand)
        for card in rng.sample(sorted(foreign), min(5, len(foreign))):
            assert accepted(deal, Discard(card)) is None
            for index in range(len(deal.side.melds)):
                assert accepted(deal, LayOff(index, (card,))) is None
        for hand in deal.hands:
            swapped = deal._replace(hands=deal.replace_hand(hand))
            for move in rng.sample(legal_moves(swapped), min(5, len(legal_moves(swapped)))):
                if isinstance(move, LayMeld | LayOff) and not set(move.cards) <= set(deal.hand):
                    assert accepted(deal, move) is None


def test_normal_moves() -> None:
    """R5.4: the normal form of a move shows what comes of it; what is illegal is left as it is."""
    deal = position(CLASSIC, hand="3h 4h Jo 7h 2s 2h 9d", melds=["7d 8d 9d", "3h 4h Jo@5", "5s 5c 5d"])
    assert normalise_move(deal, lay("Jo 4h 3h")) == lay("Jo 3h 4h", 2)
    assert normalise_move(deal, lay("4h 2h 3h", 2)) == lay("2h 3h 4h")
    assert normalise_move(deal, lay_off(1, "7h")) == lay_off(1, "7h")
    assert normalise_move(deal, lay_off(3, "7h")) == lay_off(3, "7h")
    assert normalise_move(deal, lay_off(0, "2s")) == lay_off(0, "2s", 6)
    assert normalise_move(deal, Discard(1)) == Discard(1)
