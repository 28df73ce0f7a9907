"""The token of a seat, exchanged for a fresh one in time."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from buraco.v1 import table_service_pb2
from buraco_client.errors import BuracoError, TokenRejected

if TYPE_CHECKING:
    from buraco_client.connection import Connection
    from buraco_client.unary import Metadata

# Seconds between two attempts at least, whatever the clocks say.
_LEAST_PAUSE: Final = 15.0
# Seconds that a call waits for a fresh token before it goes with the old one.
_PATIENCE: Final = 2.0


class SeatToken:
    """What a seat sends with its calls. When half of the life that was left is over, the next use renews it."""

    def __init__(self, connection: Connection, table_id: str, text: str, expires_at: float | None) -> None:
        """`expires_at`: seconds since the epoch; None: not known, so that it is not renewed unasked."""
        self._connection = connection
        self._table_id = table_id
        self.text = text
        self.expires_at = expires_at
        self._renewing = False
        self._due: float | None = None
        self._plan(0.0)

    @property
    def metadata(self) -> Metadata:
        """The proof of the seat."""
        return (("authorization", f"Bearer {self.text}"),)

    @property
    def due(self) -> bool:
        """Whether the next use renews it."""
        return self._due is not None and not self._renewing and asyncio.get_running_loop().time() >= self._due

    async def fresh(self) -> Metadata:
        """The proof of the seat, renewed first if that is due. What fails then is tried again later."""
        if self.due:
            try:
                await self.renew(timeout=_PATIENCE)
            except BuracoError:
                self._plan(_LEAST_PAUSE)
        return self.metadata

    async def renew(self, *, timeout: float | None = None) -> None:
        """Exchanges the token for one with a whole life before it. Raises a BuracoError."""
        self._renewing = True
        try:
            answer = await self._connection.call(
                self._connection.tables.RenewToken,
                table_service_pb2.RenewTokenRequest(table_id=self._table_id),
                metadata=self.metadata,
                timeout=timeout,
            )
        finally:
            self._renewing = False
        self.text = answer.token
        self.expires_at = answer.token_expires_at.seconds
        self._plan(_LEAST_PAUSE)

    def outlived(self, error: BuracoError, used: str) -> bool:
        """Whether a stream was ended for the token it was opened with, and there is a newer one."""
        return isinstance(error, TokenRejected) and used != self.text

    def _plan(self, pause: float) -> None:
        if self.expires_at is not None:
            left = max(0.0, self.expires_at - time.time())
            self._due = asyncio.get_running_loop().time() + max(left / 2, pause)
