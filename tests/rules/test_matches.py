"""Whole matches as a state machine: Hypothesis looks for the fewest moves that break what must always hold."""

import random
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import Phase as SearchPhase
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from buraco_notation import format_position, format_record, parse_position, parse_record
from buraco_rules import (
    MAX_UNDO_STEPS,
    PRESETS,
    Deal,
    DealRecord,
    Ending,
    IllegalMove,
    LayMeld,
    LayOff,
    Match,
    MatchRecord,
    MatchResult,
    Move,
    MoveWild,
    Phase,
    RuleSet,
    Violation,
    apply,
    deal_match,
    legal_moves,
    match_result,
    next_match,
    record_deal,
    replay_deal,
    score_deal,
    undo,
    view_of,
)
from buraco_rules.cards import JOKER, deck
from tests.rules.house_rules import house_rules
from tests.rules.positions import all_cards, play, reasons
from tests.rules.redealing import redealt
from tests.rules.renaming import rename_deal, rename_move, renaming, unchanged
from tests.rules.strange_moves import mutated
from tests.rules.test_playouts import check_end, check_step, choose

SEEDS = st.binary(min_size=32, max_size=32)
MATCHES = st.builds(
    Match,
    deal_number=st.integers(1, 3),
    scores=st.tuples(st.sampled_from((0, -300, 1200)), st.sampled_from((0, 990, 1500))),
    starter=st.sampled_from((0, 1)),
    target_score=st.sampled_from((2005, 0)),
)
MUST_BE_MET = {"a play that can be taken back", "a refusal", "the end of a deal"}


def _as_left_by(deal: Deal, before: Deal, *, newest: int = 1) -> Deal:
    """Return the deal before the newest plays without what the deal has forgotten: of a long turn the oldest steps."""
    kept = deal.turn.undo[: len(deal.turn.undo) - newest]
    assert before.turn.undo[len(before.turn.undo) - len(kept) :] == kept
    return before._replace(turn=before.turn._replace(undo=kept))


