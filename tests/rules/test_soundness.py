import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from buraco_rules import (
    MAX_UNDO_STEPS,
    PRESETS,
    BuracoKind,
    Deal,
    Ending,
    Match,
    Meld,
    MeldKind,
    MoveWild,
    OpeningMinimum,
    Phase,
    Problem,
    RuleSet,
    Side,
    StockEnd,
    Turn,
    UndoStep,
    apply,
    deal_problems,
    legal_moves,
    match_problems,
    undo,
)
from buraco_rules.cards import JOKER
from tests.rules.playouts import played, playout
from tests.rules.positions import CLASSIC, INDIRECT, OPEN, house, lay, lay_off, play, position

HOUSES = [
    house(CLASSIC, one_set_per_rank=True, makart=True, max_turns=60),
    house(CLASSIC, single_card_lock=False, semi_clean_sets=True, upcard=False),
    house(INDIRECT, opening_minimum=OpeningMinimum(threshold=-500, every_turn=True)),
    house(INDIRECT, opening_minimum=OpeningMinimum(threshold=1000, points=20, step=5, penalty=0)),
    house(INDIRECT, opening_minimum=OpeningMinimum(threshold=1000, points=30, step=0, penalty=10), closed_pile=True),
    house(OPEN, closed_pile=True, single_card_lock=False, jokers=4, dirty_sticks=True, stock_end=StockEnd.AT_TWO),
]


def fields(deal: Deal) -> set[str]:
    """Where a position is at fault."""
    problems = deal_problems(deal)
    assert all(isinstance(problem, Problem) and problem.problem for problem in problems)
    return {problem.path for problem in problems}


# ---- what play reaches -------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", [*PRESETS, *HOUSES], ids=lambda rules: rules.id)
def test_play_reaches_no_problem(rules: RuleSet, seats: int) -> None:
    """Every position of random deals is sound: under house rules too, with plays taken back, openings and ends."""
    for seed in range(2):
        for deal, _ in playout(rules, seats, seed):
            assert deal_problems(deal) == ()


def test_wilds_moved_to_and_fro_are_sound() -> None:
    """A turn with more plays than are remembered is sound, and so is what is left when all of them are taken back."""
    deal = position(CLASSIC, hand="7c 8d", melds=["2d@5 6s 7s 8s"])
    for number in range(MAX_UNDO_STEPS + 10):
        deal = play(deal, MoveWild(0, 5 if number % 2 else 9))
        assert deal_problems(deal) == ()
    assert len(deal.turn.undo) == MAX_UNDO_STEPS
    while deal.turn.undo:
        deal, _ = undo(deal)
        assert deal_problems(deal) == ()


def test_the_last_card_decides() -> None:
    """A single card that can only be laid off is sound; one that can go nowhere is not (R3.6)."""
    assert fields(position(CLASSIC, hand="7c", melds=["3s 4s 5s"], taken=1, they_took=1)) == {"hands"}
    assert fields(position(CLASSIC, hand="7c 8c", melds=["3s 4s 5s"], taken=1, they_took=1)) == set()
    assert fields(position(CLASSIC, hand="6s", melds=["3s 4s 5s"], they_took=1)) == set()


# ---- what play does not reach ------------------------------------------------------------------------

Mutation = Callable[[Deal], "Deal | None"]


def of_side(change: Callable[[Deal, Side], "Side | None"]) -> Mutation:
    """The side of the seat to move changed."""

    def mutate(deal: Deal) -> Deal | None:
        side = change(deal, deal.side)
        return None if side is None else deal._replace(sides=deal.replace_side(side))

    return mutate


def of_meld(change: Callable[[Deal, Meld], "Meld | None"]) -> Mutation:
    """The first meld that can be changed so, of the side of the seat to move."""

    def mutate(deal: Deal, side: Side) -> Side | None:
        for index, meld in enumerate(side.melds):
            changed = change(deal, meld)
            if changed is not None:
                return side._replace(melds=(*side.melds[:index], changed, *side.melds[index + 1 :]))
        return None

    return of_side(mutate)


