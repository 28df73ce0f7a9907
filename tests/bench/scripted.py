"""Tables whose cards the client knows beforehand, so that it need not ask what is legal."""

import os
import uuid
from typing import Any

from buraco.v1 import table_service_pb2
from buraco_rules import (
    PRESETS_BY_ID,
    Deal,
    Match,
    Move,
    MoveWild,
    Phase,
    apply,
    deal_match,
    legal_moves,
    next_match,
    server_seed,
)

RULES = PRESETS_BY_ID["buraco-plus-classic"]
ENDLESS = 1_000_000
"""A target that is never reached: deal follows deal."""


class Scripted:
    """A table whose cards are known beforehand, as it was opened with a seed: the client need not ask what is legal."""

    def __init__(self, stub: Any, table_id: str, master_seed: bytes) -> None:
        self.id = table_id
        self._stub = stub
        self._seed = master_seed
        self._tokens: list[str] = []
        self._streams: dict[int, Any] = {}
        self._deal: Deal | None = None

    @classmethod
    async def open(cls, stub: Any) -> "Scripted":
        seed = os.urandom(32)
        created = await stub.CreateTable(
            table_service_pb2.CreateTableRequest(
                rule_set_id=RULES.id, seats=2, target_score=ENDLESS, seed=seed, request_id=str(uuid.uuid4())
            )
        )
        table = cls(stub, created.table.id, seed)
        for name in ("north", "south"):
            joined = await stub.JoinTable(
                table_service_pb2.JoinTableRequest(table_id=table.id, player_name=name, request_id=str(uuid.uuid4()))
            )
            table._tokens.append(joined.token)
        return table

    @property
    def deal_number(self) -> int:
        """The number of the deal to which the next move belongs."""
        return self._running().match.deal_number

    def next_move(self) -> tuple[int, Move]:
        """The move to be made now: draw, meld what can be melded, discard; and the seat that makes it."""
        deal = self._running()
        move = next(move for move in legal_moves(deal) if not isinstance(move, MoveWild))
        self._deal, _ = apply(deal, move)
        return deal.seat_to_move, move

    def next_moves(self, *, whole_turn: bool) -> tuple[int, list[Move]]:
        """The next move alone, or all up to the end of the turn; and the seat that makes them."""
        begun = self._running().turn.number
        seat, move = self.next_move()
        moves = [move]
        while whole_turn and self._deal and self._deal.phase is not Phase.OVER and self._deal.turn.number == begun:
            moves.append(self.next_move()[1])
        return seat, moves

    def _running(self) -> Deal:
        if self._deal is None:
            self._deal = self._dealt(Match(target_score=ENDLESS, starter=-1))
        elif self._deal.phase is Phase.OVER:
            self._deal = self._dealt(next_match(self._deal))
        return self._deal

    def bearer(self, seat: int) -> tuple[tuple[str, str], ...]:
        """The metadata that proves a seat."""
        return (("authorization", f"Bearer {self._tokens[seat]}"),)

    async def stream(self, seat: int) -> Any:
        """The seat's open stream."""
        if seat not in self._streams:
            call = self._stub.PlayTable(metadata=self.bearer(seat))
            opening = table_service_pb2.PlayOpen(table_id=self.id)
            await call.write(table_service_pb2.PlayTableRequest(open=opening))
            self._streams[seat] = call
        return self._streams[seat]

    def _dealt(self, match: Match) -> Deal:
        return deal_match(RULES, 2, server_seed(self._seed, match.deal_number), match)[0]
