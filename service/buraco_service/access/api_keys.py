"""API keys: which programs may create tables and use the RulesService, where not everybody may.

A caller sends its secret as metadata `x-api-key`. The service keeps a hash of each secret. The key's name identifies
the caller in logs, in the count of its tables, and as the peer whose watches and requests are limited together.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Self, TypeAlias

import grpc

from buraco_service.errors import ApiError

API_KEY_HEADER: Final = "x-api-key"
MIN_API_SECRET_BYTES: Final = 16
_MAX_SECRET_BYTES: Final = 1024
_KEYED_SERVICE: Final = "/buraco.v1.RulesService/"
_OPENING_METHODS: Final = frozenset({"/buraco.v1.TableService/CreateTable", "/buraco.v1.TableService/QuickJoin"})

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]


class ApiKeyMissing(ApiError):
    """The call needs a key (UNAUTHENTICATED, API_KEY_MISSING)."""

    def __init__(self) -> None:
        super().__init__(
            grpc.StatusCode.UNAUTHENTICATED, "API_KEY_MISSING", f"this call needs an API key: `{API_KEY_HEADER}: <key>`"
        )


class ApiKeyInvalid(ApiError):
    """The key is unknown, or the call has several (UNAUTHENTICATED, API_KEY_INVALID)."""

    def __init__(self) -> None:
        super().__init__(grpc.StatusCode.UNAUTHENTICATED, "API_KEY_INVALID", "the API key is not valid")


class ApiKey(NamedTuple):
    """A key: its name and the SHA-256 of its secret."""

    name: str
    digest: bytes

    @classmethod
    def of(cls, name: str, secret: bytes) -> Self:
        """Return the key with this secret. Secrets are long and random, so that a plain hash hides them."""
        return cls(name, hashlib.sha256(secret).digest())


class ApiKeys:
    """The keys of one server. Without any, everybody may do everything, and keys that are sent are ignored.

    `is_player` returns whether a call with this metadata is a player's, who may create tables without a key; it may
    raise ApiError. None: no player may.
    """

    def __init__(self, keys: Iterable[ApiKey] = (), is_player: Callable[[Metadata], bool] | None = None) -> None:
        self._keys = tuple(keys)
        self._is_player = is_player

    def replace(self, keys: Iterable[ApiKey]) -> None:
        """Use these keys from the next call on. Raise ValueError for none: a server with keys must not become open."""
        fresh = tuple(keys)
        if not fresh:
            raise ValueError("at least one API key is needed")
        self._keys = fresh

    @property
    def are_used(self) -> bool:
        """Return True if there are keys."""
        return bool(self._keys)

    def admit(self, path: str, metadata: Metadata) -> str | None:
        """Return the name of the key of a call of this path; None if it has none and needs none, or there are no keys.

        Raise ApiKeyMissing if it needs one; ApiKeyInvalid, even if it needs none, for an unknown key or several.
        """
        if not self._keys:
            return None
        sent = [value for key, value in metadata if key == API_KEY_HEADER]
        if not sent:
            if path.startswith(_KEYED_SERVICE):
                raise ApiKeyMissing
            if path in _OPENING_METHODS and (self._is_player is None or not self._is_player(metadata)):
                raise ApiKeyMissing
            return None
        name = self._name_of(sent[0]) if len(sent) == 1 else None
        if name is None:
            raise ApiKeyInvalid
        return name

    def _name_of(self, sent: str | bytes) -> str | None:
        secret = sent.encode() if isinstance(sent, str) else sent
        if len(secret) > _MAX_SECRET_BYTES:
            return None
        digest = hashlib.sha256(secret).digest()
        found = None
        # All are compared, each in constant time: the time reveals nothing.
        for key in self._keys:
            if hmac.compare_digest(key.digest, digest):
                found = key.name
        return found