def of_turn(change: Callable[[Deal, Turn], "Turn | None"], phase: Phase = Phase.MELD) -> Mutation:
    """The turn changed, in one phase."""

    def mutate(deal: Deal) -> Deal | None:
        turn = change(deal, deal.turn) if deal.phase is phase else None
        return None if turn is None else deal._replace(turn=turn)

    return mutate


def of_step(change: Callable[[Deal, UndoStep], "UndoStep | None"]) -> Mutation:
    """The newest step that can be taken back changed."""

    def mutate(deal: Deal, turn: Turn) -> Turn | None:
        step = change(deal, turn.undo[-1]) if turn.undo else None
        return None if step is None else turn._replace(undo=(*turn.undo[:-1], step))

    return of_turn(mutate)


def when(holds: Callable[[Deal], object], **changes: Callable[[Deal], Any]) -> Mutation:
    """Parts of the deal changed, where something holds of it."""

    def mutate(deal: Deal) -> Deal | None:
        return deal._replace(**{name: change(deal) for name, change in changes.items()}) if holds(deal) else None

    return mutate


def match_with(**changes: Any) -> Mutation:
    """The match changed."""
    return lambda deal: deal._replace(match=deal.match._replace(**changes))


def over(ending: Ending) -> Callable[[Deal], bool]:
    """Whether a deal ended so."""
    return lambda deal: deal.ending is ending


def in_phase(phase: Phase, first: bool | None = None) -> Callable[[Deal], bool]:
    """Whether a deal is in a phase, in its first turn or (False) a later one."""
    return lambda deal: deal.phase is phase and first in (None, deal.turn.number == 1)


def binding(deal: Deal) -> bool:
    """Whether an opening minimum binds the side of the seat to move (R11.2)."""
    minimum = deal.rules.opening_minimum
    return minimum is not None and deal.match.scores[deal.seat_to_move & 1] >= minimum.threshold


def without_rank(rank: int) -> Callable[[Deal, Meld], "Meld | None"]:
    """A meld one of whose cards became another card of the rule set's deck."""
    return lambda deal, meld: meld._replace(cards=(*meld.cards[:-1], rank)) if meld.cards[-1] != rank else None


def swapped(meld: Meld) -> Meld | None:
    """A run with its first two naturals the wrong way round."""
    if meld.kind is MeldKind.SET or meld.wild_index in (0, 1):
        return None
    return meld._replace(cards=(meld.cards[1], meld.cards[0], *meld.cards[2:]))


RUN, SET = MeldKind.RUN, MeldKind.SET

