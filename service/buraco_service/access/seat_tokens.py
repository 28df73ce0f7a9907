"""Seat tokens: who may act for a seat of a table.

A token is a JWT signed with HS256. Its header names the key (`kid`), so that keys can be rotated: the first
key signs, every key verifies. Its claims are iss = "buraco", tbl (table id), seat, jti (the seat's
generation: a seat that is given back gets a new one, which voids the older tokens), iat and exp in whole
seconds since the epoch.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import grpc
import jwt

from buraco_service.errors import ApiError

ISSUER = "buraco"
ALGORITHM = "HS256"
MIN_SECRET_BYTES = 32
# Ours take under 400 characters. Longer ones are refused before they are parsed.
MAX_TOKEN_LENGTH = 2048
# 3 KiB each at most, 12 MiB together.
_MAX_CACHED = 4096
_CLAIMS = ("iss", "tbl", "seat", "jti", "iat", "exp")


class TokenInvalid(ApiError):
    """The token is malformed, of no key of ours, or not a seat token (UNAUTHENTICATED, TOKEN_INVALID)."""

    def __init__(self, message: str = "the seat token is not valid") -> None:
        super().__init__(grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID", message)


class TokenExpired(ApiError):
    """The token was valid once (UNAUTHENTICATED, TOKEN_EXPIRED)."""

    def __init__(self, message: str = "the seat token has expired") -> None:
        super().__init__(grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED", message)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A secret of at least 32 bytes and the name under which tokens refer to it."""

    kid: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) < MIN_SECRET_BYTES:
            raise ValueError(f"a signing key needs at least {MIN_SECRET_BYTES} bytes")


def make_random_key() -> SigningKey:
    """Return a key that nobody else has: its tokens are void once this process has ended."""
    return SigningKey(f"random-{secrets.token_hex(4)}", secrets.token_bytes(MIN_SECRET_BYTES))


class SeatClaims(NamedTuple):
    """The claims of a verified token. Times are whole seconds since the epoch."""

    table_id: str
    seat: int
    token_id: str
    issued_at: int
    expires_at: int
    kid: str
    """The key that signed it."""


class _KeySet:
    """The keys in use, with the tokens that they have proven. It is replaced, never changed."""

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        if not keys:
            raise ValueError("at least one signing key is needed")
        self.signing = keys[0]
        self._secrets = {key.kid: key.secret for key in keys}
        if len(self._secrets) != len(keys):
            raise ValueError("two signing keys have the same kid")
        # Only the proof is cached. Expiry depends on the time of the call and is checked each time.
        self.prove = lru_cache(maxsize=_MAX_CACHED)(self._prove)

    def _prove(self, token: str) -> SeatClaims:
        try:
            kid = jwt.get_unverified_header(token)["kid"]
            secret = self._secrets[kid]
            claims: dict[str, Any] = jwt.decode(
                token,
                secret,
                algorithms=[ALGORITHM],
                issuer=ISSUER,
                options={
                    "require": list(_CLAIMS),
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                    "verify_aud": False,
                },
            )
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            # From None: the cause may quote the token.
            raise TokenInvalid from None
        found = SeatClaims(claims["tbl"], claims["seat"], claims["jti"], claims["iat"], claims["exp"], kid)
        # `type` and not isinstance: true is no seat.
        if [type(claim) for claim in found[:5]] != [str, int, str, int, int]:
            raise TokenInvalid
        return found

    def secret_of(self, kid: str) -> bytes:
        """Return the secret of the key of this name. Raise KeyError."""
        return self._secrets[kid]

    def has(self, kid: str) -> bool:
        """Return True if a key of this name is among them."""
        return kid in self._secrets


class SeatTokens:
    """Issues and verifies seat tokens. `ttl` is the life of a token in seconds."""

    def __init__(self, keys: Sequence[SigningKey], ttl: float) -> None:
        self._ttl = int(ttl)
        self._keys = _KeySet(keys)

    def replace_keys(self, keys: Sequence[SigningKey]) -> None:
        """Use these keys from the next call on: tokens of others are void. Raise ValueError for none, or equal kids."""
        self._keys = _KeySet(keys)

    @property
    def signing_key(self) -> SigningKey:
        """Return the key that signs now."""
        return self._keys.signing

    def secret_of(self, kid: str) -> bytes:
        """Return the secret of the key of this name. Raise KeyError if it is none of those in use."""
        return self._keys.secret_of(kid)

    def issue(self, table_id: str, seat: int, token_id: str, now: float) -> str:
        """Return the token for one generation of a seat, valid from `now` (seconds since the epoch).

        Equal arguments give equal tokens.
        """
        issued_at = int(now)
        claims = {
            "iss": ISSUER,
            "tbl": table_id,
            "seat": seat,
            "jti": token_id,
            "iat": issued_at,
            "exp": self.expiry_of(issued_at),
        }
        signing = self._keys.signing
        return jwt.encode(claims, signing.secret, ALGORITHM, headers={"kid": signing.kid})

    def expiry_of(self, issued_at: float) -> int:
        """Return when a token issued then expires, both in seconds since the epoch."""
        return int(issued_at) + self._ttl

    def verify(self, token: str, now: float) -> SeatClaims:
        """Return the claims of a token that we signed and that has not expired at `now`.

        Raise TokenInvalid or TokenExpired. Only the table knows whether the generation (`token_id`) still holds the
        seat.
        """
        if len(token) > MAX_TOKEN_LENGTH:
            raise TokenInvalid
        claims = self._keys.prove(token)
        self.check(claims, now)
        return claims

    def is_seat_token(self, token: str) -> bool:
        """Return True for a token that we signed, expired or not."""
        try:
            return len(token) <= MAX_TOKEN_LENGTH and bool(self._keys.prove(token))
        except TokenInvalid:
            return False

    def check(self, claims: SeatClaims, now: float) -> None:
        """Raise TokenExpired or TokenInvalid if a token that was verified has expired, or its key was removed."""
        if now >= claims.expires_at:
            raise TokenExpired
        if not self._keys.has(claims.kid):
            raise TokenInvalid


def parse_bearer(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """Return the token of a call's `authorization: Bearer <token>`; None without the header. Raise TokenInvalid.

    >>> parse_bearer([("authorization", "Bearer abc")])
    'abc'
    """
    found: str | None = None
    for key, value in metadata or ():
        if key != "authorization":
            continue
        if found is not None:
            raise TokenInvalid("there is more than one authorization header")
        scheme, _, token = (value if isinstance(value, str) else "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or " " in token:
            raise TokenInvalid("the authorization header must be `Bearer <token>`")
        found = token
    return found