class MatchMachine(RuleBasedStateMachine):
    """A match under one rule set, or under house rules; `met` counts what happened."""

    def __init__(self, rules: RuleSet | None, met: Counter[str]) -> None:
        super().__init__()
        self._preset = rules
        self._met = met
        self._ended: list[DealRecord] = []

    @initialize(
        house=house_rules(), seats=st.sampled_from((2, 4)), seed=SEEDS, match=MATCHES, suits=st.permutations(range(4))
    )
    def begin(self, house: RuleSet, seats: int, seed: bytes, match: Match, suits: list[int]) -> None:
        """The first deal."""
        self._rules = self._preset or house
        self._seats = seats
        self._rename = renaming(suits)
        self._cards = sorted(deck(self._rules.jokers))
        self._deal_out(seed, match)

    def _deal_out(self, seed: bytes, match: Match) -> None:
        self._seed = seed
        self._dealt, event = deal_match(self._rules, self._seats, seed, match)
        assert deal_match(self._rules, self._seats, seed, match) == (self._dealt, event)
        self._moves: list[Move] = []
        self._turn: list[Deal] = []
        self._reach(self._dealt)

    def _reach(self, deal: Deal) -> None:
        self._deal = deal
        self._listed = legal_moves(deal)

    def _made(self, move: Move, after: Deal) -> None:
        check_step(self._deal, move, after)
        if after.turn.undo and after.turn.undo[:-1] == self._deal.turn.undo[-MAX_UNDO_STEPS + 1 :]:
            self._turn.append(self._deal)
            assert undo(after)[0] == _as_left_by(after, self._deal)
            self._met["a play that can be taken back"] += 1
        elif not after.turn.undo:
            self._turn.clear()
        self._moves.append(move)
        self._reach(after)

    # ---- what may be done ----------------------------------------------------------------------------

    @precondition(lambda self: self._deal.phase is not Phase.OVER)
    @rule(data=st.data(), lays=st.booleans(), order=st.randoms(use_true_random=False))
    def move(self, data: st.DataObject, lays: bool, order: random.Random) -> None:
        """R5.4: a legal move leads to one state, in whatever order it names its cards."""
        deal = self._deal
        plays = [move for move in self._listed if isinstance(move, LayMeld | LayOff | MoveWild)]
        move = data.draw(st.sampled_from(plays if plays and lays else self._listed))
        after, events = apply(deal, move)
        assert apply(deal, move) == (after, events)
        if isinstance(move, LayMeld | LayOff):
            assert apply(parse_position(format_position(deal)), move) == (after, events)
            cards = tuple(order.sample(move.cards, len(move.cards)))
            assert play(deal, replace(move, cards=cards)) == after
            free = replace(move, wild_position=None)
            assert play(deal, replace(free, cards=cards)) == play(deal, free)
        twin = play(rename_deal(self._rename, deal), rename_move(self._rename, move))
        assert rename_deal(unchanged, twin) == rename_deal(self._rename, after)
        self._made(move, after)

    @precondition(lambda self: self._deal.phase is not Phase.OVER)
    @rule(seed=st.integers(0, 2**32 - 1), moves=st.integers(1, 150), eager=st.sampled_from((0.2, 0.6, 0.95)))
    def play_on(self, seed: int, moves: int, eager: float) -> None:
        """R3.6: there is always a move, however long play goes on."""
        chance = random.Random(seed)
        for _ in range(moves):
            move = choose(self._listed, chance, eager)
            self._made(move, play(self._deal, move))
            if self._deal.phase is Phase.OVER:
                break

    @precondition(lambda self: self._listed)
    @rule(data=st.data(), chance=st.randoms(use_true_random=False))
    def try_strange_moves(self, data: st.DataObject, chance: random.Random) -> None:
        """R3.1, R4.6: what is not listed is refused, for the same reasons in any suits and order; the deal stays."""
        deal, text = self._deal, format_position(self._deal)
        reached = {play(deal, move) for move in self._listed}
        for near in data.draw(st.lists(st.sampled_from(self._listed), min_size=1, max_size=4)):
            move = mutated(deal, near, chance)
            refused = reasons(deal, move)
            if not refused:
                assert play(deal, move) in reached
            assert set(refused) <= set(Violation)
            if isinstance(move, LayMeld | LayOff):
                cards = tuple(chance.sample(move.cards, len(move.cards)))
                assert reasons(deal, replace(move, cards=cards)) == refused
            if all(0 < card <= JOKER for card in getattr(move, "cards", ())):
                assert reasons(rename_deal(self._rename, deal), rename_move(self._rename, move)) == refused
            self._met["a refusal"] += bool(refused)
        assert format_position(deal) == text

    @precondition(lambda self: self._deal.phase is Phase.MELD)
    @rule()
    def lay_one_card_more(self) -> None:
        """R5.1: a card laid off, or one more laid with a listed play, leads to a listed state or is refused."""
        reached = {play(self._deal, move) for move in self._listed}
        lays = {replace(move, wild_position=None) for move in self._listed if isinstance(move, LayMeld | LayOff)}
        lays |= {LayOff(meld, ()) for meld in range(len(self._deal.side.melds))}
        for move, card in product(lays, set(self._deal.hand)):
            more = replace(move, cards=(*move.cards, card))
            assert reasons(self._deal, more) or play(self._deal, more) in reached

    @precondition(lambda self: self._deal.turn.undo)
    @rule()
    def take_back(self) -> None:
        """R11.4: what is taken back leaves the very state before it."""
        restored, _ = undo(self._deal)
        assert restored == _as_left_by(self._deal, self._turn.pop())
        self._moves.pop()
        self._reach(restored)

    @precondition(lambda self: not self._deal.turn.undo)
    @rule()
    def take_back_nothing(self) -> None:
        """R11.4: what reveals hidden cards, a draw and an attempt are never taken back."""
        with pytest.raises(IllegalMove) as refusal:
            undo(self._deal)
        over = self._deal.phase is Phase.OVER
        assert refusal.value.violations == (Violation.DEAL_OVER if over else Violation.NOTHING_TO_UNDO,)

    @precondition(lambda self: self._deal.phase is Phase.OVER)
    @rule(seed=SEEDS)
    def next_deal(self, seed: bytes) -> None:
        """R10: the scores go on from deal to deal until a side has reached the target."""
        deal, result = self._deal, match_result(self._deal)
        check_end(deal)
        self._met["the end of a deal"] += 1
        match = next_match(deal)
        totals = [score.total for score in score_deal(deal).sides]
        assert match.scores == tuple([old + new for old, new in zip(deal.match.scores, totals, strict=True)])
        self._check_result(deal, match, result)
        if result is not None:
            match = Match(starter=match.starter, target_score=match.target_score)
            self._check_record()
            self._ended.clear()
        else:
            self._ended.append(record_deal(self._dealt, self._seed, self._moves))
        self._deal_out(seed, match)

    def _check_result(self, deal: Deal, match: Match, result: MatchResult | None) -> None:
        target = deal.match.target_score
        if deal.ending is Ending.TWOS_BURACO:
            assert result == (deal.seat_to_move & 1, match.scores)
        else:
            assert (result is None) is (target > 0 and max(match.scores) < target)
            if result is not None and result.winner is not None and match.scores[0] != match.scores[1]:
                assert match.scores[result.winner] == max(match.scores)

    # ---- what always holds -----------------------------------------------------------------------------

    @invariant()
    def no_card_is_lost(self) -> None:
        """R1.1: all 104 or 108 cards are somewhere."""
        assert all_cards(self._deal) == self._cards

    @invariant()
    def listed_moves_are_accepted(self) -> None:
        """R3.6: there is a move until the deal is over; every listed one leads to a state of its own."""
        assert bool(self._listed) is (self._deal.phase is not Phase.OVER)
        assert len({play(self._deal, move) for move in self._listed}) == len(self._listed)

    @invariant()
    def text_stands_for_the_position(self) -> None:
        """A position comes back from its text, and is sound there."""
        assert parse_position(format_position(self._deal)) == self._deal

    @invariant()
    def score_is_the_sum_of_its_lines(self) -> None:
        """R9.1: at any time a side's score is the sum of its lines."""
        for old, score in zip(self._deal.match.scores, score_deal(self._deal).sides, strict=True):
            assert score.total == sum([line.points for line in score.lines])
            assert score.match_total == old + score.total

    @invariant()
    def views_show_nothing_hidden(self) -> None:
        """R3.4: however the cards that a seat cannot see lie, it sees the same, and may do the same."""
        chance = random.Random(len(self._moves))
        for seat in (None, *range(self._seats)):
            other = redealt(self._deal, seat, chance)
            assert view_of(other, seat) == view_of(self._deal, seat)
            assert seat != self._deal.seat_to_move or legal_moves(other) == self._listed

    @invariant()
    def suits_are_names(self) -> None:
        """R4: with suits exchanged the same may be done, and it counts the same."""
        twin = rename_deal(self._rename, self._deal)
        there = {rename_move(self._rename, move) for move in self._listed}
        assert there == {rename_move(unchanged, move) for move in legal_moves(twin)}
        score = score_deal(self._deal)
        sides = [sheet._replace(melds=side.melds) for sheet, side in zip(score.sides, twin.sides, strict=True)]
        assert score_deal(twin) == (tuple(sides), score.final)

    def teardown(self) -> None:
        """What was recorded replays to the same bytes."""
        if hasattr(self, "_deal"):
            self._check_record()

    def _check_record(self) -> None:
        # After a long turn that was taken back, the deal has forgotten steps that a replay still knows.
        assert _as_left_by(self._deal, play(self._dealt, *self._moves), newest=0) == self._deal
        deals = list(self._ended)
        if self._deal.phase is Phase.OVER:
            deals.append(record_deal(self._dealt, self._seed, self._moves))
        if not deals:
            return
        match = self._dealt.match
        record = MatchRecord(self._rules, self._seats, match.target_score, match.starter, tuple(deals))
        text = format_record(record)
        assert parse_record(text) == record
        assert format_record(parse_record(text)) == text
        if self._deal.phase is Phase.OVER:
            *_, last = replay_deal(record, deals[-1])
            assert format_position(last.after) == format_position(self._deal)