UNSOUND: dict[str, tuple[Mutation, str]] = {
    # cards and seats
    "a card missing": (when(lambda d: d.stock, stock=lambda d: d.stock[1:]), ""),
    "a card too many": (lambda d: d._replace(stock=(*d.stock, d.hand[0])) if d.hand else None, ""),
    "another card": (when(lambda d: d.stock and d.stock[0] != 5, stock=lambda d: (5, *d.stock[1:])), ""),
    "a joker where there are none": (
        when(lambda d: d.stock and not d.rules.jokers, stock=lambda d: (JOKER, *d.stock[1:])),
        "",
    ),
    "no card": (when(lambda d: d.stock, stock=lambda d: (54, *d.stock[1:])), ""),
    "three seats": (lambda d: d._replace(seats=3), "seats"),
    "a hand too few": (lambda d: d._replace(hands=d.hands[1:]), "hands"),
    "no such seat": (lambda d: d._replace(seat_to_move=d.seats), "seat_to_move"),
    "no such starter": (match_with(starter=4), "match.starter"),
    "deal 0": (match_with(deal_number=0), "match.deal_number"),
    "a score beyond measure": (match_with(scores=(0, -(10**9) - 1)), "match.scores[1]"),
    "a target beyond measure": (match_with(target_score=1_000_001), "match.target_score"),
    "a hand not sorted": (
        lambda d: d._replace(hands=d.replace_hand(d.hand[::-1])) if len(set(d.hand)) > 1 else None,
        "hands[{seat}]",
    ),
    "an empty hand": (
        when(in_phase(Phase.DRAW), pile=lambda d: d.pile + d.hand, hands=lambda d: d.replace_hand(())),
        "hands[{seat}]",
    ),
    # melds (the card that a meld loses is one too many elsewhere, which is told as well)
    "a run in disorder": (of_meld(lambda d, m: swapped(m)), "sides[{side}].melds[*]"),
    "a run at another place": (
        of_meld(lambda d, m: m._replace(low_position=m.low_position + 1) if m.kind is RUN else None),
        "sides[{side}].melds[*]",
    ),
    "a run beyond the ace": (
        of_meld(lambda d, m: m._replace(low_position=2**32 - 1) if m.kind is RUN else None),
        "sides[{side}].melds[*]",
    ),
    "a run said to be a set": (
        of_meld(lambda d, m: m._replace(kind=SET, low_position=0) if m.kind is RUN else None),
        "sides[{side}].melds[*]",
    ),
    "a set said to be a run": (
        of_meld(lambda d, m: m._replace(kind=RUN, low_position=3) if m.kind is SET else None),
        "sides[{side}].melds[*]",
    ),
    "a set with a place": (
        of_meld(lambda d, m: m._replace(low_position=1) if m.kind is SET else None),
        "sides[{side}].melds[*]",
    ),
    "a set in disorder": (
        of_meld(lambda d, m: m._replace(cards=m.cards[::-1]) if m.kind is SET and not m.wild_index else None),
        "sides[{side}].melds[*]",
    ),
    "an acting natural": (
        of_meld(lambda d, m: m._replace(wild_index=1) if m.wild_index is None else None),
        "sides[{side}].melds[*]",
    ),
    "a wild that does not act": (
        of_meld(lambda d, m: m._replace(wild_index=None) if m.wild_index is not None else None),
        "sides[{side}].melds[*]",
    ),
    "another kind of buraco": (
        of_meld(lambda d, m: m._replace(buraco=BuracoKind.ROYAL) if m.buraco is not BuracoKind.ROYAL else None),
        "sides[{side}].melds[*]",
    ),
    "no buraco any more": (
        of_meld(lambda d, m: m._replace(buraco=BuracoKind.NONE) if m.buraco else None),
        "sides[{side}].melds[*]",
    ),
    "dirty without ever having been so": (
        of_meld(lambda d, m: None if m.stays_dirty else m._replace(stays_dirty=True)),
        "sides[{side}].melds[*]",
    ),
    "clean again": (
        of_meld(lambda d, m: m._replace(stays_dirty=False, buraco=BuracoKind.CLEAN) if m.stays_dirty else None),
        "sides[{side}].melds[*]",
    ),
    "a card of another suit and rank": (of_meld(without_rank(9)), "sides[{side}].melds[*]"),
    "two cards": (of_meld(lambda d, m: m._replace(cards=m.cards[:2], wild_index=None)), "sides[{side}].melds[*]"),
    "fifteen cards": (
        of_meld(lambda d, m: m._replace(cards=(m.cards * 5)[:15], wild_index=None)),
        "sides[{side}].melds[*]",
    ),
    "a second set of a rank": (
        when(
            lambda d: not d.rules.one_set_per_rank and has_twin_sets(d),
            rules=lambda d: replace(d.rules, id="house-rules", one_set_per_rank=True),
        ),
        "sides[{side}].melds[*]",
    ),
    # pots
    "a short pot": (
        when(lambda d: d.pots, pots=lambda d: (d.pots[0][1:], *d.pots[1:]), stock=lambda d: (d.pots[0][0], *d.stock)),
        "pots[0]",
    ),
    "a pot taken that is there": (
        of_side(lambda d, s: s._replace(pots_taken=s.pots_taken + 1) if d.pots else None),
        "pots",
    ),
    "a pot that nobody took": (
        when(
            lambda d: d.pots and d.rules.stock_end is StockEnd.AT_TWO,
            pots=lambda d: d.pots[1:],
            stock=lambda d: d.stock + d.pots[0],
        ),
        "pots",
    ),
    "three pots taken": (of_side(lambda d, s: s._replace(pots_taken=3)), "sides[{side}].pots_taken"),
    "a pot without a buraco": (
        when(
            lambda d: d.side.pots_taken and not any(meld.is_buraco for meld in d.side.melds),
            rules=lambda d: replace(d.rules, id="house-rules", pot_needs_buraco=True),
        ),
        "sides[{side}].pots_taken",
    ),
    "a pot of the other side": (
        of_side(lambda d, s: s._replace(unplayed_pots=((d.seat_to_move + 1) % d.seats,)) if s.pots_taken else None),
        "sides[{side}].unplayed_pots",
    ),
    "a pot twice": (
        of_side(lambda d, s: s._replace(unplayed_pots=(d.seat_to_move,) * 2) if s.pots_taken else None),
        "sides[{side}].unplayed_pots",
    ),
    "a pot not taken": (
        of_side(lambda d, s: None if s.pots_taken else s._replace(unplayed_pots=(d.seat_to_move,))),
        "sides[{side}].unplayed_pots",
    ),
    "a pot that left no cards": (
        of_side(
            lambda d, s: s._replace(unplayed_pots=(d.seat_to_move,)) if s.pots_taken and len(d.hand) < 11 else None
        ),
        "sides[{side}].unplayed_pots",
    ),
    # openings
    "a minimum that nothing asks for": (
        of_side(lambda d, s: None if binding(d) else s._replace(opening_required=75)),
        "sides[{side}].opening_required",
    ),
    "a penalty that nothing asks for": (
        of_side(lambda d, s: None if binding(d) else s._replace(opening_penalties=20)),
        "sides[{side}].opening_required",
    ),
    "half a penalty": (
        of_side(lambda d, s: s._replace(opening_penalties=30) if binding(d) else None),
        "sides[{side}].opening_penalties",
    ),
    "a minimum that does not rise": (
        of_side(lambda d, s: s._replace(opening_penalties=s.opening_penalties + 20) if s.opening_required else None),
        "sides[{side}].opening_required",
    ),
    "opened with nothing": (
        of_side(lambda d, s: s._replace(opening_required=0) if s.opening_required else None),
        "sides[{side}].opening_required",
    ),
    "not opened with enough": (
        of_side(lambda d, s: s._replace(opening_required=75) if binding(d) and not s.opening_required else None),
        "sides[{side}].opening_required",
    ),
    "an attempt that nobody makes": (
        of_turn(lambda d, t: t._replace(opening_attempt=True) if not t.opening_attempt else None),
        "turn.opening_attempt",
    ),
    "an attempt that is none": (
        of_turn(lambda d, t: t._replace(opening_attempt=False) if t.opening_attempt else None),
        "turn.opening_attempt",
    ),
    "melds before the opening": (
        of_turn(lambda d, t: t._replace(opening_attempt=False) if t.opening_attempt else None),
        "sides[{side}].melds",
    ),
    # turn and phase
    "turn 0": (of_turn(lambda d, t: t._replace(number=0)), "turn.number"),
    "a turn too late": (of_turn(lambda d, t: t._replace(number=1001)), "turn.number"),
    "another's turn": (of_turn(lambda d, t: t._replace(number=t.number + 1)), "seat_to_move"),
    "bound before the draw": (of_turn(lambda d, t: t._replace(locked_card=d.hand[0]), Phase.DRAW), "turn"),
    "bound after the end": (of_turn(lambda d, t: t._replace(opening_attempt=True), Phase.OVER), "turn"),
    "over without an ending": (when(in_phase(Phase.DRAW), phase=lambda d: Phase.OVER), "ending"),
    "ended but not over": (when(in_phase(Phase.MELD), ending=lambda d: Ending.STOCK), "ending"),
    "closed without a buraco": (
        when(
            lambda d: d.ending is Ending.STOCK and not any(meld.is_buraco for meld in d.side.melds),
            ending=lambda d: Ending.CLOSED,
        ),
        "ending",
    ),
    "out of stock with cards left": (
        when(lambda d: d.phase is Phase.OVER and len(d.stock) > 2, ending=lambda d: Ending.STOCK),
        "ending",
    ),
    "out of turns too early": (when(over(Ending.STOCK), ending=lambda d: Ending.MAX_TURNS), "ending"),
    "won by no 2s": (when(over(Ending.STOCK), ending=lambda d: Ending.TWOS_BURACO), "ending"),
    "closed with a card left": (
        when(
            lambda d: d.ending is Ending.CLOSED and d.stock,
            stock=lambda d: d.stock[1:],
            hands=lambda d: d.replace_hand(d.stock[:1]),
        ),
        "hands[{seat}]",
    ),
    "a draw from nothing": (
        when(in_phase(Phase.DRAW), stock=lambda d: (), pile=lambda d: d.stock + d.pile),
        "stock",
    ),
    "a draw from the last two": (
        when(
            lambda d: d.phase is Phase.DRAW and d.rules.stock_end is StockEnd.AT_TWO,
            stock=lambda d: d.stock[:2],
            pile=lambda d: d.stock[2:] + d.pile,
        ),
        "stock",
    ),
    "no discard before": (
        when(in_phase(Phase.DRAW, first=False), stock=lambda d: d.pile + d.stock, pile=lambda d: ()),
        "pile",
    ),
    "a discard too many": (
        when(in_phase(Phase.DRAW, first=True), stock=lambda d: d.stock[1:], pile=lambda d: (*d.pile, d.stock[0])),
        "pile",
    ),
    "nothing discarded at the end": (
        when(over(Ending.STOCK), hands=lambda d: d.replace_hand(tuple(sorted(d.hand + d.pile))), pile=lambda d: ()),
        "pile",
    ),
    # obligations
    "a lock on another's card": (
        of_turn(lambda d, t: None if t.locked_card or 9 in d.hand else t._replace(locked_card=9)),
        "turn.locked_card",
    ),
    "a lock beside a pile": (
        of_turn(lambda d, t: t._replace(locked_card=d.hand[0]) if d.pile else None),
        "turn.locked_card",
    ),
    "a lock where there is none": (
        when(
            lambda d: d.turn.locked_card and not d.turn.must_meld,
            rules=lambda d: replace(d.rules, id="house-rules", single_card_lock=False),
        ),
        "turn.locked_card",
    ),
    "no lock on a single card": (
        of_turn(lambda d, t: t._replace(locked_card=0) if t.must_meld and t.locked_card else None),
        "turn.locked_card",
    ),
    "an obligation in the open": (
        of_turn(lambda d, t: None if d.rules.closed_pile else t._replace(must_meld=d.hand[0])),
        "turn.must_meld",
    ),
    "an obligation elsewhere": (
        of_turn(lambda d, t: t._replace(must_meld=9) if t.must_meld and 9 not in d.hand else None),
        "turn.must_meld",
    ),
    "an obligation that cannot be met": (
        of_turn(lambda d, t: t._replace(must_meld=useless_card(d), locked_card=0) if useless_card(d) else None),
        "turn.must_meld",
    ),
    # what can be taken back
    "a step of no meld": (of_step(lambda d, s: s._replace(meld=36)), "turn.undo[{newest}]"),
    "a step of other cards": (
        of_step(lambda d, s: s._replace(cards=(*s.cards[:-1], s.cards[-1] % 52 + 1)) if s.cards else None),
        "turn.undo[{newest}]",
    ),
    "a step of too many cards": (of_step(lambda d, s: s._replace(cards=(5,) * 108)), "turn.undo[{newest}]"),
    "a step from nothing": (
        of_step(lambda d, s: s._replace(before=None) if s.before is not None else None),
        "turn.undo[{newest}]",
    ),
    "a step from itself": (
        of_step(lambda d, s: s._replace(before=d.side.melds[s.meld])),
        "turn.undo[{newest}]",
    ),
    "a step from what is no meld": (
        of_step(lambda d, s: s._replace(before=s.before._replace(low_position=2**32 - 1)) if s.before else None),
        "turn.undo[{newest}]",
    ),
    "a step with another lock": (
        of_step(lambda d, s: None if s.must_meld else s._replace(locked_card=unlike(s.cards))),
        "turn.undo[{newest}].locked_card",
    ),
    "a step with an obligation": (
        of_step(lambda d, s: None if d.rules.closed_pile else s._replace(must_meld=5)),
        "turn.undo[{newest}].must_meld",
    ),
    "a step from a pot that was not taken": (
        of_step(lambda d, s: None if d.side.pots_taken else s._replace(unplayed_pot=True)),
        "turn.undo[{newest}].unplayed_pot",
    ),
    "a step that left the pot alone": (
        when(
            lambda d: d.phase is Phase.MELD and d.turn.undo and d.turn.undo[-1].cards and d.side.pots_taken,
            sides=lambda d: d.replace_side(d.side._replace(unplayed_pots=(d.seat_to_move,))),
        ),
        "turn.undo[{newest}].unplayed_pot",
    ),
    "too many steps": (
        of_turn(lambda d, t: t._replace(undo=t.undo * (MAX_UNDO_STEPS + 1)) if t.undo else None),
        "turn.undo",
    ),
    "steps of an attempt": (
        of_turn(
            lambda d, t: (
                t._replace(undo=(UndoStep(0, None, (), 0, 0, unplayed_pot=False),)) if t.opening_attempt else None
            )
        ),
        "turn.undo",
    ),
}


