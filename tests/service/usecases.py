"""The use cases of tables on a store, without a server around them: for what cannot be brought about over gRPC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from buraco_rules import Move, RuleSet
from buraco_service.access.seat_tokens import SeatClaims, SeatTokens
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import Store
from buraco_service.tables.feeds import Feeds
from buraco_service.tables.tables import Tables
from tests.service.scripts import CLASSIC, SeatTurn
from tests.service.table_server import KEY, QUIET, SEED, new_id

NOW: Final = 1_800_000_000.0


class UseCases:
    """What one replica does with a store. Its clock stands still."""

    def __init__(self, store: Store, *, heartbeat: float = QUIET) -> None:
        self.tables = Tables(store, SeatTokens((KEY,), 3600), Metrics(), clock=lambda: NOW)
        self.feeds = Feeds(self.tables, heartbeat=heartbeat)

    async def start(self, rules: RuleSet = CLASSIC, *, target: int = 0) -> tuple[str, list[SeatClaims]]:
        """A table of two whose match has begun, and who holds its seats."""
        created = await self.tables.create(
            rules, 2, target_score=target, stake=0, master_seed=SEED, seeded_by_creator=True, request_id=new_id()
        )
        return created.table.id, [await self.join(created.table.id) for _ in range(2)]

    async def join(self, table_id: str) -> SeatClaims:
        """A player takes the first free seat."""
        joined = await self.tables.join(table_id, None, "Ada", b"", new_id())
        return self.tables.tokens.verify(joined.token, NOW)

    async def play(self, claims: SeatClaims, *moves: Move) -> None:
        """Moves of one seat."""
        await self.tables.submit(claims.table_id, claims, moves, None, new_id(), with_view=False)

    async def play_singly(self, claims: Sequence[SeatClaims], script: Sequence[SeatTurn]) -> None:
        """Turns, move by move."""
        for turn in script:
            for move in turn.moves:
                await self.play(claims[turn.seat], move)
