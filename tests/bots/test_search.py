from __future__ import annotations

from random import Random

import pytest

from buraco_bots.greedy import GreedyBot
from buraco_bots.matches import play_match
from buraco_bots.registry import load_factory
from buraco_bots.search.cheater import CheaterBot
from buraco_bots.search.player import SearchBot
from buraco_bots.search.policy import Policy, ask_policy
from buraco_notation import format_move, parse_position
from buraco_rules import PRESETS_BY_ID, Deal, Phase, apply, deal_first, legal_moves, view_of

QUICK = "search?iterations=8&turns=1"


def planned(deal: Deal, **limits: float) -> list[str]:
    """The turn that a search bot plans, as text."""
    moves = legal_moves(deal)
    view = view_of(deal, deal.seat_to_move, moves)
    return [*map(format_move, SearchBot(Random(1), **limits).plan(view, moves))]  # type: ignore[arg-type]


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", ["open", "closed", "burraco", "professional-direct"])
def test_whole_deals(rules: str, seats: int) -> None:
    """Search plays deals of different rule sets to their end, alone and with a partner, with legal moves only."""
    factories = [load_factory(bot) for bot in (QUICK, "random")] * (seats // 2)
    match = play_match(PRESETS_BY_ID[rules], factories, "whole", 0)
    assert match.deals[0].deal.phase is Phase.OVER


def test_iterations_are_reproducible() -> None:
    """With a number of rollouts in place of time the same seed gives the same match."""
    factories = [load_factory(QUICK), GreedyBot]
    first, again = (play_match(PRESETS_BY_ID["burraco"], factories, "again", 0) for _ in range(2))
    assert first == again


def test_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice begins no rollout after its time is over: with a clock that ticks at every look it ends."""
    looks = []

    def clock() -> float:
        looks.append(0)
        return len(looks) / 1000

    monkeypatch.setattr("buraco_bots.search.player.time.perf_counter", clock)
    deal = parse_position("rules: burraco | hand 0: 3h 4h 9c Kd | pile: 5h | turn: seat 0 draw", verify=False)
    planned(deal, milliseconds=20, turns=1)
    assert 20 <= len(looks) <= 22


def test_departs_from_its_policy_on_evidence_alone() -> None:
    """In the course of a deal rollouts find better turns now and then; without time for any it plays as its policy."""
    deal, _ = deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32), starter=0)
    departures = 0
    while deal.phase is not Phase.OVER and deal.turn.number < 25:
        moves = legal_moves(deal)
        view = view_of(deal, deal.seat_to_move, moves)
        own = [*map(format_move, ask_policy(Policy(Random(1)), view, moves))]
        assert planned(deal, milliseconds=0)[0] == own[0]
        departures += planned(deal, iterations=60, turns=2)[0] != own[0]
        deal, _ = apply(deal, ask_policy(Policy(Random(1)), view, moves)[0])
    assert departures


@pytest.mark.parametrize(("rules", "tries"), [("burraco", True), ("closed", True), ("open", False)])
def test_tries_nothing_where_estimates_are_poor(rules: str, tries: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two seats, an open pile and a hard close it plays as its policy does, without a rollout."""
    raced: list[int] = []

    def race(choices: int, *limits: object) -> int:
        raced.append(choices)
        return 0

    monkeypatch.setattr("buraco_bots.search.player.race", race)
    deal = parse_position(f"rules: {rules} | hand 0: 3h 4h 9c Kd | pile: 5h | turn: seat 0 draw", verify=False)
    moves = legal_moves(deal)
    own = Policy(Random(1)).choose(view_of(deal, 0, moves), moves)
    assert planned(deal)[0] == format_move(own)
    assert bool(raced) == tries


def test_cheater_sees_all_cards() -> None:
    """The cheater wins deals against a bot of its own policy because it is shown the cards."""
    factories = [load_factory("cheater?candidates=6&turns=12"), GreedyBot]
    assert CheaterBot.sees_all
    leads = []
    for seed in ("one", "two", "three"):
        scores = play_match(PRESETS_BY_ID["burraco"], factories, seed, 0).scores
        leads.append(scores[0] - scores[1])
    assert sum(leads) > 300


def test_cheater_without_cards() -> None:
    """Where the cheater is not shown the cards it plays nothing, and says where it can play."""
    deal = parse_position("rules: burraco | pile: 3h | turn: seat 0 draw", verify=False)
    with pytest.raises(ValueError, match="only in an arena without --server"):
        CheaterBot(Random(1)).choose(view_of(deal, 0), legal_moves(deal))


def test_cards_are_shown_to_who_sees_all_only() -> None:
    """A bot gets the deal only if its class states that it sees all."""
    shown: list[bool] = []

    class Blind(GreedyBot):
        true_deal: Deal | None = None

        def choose(self, view, moves):  # type: ignore[no-untyped-def]
            shown.append(self.true_deal is not None)
            return super().choose(view, moves)

    class Seeing(Blind):
        sees_all = True

    play_match(PRESETS_BY_ID["burraco"], [Blind, Blind], "shown", 0)
    assert not any(shown)
    shown.clear()
    play_match(PRESETS_BY_ID["burraco"], [Seeing, Seeing], "shown", 0)
    assert all(shown)
