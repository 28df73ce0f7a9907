from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

import pytest

from buraco_bots.bot import WILD_MOVES_END, Bot, BotFault, ask_bot, choose_plain_move, make_bot
from buraco_rules import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile, View, legal_moves, view_of
from tests.rules.positions import CLASSIC, position

DEAL = position(CLASSIC, hand="3s 4s Kd 9c", melds=["2h@5 6h 7h 8h"])
VIEW = view_of(DEAL, 0)


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
    assert ask_bot(Scripted(Discard(39)), VIEW, [Discard(3), Discard(39)], 0) == Discard(39)


def test_illegal_choice() -> None:
    """A choice that is no legal move is the bot's fault, and named."""
    with pytest.raises(BotFault, match=r"Scripted chose Discard\(card=7\), which is no legal move"):
        ask_bot(Scripted(Discard(7)), VIEW, [Discard(3), Discard(39)], 0)


def test_other_kind_of_move() -> None:
    """Taking the pile is not drawing from the stock, though neither names a card."""
    with pytest.raises(BotFault, match="TakePile"):
        ask_bot(Scripted(TakePile()), VIEW, [DrawStock()], 0)


def test_error() -> None:
    """An error inside a bot is the bot's fault, with what it was and where in the bot, and no line of ours."""
    with pytest.raises(BotFault, match="Scripted failed: ZeroDivisionError: by nothing") as caught:
        ask_bot(Scripted(ZeroDivisionError("by nothing")), VIEW, [DrawStock()], 0)
    first, second, *_ = caught.value.describe().splitlines()
    assert first == str(caught.value)
    assert re.fullmatch(rf'  File "{re.escape(__file__)}", line \d+, in choose', second)


def test_wild_to_and_fro() -> None:
    """In a turn that goes on for ever no wild may be moved any more, but for want of anything else to do."""
    moves = legal_moves(DEAL)
    wild_moves = [move for move in moves if isinstance(move, MoveWild)]
    assert wild_moves
    bot = Scripted(Discard(39))
    ask_bot(bot, VIEW, moves, WILD_MOVES_END - 1)
    assert bot.offered == moves
    ask_bot(bot, VIEW, moves, WILD_MOVES_END)
    assert bot.offered == [move for move in moves if move not in wild_moves]
    bot = Scripted(wild_moves[0])
    assert ask_bot(bot, VIEW, wild_moves, WILD_MOVES_END) == wild_moves[0]


def test_exit() -> None:
    """A bot that exits is at fault, and ends no more than its own play; Ctrl-C is no bot's fault."""
    with pytest.raises(BotFault, match="Scripted failed: SystemExit: 3"):
        ask_bot(Scripted(SystemExit(3)), VIEW, [DrawStock()], 0)
    with pytest.raises(KeyboardInterrupt):
        ask_bot(Scripted(KeyboardInterrupt()), VIEW, [DrawStock()], 0)


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
