from __future__ import annotations

import random

import pytest

from buraco_bots.greedy import GreedyBot
from buraco_bots.greedy.imagined import imagine
from buraco_notation import parse_cards
from buraco_rules import (
    PRESETS,
    Deal,
    Discard,
    DrawStock,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    Phase,
    RuleSet,
    TakePile,
    WildMoves,
    apply,
    deal_first,
    legal_moves,
    view_of,
)
from tests.rules.positions import CLASSIC, CLOSED, CLOSED_DIRTY, INDIRECT, OPEN, discard, lay_off, position


def choice(deal: Deal) -> Move:
    """What greedy does next."""
    return GreedyBot(random.Random(1)).choose(view_of(deal, deal.seat_to_move), legal_moves(deal))


def turn(deal: Deal) -> list[Move]:
    """All that greedy does until its turn is over."""
    bot, seat, moves = GreedyBot(random.Random(1)), deal.seat_to_move, list[Move]()
    while deal.seat_to_move == seat and deal.phase is not Phase.OVER:
        moves.append(bot.choose(view_of(deal, seat), legal_moves(deal)))
        deal, _ = apply(deal, moves[-1])
    return moves


def laid(moves: list[Move]) -> list[int]:
    """The cards that were laid, sorted."""
    return sorted(card for move in moves if isinstance(move, (LayMeld, LayOff)) for card in move.cards)


def drawing(rules: RuleSet, **words: str) -> Deal:
    """A position before the draw."""
    return position(rules, phase=Phase.DRAW, **words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pile", "move"),
    [
        ("7h", TakePile()),  # makes 5 6 7 8
        ("9d 9s 2c", TakePile()),  # a set, and a wild
        ("Kc", DrawStock()),  # of no use
        ("4c Kc", DrawStock()),
    ],
)
def test_pile(pile: str, move: Move) -> None:
    """The pile is taken where its cards are of use with the hand's, and left where they are not."""
    chosen = choice(drawing(CLASSIC, hand="5h 6h 8h 9c 9h Ts Qd As 3d 6s Js", pile=pile))
    assert (chosen, type(chosen)) == (move, type(move))


def test_closed_pile() -> None:
    """A large closed pile is taken for its top card."""
    hand = "5h 6h Ks 9c Jd 3s 3d"
    assert isinstance(choice(drawing(CLOSED, hand=hand, pile="Kc 4c Qd 9s Jc 7h")), TakePile)


def test_lays_off_naturals() -> None:
    """Naturals that fit a meld of the own side are laid off, whatever else the hand holds."""
    deal = position(CLASSIC, hand="9h 4h Kd Qs 3c As 8d", melds=["5h 6h 7h 8h"])
    assert laid(turn(deal)) == sorted(parse_cards("9h 4h"))


def test_keeps_clean_run_clean() -> None:
    """A clean run of six is not made a dirty buraco: the wild is kept for another."""
    deal = position(CLASSIC, hand="2c Kd 9s 3d Jc 7d 5s", melds=["5h 6h 7h 8h 9h Th"])
    assert parse_cards("2c")[0] not in laid(turn(deal))


def test_keeps_wild() -> None:
    """A wild that no meld needs stays in the hand, and is never discarded."""
    deal = position(OPEN, hand="2c Kd 9s Jd 4c", melds=["5h 6h 7h 2d@8 9h Th"], taken=1)
    spent = turn(deal)
    assert laid(spent) == []
    assert not any(isinstance(move, Discard) and move.card in parse_cards("2c") for move in spent)


def test_takes_pot_in_flight() -> None:
    """The whole hand is laid where that picks up a pot, wilds included."""
    deal = position(CLASSIC, hand="5h 6h 7h 9s 9d 2c", taken=0)
    moves = turn(deal)
    assert set(parse_cards("5h 6h 7h 9s 9d 2c")) <= set(laid(moves))
    assert isinstance(moves[-1], Discard)


def test_takes_pot_by_discard() -> None:
    """All cards but one are laid where discarding the last picks up a pot."""
    deal = position(CLASSIC, hand="5h 6h 7h Kd")
    moves = turn(deal)
    assert laid(moves) == sorted(parse_cards("5h 6h 7h"))
    assert moves[-1] == discard("Kd")


def test_closes() -> None:
    """A deal is closed as soon as that is possible and gains more than it costs."""
    deal = position(CLASSIC, hand="Th Jh Kd", melds=["3h 4h 5h 6h 7h 8h 9h"], taken=1, they_took=1)
    moves = turn(deal)
    assert laid(moves) == sorted(parse_cards("Th Jh"))
    assert moves[-1] == discard("Kd")


