"""How a match goes: a table that changes in a terminal, a line a deal elsewhere, nothing for machines."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from buraco.v1 import event_pb2, table_pb2
from buraco_client import BuracoClient, BuracoError, PlayUpdate
from buraco_codec.views import view_from_pb
from buraco_notation import format_cards
from buraco_rules import Ending, View
from buraco_rules.cards import CARD_TEXT

REFRESH: Final = 0.15
"""Seconds between two looks at the table."""
_PLAYS: Final = 6
"""The last plays that are shown."""


class Progress(Protocol):
    """Whoever shows how a match goes; its `following` is entered for the time of the match."""

    def began(self, table: table_pb2.Table) -> None:
        """The seats are taken."""

    def saw(self, update: PlayUpdate) -> None:
        """Something happened."""

    def following(self, client: BuracoClient) -> contextlib.AbstractAsyncContextManager[None]:
        """For the time of the match."""
        ...


class Silent:
    """Shows nothing."""

    def began(self, table: table_pb2.Table) -> None:
        """Nothing."""

    def saw(self, update: PlayUpdate) -> None:
        """Nothing."""

    @contextlib.asynccontextmanager
    async def following(self, client: BuracoClient) -> AsyncIterator[None]:
        """Nothing."""
        yield


class Lines(Silent):
    """A line for the start and for every deal that ends."""

    def __init__(self, console: Console, server: str) -> None:
        self._console = console
        self._server = server
        self._deals = 0

    def began(self, table: table_pb2.Table) -> None:
        """Says what is played, and where."""
        target = f"to {table.target_score}" if table.target_score else "one deal"
        players = ", ".join(seat.player_name for seat in table.seats)
        self._print(f"Table {table.id} at {self._server}: {table.rule_set.display_name}, {target}, {players}")

    def saw(self, update: PlayUpdate) -> None:
        """Says how a deal ended."""
        for event in _events(update):
            if event.HasField("deal_ended"):
                first, second = event.deal_ended.score.sides
                ending = Ending(event.deal_ended.ending).name.lower().replace("_", " ")
                self._deals += 1
                self._print(
                    f"Deal {self._deals} over ({ending}): {first.total} and {second.total},"
                    f" match {first.match_total} to {second.match_total}"
                )

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


class LiveTable(Lines):
    """The table as everybody may see it, refreshed all the time, with a line for every deal that ends above it."""

    def __init__(self, console: Console, server: str, bots: Sequence[str]) -> None:
        super().__init__(console, server)
        self._bots = bots
        self._table_id = ""
        self._plays: deque[str] = deque(maxlen=_PLAYS)

    def began(self, table: table_pb2.Table) -> None:
        """Remembers where to look."""
        super().began(table)
        self._table_id = table.id

    def saw(self, update: PlayUpdate) -> None:
        """Remembers the last plays."""
        super().saw(update)
        for event in _events(update):
            self._plays.extend(_play_text(event))

    @contextlib.asynccontextmanager
    async def following(self, client: BuracoClient) -> AsyncIterator[None]:
        """Looks at the table until the match is over, then takes the picture away."""
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            looking = asyncio.create_task(self._look(client, live))
            try:
                yield
            finally:
                looking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await looking

    async def _look(self, client: BuracoClient, live: Live) -> None:
        while True:
            await asyncio.sleep(REFRESH)
            if not self._table_id:
                continue
            with contextlib.suppress(BuracoError):  # a look that failed is made up for by the next
                seen = await client.view(self._table_id)
                if seen.HasField("view"):
                    live.update(picture(view_from_pb(seen.view), self._bots, self._plays), refresh=True)


def picture(view: View, bots: Sequence[str], plays: Sequence[str]) -> Group:
    """The public view of a table, and the last plays."""
    heading = Text(
        f"Deal {view.match.deal_number}, turn {view.turn_number}   stock {view.stock_count}"
        f"   pile {view.pile_count}{f' ({CARD_TEXT[view.pile[-1]]})' if view.pile else ''}"
        f"   pots {len(view.pot_counts)}",
        style="bold",
    )
    table = Table("side", "players (cards)", "match", "deal", "pots", "melds", expand=True)
    for side, own in enumerate(view.sides):
        players = Text("\n").join(
            Text(
                f"{'▶' if seat == view.seat_to_move else ' '} {bots[seat]} {seat} ({view.hand_counts[seat]})",
                style="bold green" if seat == view.seat_to_move else "",
            )
            for seat in range(side, len(bots), 2)
        )
        melds = Text("\n").join(
            Text(format_cards(meld.cards), style="bold yellow" if meld.is_buraco else "") for meld in own.melds
        )
        table.add_row(*(str(side), players, str(own.match_score), str(own.table_points), str(own.pots_taken), melds))
    return Group(heading, table, Text("\n".join(plays), style="dim"))


def _events(update: PlayUpdate) -> Sequence[event_pb2.Event]:
    return update.events if isinstance(update, table_pb2.Events) else ()


def _play_text(event: event_pb2.Event) -> Iterator[str]:
    """What everybody may know of a play, for those worth a line."""
    match event.WhichOneof("event"):
        case "took_pile":
            yield f"seat {event.took_pile.seat} takes the pile of {event.took_pile.count}"
        case "melded":
            yield f"seat {event.melded.seat} melds {format_cards(event.melded.meld.cards)}"
        case "laid_off":
            laid = event.laid_off
            yield f"seat {laid.seat} lays off {format_cards(laid.cards)}: {format_cards(laid.meld.cards)}"
        case "discarded":
            yield f"seat {event.discarded.seat} discards {CARD_TEXT[event.discarded.card]}"
        case "pot_taken":
            yield f"seat {event.pot_taken.seat} picks up a pot"
        case _:
            pass