def has_twin_sets(deal: Deal) -> bool:
    """Whether the side of the seat to move has two sets of a rank."""
    ranks = [(meld.natural - 1) % 13 for meld in deal.side.melds if meld.kind is SET]
    return len(set(ranks)) < len(ranks)


def useless_card(deal: Deal) -> int:
    """A card of the hand that cannot be melded under a closed pile; 0 where there is none."""
    if not deal.rules.closed_pile or not deal.pile or deal.turn.undo:
        return 0
    return next((c for c in deal.hand if not legal_moves(deal._replace(turn=Turn(deal.turn.number, 0, c)))), 0)


def unlike(cards: tuple[int, ...]) -> int:
    """A card that is not among these."""
    return next(card for card in range(1, 53) if card not in cards)


def matches(field: str, pattern: str, deal: Deal) -> bool:
    """Whether a problem is where it is looked for; `*` is any index."""
    wanted = pattern.format(seat=deal.seat_to_move, side=deal.seat_to_move & 1, newest=len(deal.turn.undo) - 1)
    start, _, end = wanted.partition("*")
    return field == wanted if "*" not in wanted else field.startswith(start) and field.endswith(end)


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_positions_are_found(name: str) -> None:
    """A position that was changed so that no play can reach it is found out, at the place that was changed."""
    mutate, pattern = UNSOUND[name]
    tried = 0
    for deal, _ in played(3):
        mutated = mutate(deal)
        if mutated is None:
            continue
        found = fields(mutated)
        assert any(matches(field, pattern, mutated) for field in found), (found, mutated)
        tried += 1
        if tried == 5:
            break
    assert tried