def test_does_not_close_to_lose() -> None:
    """A deal is not closed where the match would be lost with it."""
    behind = {"scores": (0, 1990), "target": 2000}
    words = {"hand": "Th Jh Kd Kc", "melds": ["3h 4h 5h 6h 7h 8h 9h"], "their_melds": ["3s 4s 5s 6s 7s 8s 9s"]}
    deal = position(CLASSIC, **words, taken=1, they_took=1, **behind)  # type: ignore[arg-type]
    after = deal
    for move in turn(deal):
        after, _ = apply(after, move)
    assert after.phase is not Phase.OVER
    ahead = position(CLASSIC, **words | {"hand": "Th Jh Kd"}, taken=1, they_took=1, scores=(1990, 0), target=2000)  # type: ignore[arg-type]
    after = ahead
    for move in turn(ahead):
        after, _ = apply(after, move)
    assert after.phase is Phase.OVER


def test_opening_minimum_out_of_reach() -> None:
    """Nothing is shown while the hand does not hold the opening minimum (R11.2)."""
    deal = position(INDIRECT, hand="5h 6h 7h Kd Kc 3s 4d 9c Jd As 8s Th", required=75)
    assert [type(move) for move in turn(deal)] == [Discard]


def test_opening_minimum_met() -> None:
    """Once it does, several melds of one turn meet it (R11.2)."""
    deal = position(INDIRECT, hand="9h Th Jh Kd Kc Ks 4d As Ad Ac 8s 3h", required=75)
    after = deal
    for move in turn(deal):
        after, _ = apply(after, move)
    assert after.sides[0].opening_required == 0
    assert after.sides[0].opening_penalties == 0


def test_discards_what_helps_least() -> None:
    """A card that fits an opponents' meld is not discarded while another of no more use is at hand."""
    deal = position(
        CLASSIC, hand="Jh 7d", melds=["3s 4s 5s 6s 7s 8s 9s"], their_melds=["Jh Js Jd Jc"], taken=1, they_took=1
    )
    assert choice(deal) == discard("7d")
    other = position(
        CLASSIC, hand="Jh 7d", melds=["3s 4s 5s 6s 7s 8s 9s"], their_melds=["7h 7s 7d 7c"], taken=1, they_took=1
    )
    assert choice(other) == discard("Jh")


def test_keeps_pairs() -> None:
    """A lone card is discarded before one of a pair or a start of a run."""
    deal = position(CLASSIC, hand="9h 9c 5d 6d Ks Jh Jc 3s 3c")
    assert turn(deal)[-1] == discard("Ks")


def test_wild_comes_home() -> None:
    """A 2 that becomes a natural by moving is moved, which cleans the run (R5.2)."""
    deal = position(CLASSIC, hand="Kd 9c Qs", melds=["3h 4h 5h 6h 7h 8h 2h@9"])
    assert turn(deal)[0] == MoveWild(0, 2)


@pytest.mark.parametrize(
    "rules", [rules for rules in PRESETS if rules.wild_moves is WildMoves.FREE_END], ids=lambda rules: rules.id
)
def test_no_wild_moves_to_and_fro(rules: RuleSet) -> None:
    """A wild is moved for good or not at all: after the move it acts no longer."""
    for seed in range(3):
        deal, _ = deal_first(rules, 2, bytes([seed]) * 32)
        bots = [GreedyBot(random.Random(seat)) for seat in range(2)]
        while deal.phase is not Phase.OVER:
            seat, moves = deal.seat_to_move, legal_moves(deal)
            move = bots[seat].choose(view_of(deal, seat), moves)
            deal, _ = apply(deal, move)
            if isinstance(move, MoveWild) and len(moves) > 1:
                assert deal.sides[seat].melds[move.meld].wild_index is None


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_imagined_deal(rules: RuleSet) -> None:
    """What a seat can see is enough to know its legal moves, where no closed pile hides what follows."""
    rng = random.Random(3)
    for seed in range(3):
        deal, _ = deal_first(rules, 4, bytes([seed]) * 32)
        while deal.phase is not Phase.OVER:
            moves = legal_moves(deal)
            if not (rules.closed_pile and (deal.phase is Phase.DRAW or deal.turn.must_meld)):
                assert legal_moves(imagine(view_of(deal, deal.seat_to_move))) == moves
            deal, _ = apply(deal, rng.choice(moves))


def test_lay_off_before_new_meld() -> None:
    """A card that finishes a buraco goes there, and not into a new meld."""
    deal = position(CLASSIC, hand="9h 9c 9d Kd Qs 3c", melds=["3h 4h 5h 6h 7h 8h"])
    assert choice(deal) == lay_off(0, "9h")


def test_all_cards_melded_with_the_top_of_a_closed_pile() -> None:
    """Where the whole hand can be melded with the pile's top, what lies under it does not confuse the bot."""
    deal = drawing(CLOSED_DIRTY, hand="6d 6c", pile="Kc 6s")
    assert TakePile() in legal_moves(deal)
    assert choice(deal) in legal_moves(deal)
    taken, _ = apply(deal, TakePile())
    assert legal_moves(imagine(view_of(taken, taken.seat_to_move))) == legal_moves(taken)
