"""What a bot is, and how it is made and asked for its moves."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, Literal, Protocol

from buraco_rules import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile, View

WILD_MOVES_END: Final = 64
"""Moves of a turn after which no wild may be moved any more, unless nothing else is legal.

More than a turn can need; without a limit a bot could move a wild back and forth forever.
"""

_PLAIN_ORDER: Final = (DrawStock, Discard, TakePile, LayOff, LayMeld, MoveWild)
"""Kinds of moves, in the order in which `choose_plain_move` prefers them."""


class Bot(Protocol):
    """A player, which is asked for every single move of its seat.

    A bot sits in one seat for a whole match, and may keep what it saw. It takes all its chance from the generator it
    was made with: the same seed, views and moves give the same choices. Outside the arena it is made and asked in a
    thread of its own with a time limit (`buraco_bots.thinking`), beside other bots in theirs.
    """

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """Return one of `moves`, the legal moves of the seat to move (never empty); `view` is what it may know."""
        ...


BotFactory = Callable[[Random], Bot]
"""Makes a bot for one seat of one match: usually its class."""

FaultKind = Literal["late", "error", "illegal"]
"""A bot exceeded its time, raised an error (or could not be made), or chose a move that is not legal."""


class BotFault(Exception):
    """A bot broke its contract. The message names the bot and the fault."""

    def __init__(self, kind: FaultKind, message: str, error: BaseException | None = None) -> None:
        """`error`: what the bot raised; its traceback begins with a line of the caller."""
        super().__init__(message)
        self.kind: Final = kind
        #: The lines of the bot that led to the error, innermost last, as in a traceback; empty without an error.
        self.lines = (
            "" if error is None else "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)[1:]))
        )

    def describe(self) -> str:
        """Return the message, followed by the lines of the bot that led to the error."""
        return f"{self}\n{self.lines}".rstrip()


def make_bot(factory: BotFactory, random: Random) -> Bot:
    """Return a bot of its factory. Raise BotFault for anything that it raises, but pass KeyboardInterrupt on."""
    try:
        return factory(random)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        name = getattr(factory, "__name__", repr(factory))
        raise BotFault("error", f"{name} could not be made: {type(error).__name__}: {error}", error) from error


def ask_bot(bot: Bot, view: View, moves: Sequence[Move], moves_made: int) -> Move:
    """Return the bot's choice among the legal moves, those of wilds left out after WILD_MOVES_END.

    `moves_made` counts the moves of this turn so far. Raise BotFault if the bot raises (but pass KeyboardInterrupt on)
    or chooses no legal move.
    """
    if moves_made >= WILD_MOVES_END:
        moves = [move for move in moves if not isinstance(move, MoveWild)] or moves
    name = type(bot).__name__
    try:
        choice = bot.choose(view, moves)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() in a bot ends no other bot's play
        raise BotFault("error", f"{name} failed: {type(error).__name__}: {error}", error) from error
    # The type counts too: two moves without cards, DrawStock and TakePile, are equal tuples.
    if not any([move is choice or (move == choice and type(move) is type(choice)) for move in moves]):
        raise BotFault("illegal", f"{name} chose {choice!r}, which is no legal move")
    return choice


def choose_plain_move(moves: Sequence[Move]) -> Move:
    """Return the move that is played for a bot that failed: draw from the stock, else make the first legal discard.

    If neither is legal, it takes the pile, lays off or melds; a wild is moved only if nothing else is legal. There has
    to be a move.
    """
    return min(moves, key=lambda move: _PLAIN_ORDER.index(type(move)))
