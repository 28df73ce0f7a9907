"""Player tokens: who somebody is, wherever and at whichever table.

A token is a JWT. Those of a host's own backend are verified by the host's keys; see `player_keys`. Those of guests are
signed by the service with the keys of its seat tokens. The header of a guest's token has a type of its own, and its
claims have an issuer and an audience of their own, so that no seat token is a player token, nor the other way round.
"""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import grpc
import jwt

from buraco_service.access.player_keys import PlayerKey
from buraco_service.access.seat_tokens import ALGORITHM, SeatTokens, TokenInvalid, parse_bearer
from buraco_service.errors import ApiError, failed_precondition

GUEST_PREFIX: Final = "guest-"
"""The start of every guest's id, and of no other."""
MAX_PLAYER_TOKEN_LENGTH: Final = 4096
_GUEST_TYPE: Final = "guest+jwt"
_GUEST_ISSUER: Final = "buraco-guest"
_GUEST_AUDIENCE: Final = "buraco-guest"
_PLAYER_ID: Final = re.compile(r"[!-~]{1,128}")


def is_player_id(text: str) -> bool:
    """Return True if a player can have this id: 1 to 128 visible ASCII characters.

    >>> is_player_id("ada"), is_player_id("Ada Lovelace")
    (True, False)
    """
    return _PLAYER_ID.fullmatch(text) is not None


_NO_TIMES: Final = {"verify_exp": False, "verify_nbf": False, "verify_iat": False}
"""They are checked here, by the clock and the skew that are set."""
_MAX_SECONDS: Final = 1e11


class PlayerTokenInvalid(ApiError):
    """The token is malformed, of no key known here, or not for this service (UNAUTHENTICATED)."""

    def __init__(self, message: str = "the player token is not valid") -> None:
        super().__init__(grpc.StatusCode.UNAUTHENTICATED, "PLAYER_TOKEN_INVALID", message)


class PlayerTokenExpired(ApiError):
    """The token was valid once (UNAUTHENTICATED)."""

    def __init__(self) -> None:
        super().__init__(grpc.StatusCode.UNAUTHENTICATED, "PLAYER_TOKEN_EXPIRED", "the player token has expired")


class PlayerTokenMissing(ApiError):
    """The call is about a player, and does not say which (UNAUTHENTICATED)."""

    def __init__(self) -> None:
        message = "this call needs a player token: `authorization: Bearer <token>`"
        super().__init__(grpc.StatusCode.UNAUTHENTICATED, "PLAYER_TOKEN_MISSING", message)


class Player(NamedTuple):
    """Who somebody is."""

    id: str
    name: str
    """As the token has it, unchecked; perhaps empty."""


class GuestToken(NamedTuple):
    """A token that the service has signed for a new guest."""

    token: str
    player_id: str
    expires_at: int
    """Seconds since the epoch."""


class PlayerTokens:
    """Verifies player tokens and issues those of guests.

    `clock_skew` is how many seconds the clocks of host and service may differ, `guest_ttl` the life of a guest's token.
    """

    def __init__(
        self,
        seat_tokens: SeatTokens,
        *,
        audience: str = "player",
        clock_skew: float = 30.0,
        guests: bool = True,
        guest_ttl: float = 2_592_000.0,
    ) -> None:
        self._seat_tokens = seat_tokens
        self._audience = audience
        self._clock_skew = clock_skew
        self._guests = guests
        self._guest_ttl = int(guest_ttl)
        self._keys: dict[str, PlayerKey] = {}

    def replace_keys(self, keys: Iterable[PlayerKey]) -> None:
        """Use these keys of the host from the next call on."""
        self._keys = {key.kid: key for key in keys}

    def issue_to_guest(self, name: str, now: float) -> GuestToken:
        """Return a token for a guest with a new id. Raise SIGN_IN_DISABLED where guests are not allowed."""
        if not self._guests:
            raise failed_precondition("SIGN_IN_DISABLED", "the service signs in no guests")
        player_id = GUEST_PREFIX + base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()
        expires_at = int(now) + self._guest_ttl
        claims = {
            "iss": _GUEST_ISSUER,
            "aud": _GUEST_AUDIENCE,
            "sub": player_id,
            "name": name,
            "iat": int(now),
            "exp": expires_at,
        }
        key = self._seat_tokens.signing_key
        token = jwt.encode(claims, key.secret, ALGORITHM, headers={"kid": key.kid, "typ": _GUEST_TYPE})
        return GuestToken(token, player_id, expires_at)

    def verify(self, token: str, now: float) -> Player:
        """Return the player of a token of the host or a guest, valid at `now` (seconds since the epoch).

        Raise PlayerTokenInvalid or PlayerTokenExpired.
        """
        if len(token) > MAX_PLAYER_TOKEN_LENGTH:
            raise PlayerTokenInvalid
        try:
            header = jwt.get_unverified_header(token)
            is_guest = header.get("typ") == _GUEST_TYPE
            claims = self._prove_guest(token, header["kid"]) if is_guest else self._prove(token, header["kid"])
        except (jwt.PyJWTError, LookupError, TypeError, ValueError, RecursionError):
            # From None: the cause may quote the token.
            raise PlayerTokenInvalid from None
        self._check_times(claims, now)
        player_id, name = claims["sub"], claims.get("name", "")
        if not isinstance(player_id, str) or not is_player_id(player_id) or not isinstance(name, str):
            raise PlayerTokenInvalid
        if player_id.startswith(GUEST_PREFIX) is not is_guest:
            raise PlayerTokenInvalid
        return Player(player_id, name)

    def read_bearer(self, metadata: Iterable[tuple[str, str | bytes]] | None, now: float) -> Player | None:
        """Return the player of a call's `authorization: Bearer <token>`; None without the header. Raise as `verify`.

        A seat token is ignored: some clients send theirs with every call.
        """
        try:
            token = parse_bearer(metadata)
        except TokenInvalid as error:
            raise PlayerTokenInvalid(error.message) from None
        if token is None or self._seat_tokens.is_seat_token(token):
            return None
        return self.verify(token, now)

    def _prove(self, token: str, kid: str) -> dict[str, Any]:
        key = self._keys[kid]
        required = {"require": ["aud", "sub", "exp"], **_NO_TIMES}
        return jwt.decode(token, key.key, [key.algorithm], audience=self._audience, options=required)  # type: ignore[arg-type]

    def _prove_guest(self, token: str, kid: str) -> dict[str, Any]:
        required = {"require": ["iss", "aud", "sub", "exp"], **_NO_TIMES}
        return jwt.decode(
            token,
            self._seat_tokens.secret_of(kid),
            [ALGORITHM],
            audience=_GUEST_AUDIENCE,
            issuer=_GUEST_ISSUER,
            options=required,  # type: ignore[arg-type]
        )

    def _check_times(self, claims: Mapping[str, Any], now: float) -> None:
        if now >= _time(claims["exp"]) + self._clock_skew:
            raise PlayerTokenExpired
        begun = [_time(claims[name]) for name in ("nbf", "iat") if name in claims]
        if max(begun, default=now) > now + self._clock_skew:
            raise PlayerTokenInvalid("the player token is not valid yet")


def _time(claim: Any) -> float:
    """Return a claim in seconds since the epoch. Raise PlayerTokenInvalid if it is no such time."""
    # `type` and not isinstance: true is no time.
    if type(claim) not in (int, float) or not 0 <= claim < _MAX_SECONDS:
        raise PlayerTokenInvalid
    return float(claim)