def test_all_problems_are_reported() -> None:
    """Everything that is wrong with a position is told at once."""
    deal = next(deal for deal, _ in played() if deal.turn.undo and deal.pots and len(deal.side.melds) > 1)
    number = deal.seat_to_move & 1
    first, second, *others = deal.side.melds
    side = deal.side._replace(
        melds=(first._replace(buraco=BuracoKind.ROYAL), second._replace(stays_dirty=True), *others), pots_taken=2
    )
    assert deal_problems(deal) == ()
    spoiled = deal._replace(stock=deal.stock[1:], sides=deal.replace_side(side), ending=Ending.STOCK)
    assert fields(spoiled) >= {
        "",
        f"sides[{number}].melds[0]",
        f"sides[{number}].melds[1]",
        "pots",
        "ending",
    }
    uncountable = spoiled._replace(match=Match(0, (0, 10**10), 7, -1), seat_to_move=-1, hands=())
    assert fields(uncountable) == {
        "match.deal_number",
        "match.scores[1]",
        "match.starter",
        "match.target_score",
        "seat_to_move",
        "hands",
    }


def test_cards_are_told_by_face() -> None:
    """What is missing and what is too many is told by face and number (R1.1)."""
    deal = position(CLASSIC, hand="7c 8d")
    stock = list(deal.stock)
    for card in (1, 1):
        stock[stock.index(card)] = JOKER
    assert deal_problems(deal._replace(stock=tuple(stock))) == (
        Problem("", "missing of the 108 cards (R1.1): As x2"),
        Problem("", "too many of the 108 cards (R1.1): Jo x2"),
    )


