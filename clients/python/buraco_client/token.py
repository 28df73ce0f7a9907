"""The token of a seat, which renews itself in time."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from buraco.v1 import table_service_pb2
from buraco_client.errors import BuracoError, TokenRejected

if TYPE_CHECKING:
    from buraco_client.connection import Connection
    from buraco_client.unary import Metadata

_MIN_RENEWAL_INTERVAL: Final = 15.0
"""Seconds between two renewals, whatever the clocks show."""
_RENEWAL_TIMEOUT: Final = 2.0
"""Seconds that a call waits for a fresh token before it goes with the old one."""


def bearer(token: str) -> Metadata:
    """Return the metadata that carries a token.

    >>> bearer("secret")
    (('authorization', 'Bearer secret'),)
    """
    return (("authorization", f"Bearer {token}"),)


class SeatToken:
    """What a seat sends with its calls. The first use after half of its remaining life renews it.

    >>> token = SeatToken(connection=None, table_id="t", text="secret", expires_at=None)
    >>> token.is_renewal_due, asyncio.run(token.get_metadata())
    (False, (('authorization', 'Bearer secret'),))
    """

    def __init__(self, connection: Connection, table_id: str, text: str, expires_at: float | None) -> None:
        """`expires_at`: seconds since the epoch; None: not known, so the token is not renewed by itself."""
        self._connection = connection
        self._table_id = table_id
        self.text = text
        self.expires_at = expires_at
        self._is_renewing = False
        self._renewal_time: float | None = None
        self._schedule_renewal(0.0)

    @property
    def is_renewal_due(self) -> bool:
        """True if the next use renews the token."""
        if self._renewal_time is None or self._is_renewing:
            return False
        return asyncio.get_running_loop().time() >= self._renewal_time

    async def get_metadata(self) -> Metadata:
        """Return the metadata that proves the seat, after renewing the token if that is due.

        A renewal that fails, or takes over 2 seconds, is tried again later: the old token is returned.
        """
        if self.is_renewal_due:
            try:
                await self.renew(timeout=_RENEWAL_TIMEOUT)
            except BuracoError:
                self._schedule_renewal(_MIN_RENEWAL_INTERVAL)
        return self._metadata()

    async def renew(self, *, timeout: float | None = None) -> None:
        """Exchange the token for one with its whole life ahead. Raise a BuracoError, and keep the token then."""
        self._is_renewing = True
        try:
            answer = await self._connection.call(
                self._connection.tables.RenewToken,
                table_service_pb2.RenewTokenRequest(table_id=self._table_id),
                metadata=self._metadata(),
                timeout=timeout,
            )
        finally:
            self._is_renewing = False
        self.text = answer.token
        self.expires_at = answer.token_expires_at.seconds
        self._schedule_renewal(_MIN_RENEWAL_INTERVAL)

    def has_replaced(self, used: str, error: BuracoError) -> bool:
        """Return True if a stream ended because the token it was opened with is no longer the current one.

        >>> import grpc
        >>> token = SeatToken(connection=None, table_id="t", text="new", expires_at=None)
        >>> token.has_replaced("old", TokenRejected(grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED"))
        True
        """
        return isinstance(error, TokenRejected) and used != self.text

    def _metadata(self) -> Metadata:
        return bearer(self.text)

    def _schedule_renewal(self, min_delay: float) -> None:
        if self.expires_at is not None:
            remaining = max(0.0, self.expires_at - time.time())
            self._renewal_time = asyncio.get_running_loop().time() + max(remaining / 2, min_delay)
