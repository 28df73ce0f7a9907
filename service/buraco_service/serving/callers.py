"""Who calls: the holder of a seat by its token, a player by a player token, an operator by an API key."""

from typing import Any

import grpc.aio

from buraco_service import errors
from buraco_service.access.admission import current_caller
from buraco_service.access.player_tokens import Player, PlayerTokens
from buraco_service.access.seat_tokens import SeatClaims, parse_bearer
from buraco_service.serving.metadata import call_metadata
from buraco_service.tables.creators import Owner, owner_of
from buraco_service.tables.tables import Tables

Context = grpc.aio.ServicerContext[Any, Any]


class Callers:
    """Verifies the tokens of calls. All methods raise the errors of tokens that are sent and not valid."""

    def __init__(self, tables: Tables, players: PlayerTokens) -> None:
        self._tables = tables
        self._players = players

    def claims(self, context: Context) -> SeatClaims | None:
        """Return the claims of the caller's token; None without a token."""
        token = parse_bearer(call_metadata(context))
        return None if token is None else self._tables.tokens.verify(token, self._tables.clock())

    def seat_claims(self, context: Context) -> SeatClaims:
        """Return the claims of the caller's token. Raise TOKEN_MISSING without one."""
        claims = self.claims(context)
        if claims is None:
            raise errors.token_missing()
        return claims

    def player(self, context: Context) -> Player | None:
        """Return the player of the caller's player token; None without a token."""
        return self._players.read_bearer(call_metadata(context), self._tables.clock())

    def owner(self, player: Player | None) -> Owner:
        """Return for whom a call opens a table."""
        player_id = "" if player is None else player.id
        return owner_of(player_id, current_caller(), players_may=self._tables.max_player_tables > 0)