def test_matches_are_judged_alone() -> None:
    """A match can be judged before its deal is dealt."""
    assert match_problems(Match(2, (-300, 1200), 3, 2005), 4) == ()
    assert {problem.path for problem in match_problems(Match(0, (-(10**10), 0), 3, 10**7), 2)} == {
        "deal_number",
        "scores[0]",
        "starter",
        "target_score",
    }


def test_a_buraco_of_twos_ends_the_match() -> None:
    """Seven 2s are sound once the match is over, below the opening minimum too, and never before (R7.3)."""
    twos = "2s 2s 2h 2h 2d 2d 2c"
    running = position(INDIRECT, hand="7c 8d", melds=[twos])
    assert fields(running) == {"sides[0].melds"}
    deal = position(INDIRECT, hand=f"{twos} 7c 8d", scores=(1000, 0), required=75)
    assert deal_problems(deal) == ()
    won = play(deal, lay(twos))
    assert won.ending is Ending.TWOS_BURACO
    assert won.side.opening_required
    assert deal_problems(won) == ()


def test_a_dirty_buraco_may_come_home() -> None:
    """What stays dirty without an acting wild is sound where a 2 came to its place (R9.3)."""
    deal = play(position(INDIRECT, hand="3c 7d 8d", melds=["4c 5c 6c 7c 8c 9c 2c@10!"]), lay_off(0, "3c"))
    (meld,) = deal.side.melds
    assert (meld.stays_dirty, meld.wild_index) == (True, None)
    assert deal_problems(deal) == ()


