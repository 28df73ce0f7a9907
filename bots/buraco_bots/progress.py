"""Show how a match goes: a table that changes in a terminal, a line a deal elsewhere, nothing for machines."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

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

REFRESH_SECONDS: Final = 0.15
"""Between two views of the table."""
_MAX_PLAYS: Final = 6
"""How many plays are shown, the last ones."""


class Progress:
    """Shows nothing of a match; those below show more. `following` is entered for the time of the match."""

    def show_start(self, table: table_pb2.Table) -> None:
        """Show that the seats are taken."""

    def show_update(self, update: PlayUpdate) -> None:
        """Show what happened."""

    @contextlib.asynccontextmanager
    async def following(self, client: BuracoClient) -> AsyncIterator[None]:
        """Show the table for the time of the match."""
        yield


class Lines(Progress):
    """A line for the start and for every deal that ends."""

    def __init__(self, console: Console, server: str) -> None:
        self._console = console
        self._server = server
        self._deals = 0

    def show_start(self, table: table_pb2.Table) -> None:
        """Print what is played, and where."""
        target = f"to {table.target_score}" if table.target_score else "one deal"
        players = ", ".join(seat.player_name for seat in table.seats)
        self._print(f"Table {table.id} at {self._server}: {table.rule_set.display_name}, {target}, {players}")

    def show_update(self, update: PlayUpdate) -> None:
        """Print how a deal ended."""
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
    """The table as everybody may see it, kept up to date, and above it a line for every deal that ends."""

    def __init__(self, console: Console, server: str, bots: Sequence[str]) -> None:
        super().__init__(console, server)
        self._bots = bots
        self._table_id = ""
        self._plays: deque[str] = deque(maxlen=_MAX_PLAYS)

    def show_start(self, table: table_pb2.Table) -> None:
        """Print what is played, and show that table from now on."""
        super().show_start(table)
        self._table_id = table.id

    def show_update(self, update: PlayUpdate) -> None:
        """Print how a deal ended, and add to the last plays."""
        super().show_update(update)
        for event in _events(update):
            self._plays.extend(_describe_play(event))

    @contextlib.asynccontextmanager
    async def following(self, client: BuracoClient) -> AsyncIterator[None]:
        """Show the table until the match is over, then remove it."""
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            refreshing = asyncio.create_task(self._refresh(client, live))
            try:
                yield
            finally:
                refreshing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await refreshing

    async def _refresh(self, client: BuracoClient, live: Live) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            if not self._table_id:
                continue
            with contextlib.suppress(BuracoError):  # the next refresh makes up for one that failed
                seen = await client.get_view(self._table_id)
                if seen.HasField("view"):
                    live.update(render_table(view_from_pb(seen.view), self._bots, self._plays), refresh=True)


def render_table(view: View, bots: Sequence[str], plays: Sequence[str]) -> Group:
    """Return the public view of a table, and the last plays."""
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


def _describe_play(event: event_pb2.Event) -> Iterator[str]:
    """Yield what everybody may know of a play, for those worth a line."""
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
