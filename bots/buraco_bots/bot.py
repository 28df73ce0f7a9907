"""What a bot is, and how it is made and asked for its moves."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from random import Random
from typing import Final, Literal, Protocol

from buraco.v1 import event_pb2
from buraco_codec.moves import move_from_pb, move_to_pb
from buraco_rules import Deal, Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile, View

WILD_MOVES_END: Final = 64
"""Moves of a turn after which no wild may be moved any more, unless nothing else is legal.

More than a turn can need; without a limit a bot could move a wild back and forth forever.
"""

_log = logging.getLogger(__name__)

_PLAIN_ORDER: Final = (DrawStock, Discard, TakePile, LayOff, LayMeld, MoveWild)
"""Kinds of moves, in the order in which `choose_plain_move` prefers them."""


MAX_PLAN: Final = 64
"""Moves of a plan: more than a turn can need."""


class Bot(Protocol):
    """A player, which is asked for the moves of its seat.

    A bot sits in one seat for a whole match, and may keep what it saw. What else it may have is in `Plans`, `Observes`,
    `Closes` and `Described`. It takes all its chance from the generator it was made with: the same seed, views and
    moves give the same choices. Outside the arena it is made and asked in a thread of its own with a time limit
    (`buraco_bots.thinking`), beside other bots in theirs.
    """

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """Return one of `moves`, the legal moves of the seat to move (never empty); `view` is what it may know."""
        ...


class Plans(Protocol):
    """A bot that gives several moves at once, which is faster at a table: they are sent in one message."""

    def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
        """Return the next moves of the turn, 1 to MAX_PLAN; asked in place of `choose`.

        The first is one of `moves`. One that follows must be legal after those before it; when the turn is not over
        after the last, the bot is asked again.
        """
        ...


class Observes(Protocol):
    """A bot that is shown what happens at its table, as a person in its seat sees it.

    Without it a bot cannot know the discards of a closed pile, of which a view has the top card alone.
    """

    def observe(self, event: event_pb2.Event) -> None:
        """Note an event of the contract, redacted for the bot's seat.

        All events of the match come in their order, those of the bot's own moves included, just before it is asked for
        its next move; those after its last move do not come, nor those of a table before its seat was taken.
        """
        ...


class SeesAll(Protocol):
    """A bot that sees all cards: to measure what is left to gain, by an arena in processes alone.

    Whatever plays at tables refuses it: see `sees_all`.
    """

    sees_all: Literal[True]
    """An attribute of the class."""

    true_deal: Deal | None
    """The deal in which the bot is asked next: set before each choice."""


class Closes(Protocol):
    """A bot that holds something beyond memory, such as a process."""

    def close(self) -> None:
        """Release it: the bot is not asked any more. May be called twice, and while another call hangs in a thread."""
        ...


class Described(Protocol):
    """A bot whose class states more than its name in the registry, for reports."""

    name: str
    """By default the name of the class."""
    version: str
    """Tells the results of different versions apart; by default empty."""


BotFactory = Callable[..., Bot]
"""Makes a bot for one seat of one match, from a `random.Random` and its parameters by name: usually its class."""

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

    def __reduce__(self) -> tuple[Callable[..., BotFault], tuple[object, ...]]:
        """Let a fault come out of another process, where the error itself stays."""
        return _fault_with_lines, (self.kind, str(self), self.lines)

    def describe(self) -> str:
        """Return the message, followed by the lines of the bot that led to the error."""
        return f"{self}\n{self.lines}".rstrip()


def _fault_with_lines(kind: FaultKind, message: str, lines: str) -> BotFault:
    fault = BotFault(kind, message)
    fault.lines = lines
    return fault


def sees_all(bot: Bot | BotFactory) -> bool:
    """Return True for a bot that `SeesAll`, or the factory of one."""
    return getattr(getattr(bot, "func", bot), "sees_all", False) is True


def make_bot(factory: BotFactory, random: Random) -> Bot:
    """Return a bot of its factory. Raise BotFault for anything that it raises, but pass KeyboardInterrupt on."""
    try:
        return factory(random)
    except (KeyboardInterrupt, BotFault):
        raise
    except BaseException as error:
        name = name_of(getattr(factory, "func", factory))
        raise BotFault("error", f"{name} could not be made: {type(error).__name__}: {error}", error) from error


def ask_for_moves(
    bot: Bot, view: View, moves: Sequence[Move], moves_made: int, events: Iterable[event_pb2.Event] = ()
) -> tuple[Move, ...]:
    """Return what the bot plays next: its plan if it `Plans`, else its choice. One that `Observes` sees `events` first.

    `moves` are the legal ones; `moves_made` counts those of this turn so far. After WILD_MOVES_END the bot has to
    choose among moves without those of wilds. Only the first move returned is certain to be legal. Raise BotFault if
    the bot raises (but pass KeyboardInterrupt on), or returns something else than it may.
    """
    is_endless = moves_made >= WILD_MOVES_END
    if is_endless:
        moves = [move for move in moves if not isinstance(move, MoveWild)] or moves
    observe: Callable[[event_pb2.Event], object] | None = getattr(bot, "observe", None)
    plan: Callable[[View, Sequence[Move]], Sequence[Move]] | None = getattr(bot, "plan", None)
    name = name_of(bot)
    try:
        if observe is not None:
            for event in events:
                observe(event)
        # One more than allowed shows that a plan is too long, if it has an end or not.
        chosen = (
            (bot.choose(view, moves),) if plan is None or is_endless else (*islice(plan(view, moves), MAX_PLAN + 1),)
        )
    except (KeyboardInterrupt, BotFault):
        raise
    except BaseException as error:  # sys.exit() in a bot ends no other bot's play
        raise BotFault("error", f"{name} failed: {type(error).__name__}: {error}", error) from error
    if not chosen or not _is_among(chosen[0], moves):
        raise BotFault("illegal", f"{name} chose {chosen[0] if chosen else 'nothing'!r}, which is no legal move")
    if len(chosen) > MAX_PLAN:
        raise BotFault("illegal", f"{name} planned more than {MAX_PLAN} moves")
    for move in chosen[1:]:
        if not _is_move(move):
            raise BotFault("illegal", f"{name} planned {move!r}, which is no move")
    return chosen


def close_bot(bot: Bot) -> None:
    """Close the bot if it `Closes`. What it raises is logged: its match is over."""
    close: Callable[[], object] | None = getattr(bot, "close", None)
    if close is not None:
        try:
            close()
        except Exception:  # noqa: BLE001 - whatever it is, the match is over
            _log.exception("%s could not be closed", name_of(bot))


def name_of(bot: object) -> str:
    """Return the name of a bot or its factory, for messages: its own if it is `Described`, else that of its class."""
    name = getattr(bot, "name", None) or getattr(bot, "__name__", None)
    return name if isinstance(name, str) else type(bot).__name__


def _is_move(planned: Move) -> bool:
    """Return True for what is a move: one that a message can hold, whatever type a bot promises."""
    try:
        return move_from_pb(move_to_pb(planned)) == planned
    except Exception:  # noqa: BLE001 - of the many that a bot's own values can raise
        return False


def _is_among(choice: Move, moves: Sequence[Move]) -> bool:
    # The type counts too: two moves without cards, DrawStock and TakePile, are equal tuples.
    return any([move is choice or (move == choice and type(move) is type(choice)) for move in moves])


def choose_plain_move(moves: Sequence[Move]) -> Move:
    """Return the move that is played for a bot that failed: draw from the stock, else make the first legal discard.

    If neither is legal, it takes the pile, lays off or melds; a wild is moved only if nothing else is legal. There has
    to be a move.
    """
    return min(moves, key=lambda move: _PLAIN_ORDER.index(type(move)))