# ---- what follows from soundness ---------------------------------------------------------------------


def shuffled(deal: Deal, rng: random.Random) -> Deal:
    """A position with some cards moved between hands, stock and pile: another position, or none that can be."""
    zones = [list(deal.stock), list(deal.pile), *(list(hand) for hand in deal.hands)]
    for _ in range(rng.randint(1, 8)):
        source, target = rng.sample(zones, 2)
        if source:
            target.append(source.pop(rng.randrange(len(source))))
    stock, pile, *hands = zones
    return deal._replace(stock=tuple(stock), pile=tuple(pile), hands=tuple(tuple(sorted(hand)) for hand in hands))


def positions_with_other_cards(rng: random.Random) -> Iterator[Deal]:
    """Sound positions with cards where play did not put them."""
    deals = [deal for deal, _ in played()]
    while True:
        deal = shuffled(rng.choice(deals), rng)
        if not deal_problems(deal):
            yield deal


def test_a_sound_position_stays_sound() -> None:
    """Whatever legal moves follow on a sound position, there is always one, and what they lead to is sound."""
    rng = random.Random(5)
    ended = 0
    for start in islice(positions_with_other_cards(rng), 150):
        deal = start
        for _ in range(12):
            if deal.phase is Phase.OVER:
                ended += 1
                break
            moves = legal_moves(deal)
            assert moves, deal
            deal, _ = apply(deal, rng.choice(moves))
            assert deal_problems(deal) == (), deal
    assert ended
