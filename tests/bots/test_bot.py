from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import repeat
from random import Random
from typing import Any

import pytest

from buraco.v1 import event_pb2
from buraco_bots.bot import (
    MAX_PLAN,
    WILD_MOVES_END,
    Bot,
    BotFault,
    ask_for_moves,
    choose_plain_move,
    close_bot,
    make_bot,
)
from buraco_rules import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile, View, legal_moves, view_of
from tests.rules.positions import CLASSIC, position

DEAL = position(CLASSIC, hand="3s 4s Kd 9c", melds=["2h@5 6h 7h 8h"])
VIEW = view_of(DEAL, 0)


class Planner:
    """Gives one plan, and notes the events that it sees before."""

    version = "2"

    def __init__(self, plan: Iterable[object]) -> None:
        self.planned = plan
        self.seen: list[event_pb2.Event] = []
        self.closed = 0

    def observe(self, event: event_pb2.Event) -> None:
        self.seen.append(event)

    def plan(self, view: View, moves: Sequence[Move]) -> Iterable[object]:
        return self.planned

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        return moves[0]

    def close(self) -> None:
        self.closed += 1
        raise OSError("is closed")


class Scripted:
    """Gives one answer, and keeps the moves it was asked with."""

    def __init__(self, answer: Move | BaseException) -> None:
        self.answer = answer
        self.offered: Sequence[Move] = ()

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        self.offered = moves
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def test_choice() -> None:
    """A bot's choice among the legal moves is taken as it is."""
    assert ask_for_moves(Scripted(Discard(39)), VIEW, [Discard(3), Discard(39)], 0) == (Discard(39),)


def test_illegal_choice() -> None:
    """A choice that is no legal move is the bot's fault, and named."""
    with pytest.raises(BotFault, match=r"Scripted chose Discard\(card=7\), which is no legal move"):
        ask_for_moves(Scripted(Discard(7)), VIEW, [Discard(3), Discard(39)], 0)


def test_other_kind_of_move() -> None:
    """Taking the pile is not drawing from the stock, though neither names a card."""
    with pytest.raises(BotFault, match="TakePile"):
        ask_for_moves(Scripted(TakePile()), VIEW, [DrawStock()], 0)


def test_error() -> None:
    """An error inside a bot is the bot's fault, with what it was and where in the bot, and no line of ours."""
    with pytest.raises(BotFault, match="Scripted failed: ZeroDivisionError: by nothing") as caught:
        ask_for_moves(Scripted(ZeroDivisionError("by nothing")), VIEW, [DrawStock()], 0)
    first, second, *_ = caught.value.describe().splitlines()
    assert first == str(caught.value)
    assert re.fullmatch(rf'  File "{re.escape(__file__)}", line \d+, in choose', second)


def test_wild_to_and_fro() -> None:
    """In a turn that goes on for ever no wild may be moved any more, but for want of anything else to do."""
    moves = legal_moves(DEAL)
    wild_moves = [move for move in moves if isinstance(move, MoveWild)]
    assert wild_moves
    bot = Scripted(Discard(39))
    ask_for_moves(bot, VIEW, moves, WILD_MOVES_END - 1)
    assert bot.offered == moves
    ask_for_moves(bot, VIEW, moves, WILD_MOVES_END)
    assert bot.offered == [move for move in moves if move not in wild_moves]
    bot = Scripted(wild_moves[0])
    assert ask_for_moves(bot, VIEW, wild_moves, WILD_MOVES_END) == (wild_moves[0],)


def test_exit() -> None:
    """A bot that exits is at fault, and ends no more than its own play; Ctrl-C is no bot's fault."""
    with pytest.raises(BotFault, match="Scripted failed: SystemExit: 3"):
        ask_for_moves(Scripted(SystemExit(3)), VIEW, [DrawStock()], 0)
    with pytest.raises(KeyboardInterrupt):
        ask_for_moves(Scripted(KeyboardInterrupt()), VIEW, [DrawStock()], 0)


