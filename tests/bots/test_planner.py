from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from buraco.v1 import event_pb2
from buraco_bots.greedy.waiting import cards_nearby, cards_that_fit
from buraco_bots.matches import play_deal, play_match
from buraco_bots.planner import PlannerBot
from buraco_bots.planner.melds import MeldWorth
from buraco_bots.planner.weights import TRAITS, Game, Weights, format_weights, read_coefficients, weights_for
from buraco_codec.events import event_bytes
from buraco_notation import format_cards, parse_cards, parse_position
from buraco_rules import (
    PRESETS,
    Deal,
    Discard,
    DrawStock,
    LayMeld,
    LayOff,
    Move,
    Phase,
    RuleSet,
    TakePile,
    View,
    apply,
    deal_first,
    legal_moves,
    view_of,
)
from buraco_rules.events import Discarded, Drew, Event, TookPile


def plan(text: str, *seen: Event) -> list[Move]:
    """What the planner plans in a position, after it has seen these events."""
    deal = parse_position(text, verify=False)
    bot = PlannerBot(Random(1))
    for event in seen:
        bot.observe(event_pb2.Event.FromString(event_bytes(event)))
    return list(bot.plan(view_of(deal, deal.seat_to_move), legal_moves(deal)))


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_every_plan_is_legal_in_every_rule_set(rules: RuleSet, seats: int) -> None:
    """Deals of at most 60 turns end without a fault: an illegal move of a plan would raise one."""
    short = replace(rules, id="short", max_turns=60)
    match = play_match(short, [PlannerBot] * seats, f"legal {rules.id}", 0)
    assert match.deals[-1].deal.phase is Phase.OVER


def test_same_seed_plays_the_same_match() -> None:
    """Nothing but seed, views and events decides, so a match can be played again."""
    first, again = (play_match(PRESETS[0], [PlannerBot] * 2, "again", 0) for _ in range(2))
    assert first.scores == again.scores
    assert first.deals[0].moves == again.deals[0].moves


def test_whole_turn_is_one_plan() -> None:
    """After the draw nothing hidden comes up, so the plan reaches to the discard."""
    moves = plan("rules: burraco | hand 0: 5h 6h 7h 8h Kd 3c Jd | pile: 4s | turn: seat 0 meld")
    assert isinstance(moves[0], LayMeld)
    assert isinstance(moves[-1], Discard)


def test_plan_ends_where_a_hidden_card_comes_up() -> None:
    """The pot is not known: what is played with it is planned when it is seen."""
    moves = plan("rules: burraco | hand 0: 5h 6h 7h | turn: seat 0 meld")
    assert [type(move) for move in moves] == [LayMeld]


def test_pile_that_makes_a_meld_is_taken_and_played() -> None:
    """A plan that takes an open pile goes on with its cards."""
    moves = plan("rules: burraco | hand 0: 5h 6h 8h Kd 3c | pile: 9h 4h 7h | turn: seat 0 draw")
    assert moves[0] == TakePile()
    assert isinstance(moves[0], TakePile)
    assert isinstance(moves[1], LayMeld)
    assert len(moves[1].cards) >= 5


def test_single_useless_card_is_left() -> None:
    """One card that fits nothing is no reason to give up an unknown one."""
    moves = plan("rules: burraco | hand 0: 5h 6h 8h Kd 3c | pile: Qs | turn: seat 0 draw")
    assert isinstance(moves[0], DrawStock)


def test_remembered_cards_of_a_closed_pile_count() -> None:
    """Whoever remembers that a closed pile is full of matching cards takes it, and no plan ends at its known cards."""
    text = "rules: closed | hand 0: 5h 6h Kd 3c | pile: 8h 9h Th Jh 7h | turn: seat 0 draw"
    seen = [Discarded(1, card) for card in parse_cards("8h 9h Th Jh 7h")]
    moves = plan(text, *seen)
    assert isinstance(moves[0], TakePile)
    laid = [card for move in moves if isinstance(move, (LayMeld, LayOff)) for card in move.cards]
    assert set(parse_cards("8h 9h Th Jh")) <= set(laid)


def test_card_that_the_next_player_needs_is_kept() -> None:
    """Of two cards without use the one that extends a meld of the opponents is not discarded."""
    moves = plan("rules: burraco | hand 0: 7h Kd | melds 1: 4h 5h 6h | turn: seat 0 meld")
    assert moves[-1] == Discard(*parse_cards("Kd"))


def test_rule_sets_are_known_by_their_options() -> None:
    """A rule set of another name with the same options is played alike."""
    rules = PRESETS[0]
    renamed = replace(rules, id="house-rules", display_name="House")
    first, second = (play_match(like, [PlannerBot] * 2, "name", 0) for like in (rules, renamed))
    assert first.scores == second.scores


def test_weights_depend_on_options_and_seats() -> None:
    """A coefficient counts where the game has its trait."""
    coefficients = {name: [float(2**place) for place in range(len(TRAITS))] for name in Weights._fields}
    rules = next(rules for rules in PRESETS if rules.closed_pile and rules.sets and rules.close_needs_clean)
    duel = Game(rules, seats=2, is_one_deal=False)
    assert [name for name, trait in TRAITS.items() if trait(duel)] == ["always", "closed_pile", "sets", "hard_close"]
    assert set(weights_for(coefficients, duel)) == {1.0 + 2.0 + 4.0 + 8.0}
    assert set(weights_for(coefficients, Game(rules, 4, is_one_deal=True))) == {1.0 + 2.0 + 4.0 + 8.0 + 64.0 + 128.0}


