from __future__ import annotations

import json

import pytest

from buraco_bots.arena.figures import PairFigures, ThinkTime, forfeited
from buraco_bots.arena.pairs import PairTask, play_pair
from buraco_bots.arena.schedule import pairings, schedule
from buraco_bots.arena.standings import Pairing, pairings_of
from buraco_bots.arena.statistics import Interval
from buraco_bots.bot import BotFactory
from buraco_bots.greedy import GreedyBot
from buraco_bots.matches import play_match
from buraco_bots.random_bot import RandomBot
from buraco_rules import PRESETS_BY_ID, Ending, score_deal

ODD = "tests.bots.odd_bots"


class Ignored:
    """A watch that nobody looks at."""

    def begin(self, place: int) -> None:
        pass

    def end(self) -> None:
        pass


def task(first: str, second: str, number: int = 0, **changes: object) -> PairTask:
    """A pair of single deals."""
    values = {
        "rule_set": "buraco-plus-classic",
        "seats": 2,
        "target": 0,
        "seed": "pairs",
        "number": number,
        "thinking_limit": 60.0,
    }
    return PairTask(first, second, **(values | changes))  # type: ignore[arg-type]


def played(first: str, second: str, number: int = 0, **changes: object) -> PairFigures:
    """Such a pair, played in this process."""
    return play_pair(task(first, second, number, **changes), Ignored())


@pytest.mark.parametrize("seats", [2, 4])
def test_sides_are_exchanged(seats: int) -> None:
    """The second match has the cards of the first, and the figures are those of the contender on whichever side."""
    pair = played("greedy", "random", seats=seats)
    rules = PRESETS_BY_ID["buraco-plus-classic"]
    contenders: list[BotFactory] = [GreedyBot, RandomBot]
    for match, bots in enumerate([contenders, contenders[::-1]]):
        expected = play_match(rules, bots * (seats // 2), "pairs/0", 0)
        figures = pair.matches[match]
        (deal,) = figures.deals
        end = expected.deals[0].deal
        scores = score_deal(end).sides
        assert figures.result == (0.5 if expected.winner is None else float(expected.winner == match))
        assert figures.points == deal.points == (scores[match].total, scores[1 - match].total)
        assert (deal.turns, deal.moves) == (end.turn.number, expected.deals[0].moves)
        assert (deal.closed_by is None) == (end.ending is not Ending.CLOSED)
        own = [meld.buraco for meld in end.sides[match].melds if meld.buraco]
        assert sum([counts[0] for counts in deal.buracos.values()]) == len(own)
        assert figures.think[0].choices + figures.think[1].choices == deal.moves
    assert pair.score == sum([match.result for match in pair.matches])


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", ["buraco-plus-classic", "closed", "burraco"])
def test_deterministic_equals(rules: str, seats: int) -> None:
    """Two equal bots play both matches of a pair alike, which shows 50 % without width, whatever the cards."""
    pairs = tuple([played("greedy", "greedy", number, rule_set=rules, seats=seats) for number in range(3)])
    assert all([pair.is_mirrored for pair in pairs])
    pairing = Pairing("greedy", "greedy", pairs)
    assert pairing.scores == [1.0] * 3
    assert pairing.rate == Interval(0.5, 0.5, 0.5)
    assert pairing.difference == Interval(0, 0, 0)
    assert pairing.verdict == "equal"


def test_different_bots_are_not_equal() -> None:
    """A pair of which each contender won one match proves no equality."""
    pairs = [played(f"{ODD}:Last", f"{ODD}:Last?skip=1", number) for number in range(6)]
    assert not any(pair.is_mirrored for pair in pairs)
    even = [pair for pair in pairs if pair.score == 1]
    if even:
        assert Pairing("a", "b", tuple(even)).verdict == "inconclusive"


def test_matches_to_a_target() -> None:
    """A match to a target is one result, whose points are those of its deals."""
    pair = played("greedy", "random", target=1000)
    for match in pair.matches:
        assert len(match.deals) > 1
        assert match.points == tuple([sum([deal.points[place] for deal in match.deals]) for place in (0, 1)])
        assert max(match.points) >= 1000
        assert all([len(deal.leads) == 11 for deal in match.deals])


def test_lead_is_the_first_contenders() -> None:
    """The lead in the course of a deal is that of the first contender, in both matches."""
    pair = played("greedy", "random")
    assert all(match.deals[0].leads[-1] > 100 for match in pair.matches)
    assert all(match.deals[0].leads[0] == 0 for match in pair.matches)


@pytest.mark.parametrize(
    ("bot", "kind", "message"),
    [
        ("Raises", "error", "Raises failed: RuntimeError: out of ideas"),
        ("Unmade", "error", "could not be made: RuntimeError: no book"),
        ("Cheats", "illegal", "Cheats chose Discard(card=99), which is no legal move"),
        ("CheatsLater", "illegal", "CheatsLater planned Discard(card=53)"),
        ("Slow", "late", "Slow took "),
        ("SlowToMake", "late", "SlowToMake took "),
    ],
)
def test_forfeits(bot: str, kind: str, message: str) -> None:
    """A fault of any kind loses the match at once, on whichever side, and the fault is kept."""
    for place, names in enumerate([(f"{ODD}:{bot}", "random"), ("random", f"{ODD}:{bot}")]):
        pair = played(*names, thinking_limit=0.9)
        assert pair.score == 2 * place
        assert pair.difference is None
        assert not pair.is_mirrored
        for match in pair.matches:
            assert (match.result, match.points, match.deals) == (float(place), (0, 0), ())
            assert match.forfeit is not None
            assert (match.forfeit.by, match.forfeit.kind) == (place, kind)
            assert message in match.forfeit.detail
        pairing = Pairing(*names, (pair,))
        assert pairing.forfeits(place) == {kind: 2}
        assert pairing.forfeits(1 - place) == {}


@pytest.mark.parametrize("pair", [played("greedy", "random"), played("random", f"{ODD}:Raises")])
def test_json(pair: PairFigures) -> None:
    """A pair comes back from JSON as it was."""
    assert PairFigures.from_json(json.loads(json.dumps(pair.to_json()))) == pair


def test_think_time() -> None:
    """The time of choices is theirs alone, and that of both matches together."""
    lost = forfeited(0, "late", "a was late", (ThinkTime(2, 3.0, 2.5), ThinkTime(1, 0.5, 0.5)))
    pairing = Pairing("a", "b", (PairFigures("a", "b", 0, (lost, lost)),))
    assert pairing.think_time(0) == (1.5, 2.5)
    assert pairing.think_time(1) == (0.5, 0.5)
    assert pairing.buracos(0) == {}


def test_pairings() -> None:
    """Everybody plays everybody, or the first one each of the others; finished pairs are grouped like that."""
    assert pairings(["a", "b", "c"], "round-robin") == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairings(["a", "b", "c"], "gauntlet") == [("a", "b"), ("a", "c")]
    assert list(schedule([("a", "b"), ("a", "c")], 2)) == [("a", "b", 0), ("a", "c", 0), ("a", "b", 1), ("a", "c", 1)]
    lost = forfeited(0, "late", "")
    pairs = [PairFigures("a", second, number, (lost, lost)) for second, number in [("c", 1), ("b", 0), ("c", 0)]]
    found = pairings_of(pairs, [("a", "b"), ("a", "c"), ("b", "c")])
    assert [(one.second, [pair.number for pair in one.pairs]) for one in found] == [("b", [0]), ("c", [0, 1])]