def test_plain_move() -> None:
    """For a bot that failed the stock is drawn from and the first card discarded; melds and wilds only if need be."""
    lay, off, wild = LayMeld((1, 2, 3)), LayOff(0, (4,)), MoveWild(0, 1)
    assert choose_plain_move([TakePile(), DrawStock()]) == DrawStock()
    assert choose_plain_move([TakePile()]) == TakePile()
    assert choose_plain_move([lay, off, wild, Discard(3), Discard(39)]) == Discard(3)
    assert choose_plain_move([wild, lay]) == lay
    assert choose_plain_move([wild]) == wild


def test_made() -> None:
    """A bot that cannot be made is at fault, and named."""

    def factory(random: Random) -> Bot:
        raise KeyError("book")

    with pytest.raises(BotFault, match="factory could not be made: KeyError: 'book'"):
        make_bot(factory, Random(1))


def plan(*moves: object) -> Any:
    """A bot with a plan of these moves."""
    return Planner(moves)


def test_plan() -> None:
    """A bot that plans gives several moves at once, of which the first has to be legal."""
    assert ask_for_moves(plan(Discard(3), Discard(7)), VIEW, [Discard(3)], 0) == (Discard(3), Discard(7))
    with pytest.raises(BotFault, match=r"Planner chose Discard\(card=7\), which is no legal move") as caught:
        ask_for_moves(plan(Discard(7), Discard(3)), VIEW, [Discard(3)], 0)
    assert caught.value.kind == "illegal"


@pytest.mark.parametrize(
    ("bot", "kind", "message"),
    [
        (plan(), "illegal", "'nothing'"),
        (plan(*repeat(Discard(3), MAX_PLAN + 1)), "illegal", f"planned more than {MAX_PLAN} moves"),
        (Planner(repeat(Discard(3))), "illegal", f"planned more than {MAX_PLAN} moves"),
        (plan(Discard(3), Discard(99)), "illegal", r"planned Discard\(card=99\), which is no move"),
        (plan(Discard(3), "the rest"), "illegal", "planned 'the rest', which is no move"),
        (plan(Discard(3), LayMeld([3, 4, 5])), "illegal", "which is no move"),  # type: ignore[arg-type]
        (Planner(7), "error", "Planner failed: TypeError"),  # type: ignore[arg-type]
    ],
    ids=["empty", "too long", "endless", "no card", "no move", "no tuple", "no plan"],
)
def test_bad_plan(bot: Any, kind: str, message: str) -> None:
    """A plan without moves, with too many of them or without end is the bot's fault."""
    with pytest.raises(BotFault, match=message) as caught:
        ask_for_moves(bot, VIEW, [Discard(3)], 0)
    assert caught.value.kind == kind


def test_plan_in_an_endless_turn() -> None:
    """In a turn that goes on for ever a bot that plans has to choose, so that it moves no wild."""
    moves = legal_moves(DEAL)
    (move,) = ask_for_moves(plan(MoveWild(0, 1)), VIEW, moves, WILD_MOVES_END)
    assert not isinstance(move, MoveWild)


def test_events_come_first() -> None:
    """A bot that observes sees the events before it is asked; one that does not is only asked."""
    events = [event_pb2.Event(discarded=event_pb2.Discarded(card=card)) for card in (3, 7)]  # type: ignore[arg-type]
    bot = plan(Discard(3))
    ask_for_moves(bot, VIEW, [Discard(3)], 0, events)
    assert bot.seen == events
    assert ask_for_moves(Scripted(Discard(3)), VIEW, [Discard(3)], 0, events) == (Discard(3),)


def test_error_while_it_observes() -> None:
    """An error about an event is the bot's fault as any other."""

    class Blind(Scripted):
        def observe(self, event: event_pb2.Event) -> None:
            raise ValueError("saw nothing")

    with pytest.raises(BotFault, match="Blind failed: ValueError: saw nothing"):
        ask_for_moves(Blind(Discard(3)), VIEW, [Discard(3)], 0, [event_pb2.Event()])


def test_closed(caplog: pytest.LogCaptureFixture) -> None:
    """A bot that holds something is closed; what it raises then is logged and harms nobody."""
    bot = plan(Discard(3))
    close_bot(bot)
    close_bot(Scripted(Discard(3)))
    assert bot.closed == 1
    assert [record.getMessage() for record in caplog.records] == ["Planner could not be closed"]