def check_matches(rules: RuleSet | None, **deeper: Any) -> None:
    """Let Hypothesis look for a match that breaks something; see that enough happened on the way."""
    met: Counter[str] = Counter()
    profile = settings(phases=(SearchPhase.generate, SearchPhase.shrink), report_multiple_bugs=False, **deeper)
    run_state_machine_as_test(
        lambda: MatchMachine(rules, met),  # type: ignore[arg-type]  # asks for a class, and takes what makes machines
        settings=profile,
    )
    assert all(met[event] for event in MUST_BE_MET), met


EVERY_GAME = pytest.mark.parametrize("rules", [*PRESETS, None], ids=lambda rules: rules.id if rules else "house-rules")


@EVERY_GAME
@pytest.mark.timeout(600)  # what fails is made small for five minutes at most
def test_matches(rules: RuleSet | None) -> None:
    """In matches of every rule set, and of house rules, whatever is done leaves true what must always hold."""
    check_matches(rules, max_examples=10, stateful_step_count=30)


def test_long_turn() -> None:
    """R11.4: of a turn with more plays than are kept the newest can be taken back, each to the state before it."""
    deal = parse_position("rules: burraco | hand 0: 3h Kd Qd | melds 0: 4h 5h 6h [2s] | turn: seat 0 meld")
    machine = MatchMachine(deal.rules, Counter())
    machine._seats, machine._dealt, machine._moves, machine._turn, machine._ended = 2, deal, [], [], []
    machine._reach(deal)
    for _ in range(MAX_UNDO_STEPS + 3):
        move = next(move for move in machine._listed if isinstance(move, MoveWild))
        machine._made(move, play(machine._deal, move))
    for _ in range(MAX_UNDO_STEPS):
        machine.take_back()
        assert play(deal, *machine._moves)._replace(turn=machine._deal.turn) == machine._deal
    assert len(machine._moves) == 3
    machine.take_back_nothing()


@pytest.mark.slow
@EVERY_GAME
def test_matches_at_length(rules: RuleSet | None) -> None:
    """The same for many more matches, others every time: what fails is printed so that it can be repeated."""
    check_matches(rules, max_examples=150, stateful_step_count=50, derandomize=False, print_blob=True)
