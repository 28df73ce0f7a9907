from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

import pytest
from click.testing import CliRunner

from buraco_bots.matches import (
    ContenderStatistics,
    PlayedMatch,
    Statistics,
    bot_random,
    master_seed,
    play_match,
    play_matches,
)
from buraco_bots.arena_command import arena
from buraco_bots.bot import BotFactory
from buraco_bots.greedy import GreedyBot
from buraco_bots.random_bot import RandomBot
from buraco_rules import PRESETS, PRESETS_BY_ID, Phase, RuleSet, score_deal, server_seed
from tests.rules.positions import CLASSIC

BOTS: list[BotFactory] = [GreedyBot, RandomBot]


def statistics(played: Iterable[tuple[PlayedMatch, bool]]) -> Statistics:
    """Return the statistics of matches."""
    result = Statistics()
    for match, swapped in played:
        result.add(match, swapped)
    return result


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_every_rule_set(rules: RuleSet, seats: int) -> None:
    """Both bots play nothing but legal moves, and so every deal to its end, in every rule set."""
    match = play_match(rules, [BOTS[seat // 2 % 2 if seats == 4 else seat] for seat in range(seats)], "legal", 0)
    (played,) = match.deals
    assert played.deal.phase is Phase.OVER
    assert played.moves > 20


def test_match_to_target() -> None:
    """A match goes on until a side has reached the target, and its scores are those of its deals."""
    match = play_match(CLASSIC, [GreedyBot, GreedyBot], "target", 2005)
    totals = [0, 0]
    for number, played in enumerate(match.deals, 1):
        assert played.deal.match.deal_number == number
        assert max(totals) < 2005
        for side, score in enumerate(score_deal(played.deal).sides):
            totals[side] += score.total
    assert max(totals) >= 2005
    assert match.scores == tuple(totals)
    assert match.winner == totals.index(max(totals))


def test_same_seed() -> None:
    """The same seed gives the same match, choices of the bots included; another seed gives another."""
    first, again, other = (play_match(CLASSIC, BOTS, seed, 1000) for seed in ("one", "one", "two"))
    assert first == again
    assert first != other


def test_seeds() -> None:
    """Deals are shuffled as at a table that was created with the SHA-256 of the seed's text."""
    master = master_seed("text")
    assert master == hashlib.sha256(b"text").digest()
    assert server_seed(master, 3) == hmac.new(master, b"\x00\x00\x00\x03", hashlib.sha256).digest()
    assert bot_random("text", 0).random() != bot_random("text", 1).random()


def test_sides_are_exchanged() -> None:
    """Every shuffle is played from both sides, so that good cards favour neither contender."""
    played = list(play_matches(CLASSIC, (RandomBot, RandomBot), 2, "pairs", 0, 4))
    assert [swapped for _, swapped in played] == [False, True, False, True]
    starters = [match.deals[0].deal.starter for match, _ in played]
    assert starters[0] == starters[1]
    assert starters[2] == starters[3]


def test_statistics() -> None:
    """Wins, points, buracos and closes are counted for the contender, whichever side it sat on."""
    matches = list(play_matches(CLASSIC, (GreedyBot, RandomBot), 2, "counted", 0, 6))
    result = statistics(matches)
    greedy, chance = result.contenders
    assert (result.matches, result.deals) == (6, 6)
    assert result.moves == sum(deal.moves for match, _ in matches for deal in match.deals)
    assert greedy.wins == sum(match.winner == (1 if swapped else 0) for match, swapped in matches)
    assert greedy.wins + chance.wins + result.draws == 6
    own = [score_deal(match.deals[0].deal).sides[1 if swapped else 0].total for match, swapped in matches]
    assert greedy.points == sum(own)
    melds = [meld for match, swapped in matches for meld in match.deals[0].deal.sides[1 if swapped else 0].melds]
    assert greedy.buracos.total() == sum(meld.is_buraco for meld in melds)
    assert 0 <= chance.closed <= 6 - greedy.closed


@pytest.mark.parametrize(
    ("wins", "draws", "matches", "low", "high"),
    [(8, 0, 10, 0.490, 0.943), (10, 0, 10, 0.722, 1.0), (0, 0, 10, 0.0, 0.278), (40, 20, 100, 0.404, 0.596)],
)
def test_confidence(wins: int, draws: int, matches: int, low: float, high: float) -> None:
    """The interval around a win rate is Wilson's, a draw counting half a win."""
    contenders = ContenderStatistics(wins), ContenderStatistics(matches - wins - draws)
    result = Statistics(matches, matches, 1, draws, contenders)
    assert result.confidence(0) == pytest.approx((low, high), abs=0.001)
    assert sum(result.win_rate(contender) for contender in (0, 1)) == pytest.approx(1.0)


def test_command() -> None:
    """`buraco arena` prints statistics of the two, the same for the same seed."""
    arguments = ["--bots", "random,random", "--matches", "4", "--target", "0", "--rule-set", "closed"]
    first, again = (CliRunner().invoke(arena, arguments) for _ in range(2))
    assert first.exit_code == 0
    assert "4 matches" in first.output
    assert first.output.splitlines()[:2] == again.output.splitlines()[:2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bots", "greedy"], "two bots are needed"),
        (["--bots", "greedy,clever"], "known are greedy, random"),
        (["--rule-set", "chess"], "buraco-plus-classic"),
    ],
)
def test_command_misused(arguments: list[str], message: str) -> None:
    """Bad usage is answered with what there is, and exit code 2."""
    result = CliRunner().invoke(arena, arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_greedy_beats_random() -> None:
    """Greedy wins at least 95 % of its matches to 1000 against random, over all rule sets."""
    results = [
        statistics(play_matches(rules, (GreedyBot, RandomBot), 2, "strength", 1000, 6))
        for rules in PRESETS_BY_ID.values()
    ]
    assert sum(result.win_rate(0) for result in results) / len(results) >= 0.95
    assert min(result.win_rate(0) for result in results) >= 0.8
