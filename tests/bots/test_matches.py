from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from random import Random

import pytest

from buraco.v1 import event_pb2
from buraco_bots.bot import BotFactory, BotFault
from buraco_bots.greedy import GreedyBot
from buraco_bots.matches import bot_random, master_seed, play_match
from buraco_bots.random_bot import RandomBot
from buraco_rules import PRESETS, PRESETS_BY_ID, Discard, Move, Phase, RuleSet, View, score_deal, server_seed
from tests.rules.positions import CLASSIC

BOTS: list[BotFactory] = [GreedyBot, RandomBot]


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


class Observer(RandomBot):
    """Plays at random, and checks what it sees against what it may know."""

    made: list[Observer]

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.seen: list[event_pb2.Event] = []
        self.pile: list[int] = []
        self.closed = 0
        self.made.append(self)

    def observe(self, event: event_pb2.Event) -> None:
        self.seen.append(event)
        if event.HasField("dealt"):
            self.pile = [event.dealt.upcard] if event.dealt.upcard else []
        elif event.HasField("discarded"):
            self.pile.append(event.discarded.card)
        elif event.HasField("took_pile"):
            self.pile = []

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        if view.phase is Phase.DRAW:  # else a closed pile may be half taken
            assert len(self.pile) == view.pile_count
            assert self.pile[-1:] == [*view.pile[-1:]]
        return super().choose(view, moves)

    def close(self) -> None:
        self.closed += 1


def observers() -> type[Observer]:
    """A class of observers that keeps a list of those it makes."""
    return type("Observer", (Observer,), {"made": []})


def test_events_make_up_for_a_closed_pile() -> None:
    """A bot that observes knows every card of a closed pile, as a person who watched does; its view has one."""
    kind = observers()
    play_match(PRESETS_BY_ID["closed"], [kind, kind], "pile", 1000)
    first, _ = kind.made
    assert len(first.seen) > 100
    assert [bot.closed for bot in kind.made] == [1, 1]
    assert {event.WhichOneof("event") for event in first.seen} >= {"dealt", "drew", "discarded", "deal_ended"}


@pytest.mark.parametrize("seats", [2, 4])
def test_events_are_those_of_the_seat(seats: int) -> None:
    """Of a hand that is dealt and a card that is drawn a bot sees its own; all else is the same for everybody."""
    kind = observers()
    play_match(CLASSIC, [kind] * seats, "seats", 0)
    for seat, bot in enumerate(kind.made):
        (dealt,) = [event.dealt for event in bot.seen if event.HasField("dealt")]
        assert len(dealt.hand) == 11
        assert not dealt.hands
        drawn = [event.drew for event in bot.seen if event.HasField("drew")]
        assert {one.seat for one in drawn} == set(range(seats))
        assert all(bool(one.card) == (one.seat == seat) for one in drawn)


def test_events_do_not_change_play() -> None:
    """A match with bots that observe goes as one without them."""
    assert play_match(CLASSIC, [observers(), RandomBot], "same", 0) == play_match(
        CLASSIC, [RandomBot, RandomBot], "same", 0
    )


class Whole(RandomBot):
    """Plans its draw and the discard of the first card of its hand, which it has as well."""

    rest: Sequence[Move] | None = None

    def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
        if view.phase is Phase.DRAW:
            return [moves[0], *(self.rest or [Discard(view.hand[0])])]
        return [moves[-1]]


def test_whole_turns() -> None:
    """A bot that plans plays a whole turn of several moves, all of which count."""
    asked: list[int] = []

    class Counted(Whole):
        def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
            asked.append(view.turn_number)
            return super().plan(view, moves)

    (played,) = play_match(PRESETS_BY_ID["buraco-plus-classic"], [Counted, Counted], "whole", 0).deals
    assert played.deal.phase is Phase.OVER
    assert len(asked) < 0.7 * played.moves


def test_illegal_later_move() -> None:
    """A plan whose later move is illegal is the bot's fault, and named."""

    class Greedy(Whole):
        rest: Sequence[Move] | None = (Discard(53), Discard(53))

    with pytest.raises(BotFault, match=r"Greedy planned Discard\(card=53\)") as caught:
        play_match(CLASSIC, [Greedy, RandomBot], "later", 0)
    assert caught.value.kind == "illegal"


def test_all_are_closed() -> None:
    """When a bot cannot be made those made before it are closed; when one fails all are."""
    kind = observers()

    def broken(random: Random) -> RandomBot:
        raise LookupError

    with pytest.raises(BotFault, match="could not be made"):
        play_match(CLASSIC, [kind, broken], "closed", 0)
    assert [bot.closed for bot in kind.made] == [1]
