"""What a bot is."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, Literal, Protocol

from buraco_rules import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile, View

MOVES_BEFORE_NO_WILD_MOVES = 64
"""Moves of a turn after which no wild may be moved any more, unless there is nothing else to do.

More than a turn can need; without a limit a bot could move a wild to and fro for ever.
"""

_PLAINEST: Final = (DrawStock, Discard, TakePile, LayOff, LayMeld, MoveWild)
"""Kinds of moves, in the order in which `plain_move` prefers them."""


class Bot(Protocol):
    """A player. Whoever runs it asks it for every single move of its seat.

    A bot sits at one table in one seat for a whole match, and may remember what it saw. All chance it needs comes from
    the generator it was made with: the same seed, views and moves give the same choices. Outside the arena it is made
    and asked in a thread of its own with a time limit (`buraco_bots.thinking`), beside other bots in theirs.
    """

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """One of `moves`, the legal moves of the seat to move (never empty). `view` is what that seat may know."""
        ...


BotFactory = Callable[[Random], Bot]
"""Makes a bot for one seat of one match: usually its class."""


FaultKind = Literal["late", "error", "illegal"]
"""A bot took longer than it may, raised an error (or could not be made), or chose what is no legal move."""


class BotFault(Exception):
    """A bot broke its contract. The message names the bot and the fault."""

    def __init__(self, kind: FaultKind, message: str, error: BaseException | None = None) -> None:
        """`error`: what the bot raised, caught by its caller, with whose line the traceback begins."""
        super().__init__(message)
        self.kind: Final = kind
        #: The lines of the bot that led to the error, innermost last, as in a traceback; empty where it raised none.
        self.lines = (
            "" if error is None else "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)[1:]))
        )

    def told(self) -> str:
        """The fault, and where in the bot it is."""
        return f"{self}\n{self.lines}".rstrip()


def make(factory: BotFactory, random: Random) -> Bot:
    """Return a bot of its factory. Raise BotFault."""
    try:
        return factory(random)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        name = getattr(factory, "__name__", repr(factory))
        raise BotFault("error", f"{name} could not be made: {type(error).__name__}: {error}", error) from error


def ask(bot: Bot, view: View, moves: Sequence[Move], moves_made: int) -> Move:
    """Return the bot's choice. `moves_made` counts the moves of this turn so far. Raise BotFault."""
    offered = moves
    if moves_made >= MOVES_BEFORE_NO_WILD_MOVES:
        offered = [move for move in moves if not isinstance(move, MoveWild)] or moves
    name = type(bot).__name__
    try:
        choice = bot.choose(view, offered)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() in a bot ends no other bot's play
        raise BotFault("error", f"{name} failed: {type(error).__name__}: {error}", error) from error
    # The type counts too: two moves without cards, DrawStock and TakePile, are equal tuples.
    if not any([move is choice or (move == choice and type(move) is type(choice)) for move in offered]):
        raise BotFault("illegal", f"{name} chose {choice!r}, which is no legal move")
    return choice


def plain_move(moves: Sequence[Move]) -> Move:
    """Return what is played for a bot that failed: it draws from the stock and discards the first card it may.

    Where it may do neither, it takes the pile, lays off or melds, and moves a wild only where nothing else is legal.
    """
    return min(moves, key=lambda move: _PLAINEST.index(type(move)))