def test_weights_can_be_read_back(tmp_path: Path) -> None:
    """What is written is what plays."""
    coefficients = read_coefficients()
    path = tmp_path / "weights.json"
    path.write_text(format_weights(coefficients, {"seed": "x"}), encoding="utf-8")
    assert read_coefficients(str(path)) == coefficients


@pytest.mark.parametrize("text", ["{}", "[]", '{"traits": []}', "no JSON"])
def test_file_that_holds_no_weights_is_refused(tmp_path: Path, text: str) -> None:
    """A wrong file raises ValueError before the first move."""
    path = tmp_path / "wrong.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"wrong\.json"):
        PlannerBot(Random(1), weights=str(path))


def meld(text: str) -> tuple[Deal, MeldWorth]:
    """A deal with one meld of side 0, and what values it."""
    deal = parse_position(f"rules: open | hand 0: Kd 3c | melds 0: {text} | turn: seat 0 meld")
    return deal, MeldWorth(deal.rules, weights_for(read_coefficients(), Game(deal.rules, 2, is_one_deal=False)))


@pytest.mark.parametrize(
    ("text", "fits", "nearby"),
    [
        ("4h 5h 6h", "3h 7h", "2h 8h"),
        ("Ah 2h 3h", "4h", "5h"),
        ("Qh Kh Ah", "Jh", "Th"),
        ("4h [2s] 6h", "3h 5h 7h", "2h 8h"),
    ],
)
def test_cards_that_a_run_waits_for(text: str, fits: str, nearby: str) -> None:
    """A run waits for the cards at its ends and the one its wild stands for; two places away is near."""
    deal, _ = meld(text)
    assert format_cards(sorted(cards_that_fit(deal.side.melds[0]))) == fits
    assert format_cards(sorted(cards_nearby(deal.side.melds[0]))) == nearby


def test_longer_melds_are_worth_more() -> None:
    """Each natural card adds to a run, most of all the one that makes it a buraco."""
    runs = ["4h 5h 6h", "4h 5h 6h 7h", "4h 5h 6h 7h 8h", "4h 5h 6h 7h 8h 9h", "4h 5h 6h 7h 8h 9h Th"]
    worths = [worth.of(deal.side.melds[0]) for deal, worth in map(meld, runs)]
    assert worths == sorted(worths)
    assert worths[-1] >= 245.0  # the cards 4 to 10, and a clean buraco, which may grow to a royal


def test_planner_plays_on_without_events() -> None:
    """Joining in the middle of a deal, or seeing nothing at all, is no fault."""
    deal, _ = deal_first(next(rules for rules in PRESETS if rules.closed_pile), 2, bytes(32))
    for _ in range(8):
        deal, _ = apply(deal, legal_moves(deal)[-1])

    class Blind:
        def __init__(self) -> None:
            self.planner = PlannerBot(Random(1))

        def choose(self, view: View, moves: Sequence[Move]) -> Move:
            return self.planner.choose(view, moves)

    assert play_deal(deal, [Blind(), Blind()]).deal.phase is Phase.OVER


def waiting(own: int, other: int, *events: Event) -> Move:
    """What the planner draws after these events, with these scores of the match and a useless card in the pile."""
    deal = parse_position(
        f"rules: open | match: scores {own} {other} target 2000 | hand 0: 8c 9c | hand 1: 4s 5h | pile: Qh"
        " | turn: seat 0 draw",
        verify=False,
    )
    bot = PlannerBot.with_weights(Random(1), weights_that_fear_to_leave_a_pile(deal.rules))
    for event in events:
        bot.observe(event_pb2.Event.FromString(event_bytes(event)))
    return bot.choose(view_of(deal, 0), legal_moves(deal))


def weights_that_fear_to_leave_a_pile(rules: RuleSet) -> Weights:
    """By these weights every pile is taken."""
    return weights_for(read_coefficients(), Game(rules, 2, is_one_deal=False))._replace(pile_left=1000.0)


SWAPS: list[Event] = [event for _ in range(4) for event in (TookPile(1, (25,), 1), Discarded(1, 25))]
"""Two rounds in which everybody takes the single card of the pile."""


@pytest.mark.parametrize(
    ("own", "other", "events", "move"),
    [
        (100, 200, SWAPS, DrawStock),
        (100, 100, SWAPS, DrawStock),
        (200, 100, SWAPS, TakePile),  # who leads may wait
        (100, 200, SWAPS[:6], TakePile),  # too early
        (100, 200, [*SWAPS, Drew(1, 25, 50)], TakePile),  # the deal has gone on
    ],
)
def test_ends_a_standstill(own: int, other: int, events: list[Event], move: type[Move]) -> None:
    """When all seats only swap cards with the pile, a side that does not lead draws from the stock."""
    assert isinstance(waiting(own, other, *events), move)
