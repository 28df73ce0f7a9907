"""Keys that verify the player tokens of a host's backend: a JSON Web Key Set (RFC 7517) in a file.

Each key has one algorithm, by its type, whatever a token's header names: a public key is never taken for the secret of
an HMAC. No ValueError quotes what may be a secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jwt

from buraco_service.access.key_files import read_key_file
from buraco_service.access.seat_tokens import MIN_SECRET_BYTES

_ALGORITHMS: Final = {
    ("RSA", None): "RS256",
    ("EC", "P-256"): "ES256",
    ("OKP", "Ed25519"): "EdDSA",
    ("oct", None): "HS256",
}
"""The algorithm of a key, by its type and curve."""
MIN_RSA_BITS: Final = 2048
MAX_KID_LENGTH: Final = 200


@dataclass(frozen=True, slots=True)
class PlayerKey:
    """A key that verifies, its name in tokens, and its algorithm."""

    kid: str
    algorithm: str
    key: Any = field(repr=False)


def read_player_keys(path: Path) -> tuple[PlayerKey, ...]:
    """Return the keys of a file. Raise ValueError, which names the file, if it has none or one that cannot be used."""
    return read_key_file(path, parse_player_keys)


def parse_player_keys(text: str) -> tuple[PlayerKey, ...]:
    """Return the keys of a key set but those for encryption. Raise ValueError for none, or one that cannot be used.

    >>> parse_player_keys('{"keys": [{"kty": "oct", "kid": "first", "k": "c2hvcnQ"}]}')
    Traceback (most recent call last):
    ...
    ValueError: has a secret of 5 bytes in key 1; 32 are needed
    """
    try:
        listed = json.loads(text)["keys"]
    except (ValueError, TypeError, LookupError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(isinstance(key, dict) for key in listed):
        raise ValueError('is no key set: {"keys": [...]} is needed')
    keys: dict[str, PlayerKey] = {}
    for number, given in enumerate(listed, 1):
        if given.get("use") == "enc":
            continue
        key = _parse_key(given, number)
        if key.kid in keys:
            raise ValueError(f"has the kid of key {number} twice")
        keys[key.kid] = key
    if not keys:
        raise ValueError("has no key for signatures")
    return tuple(keys.values())


def _parse_key(given: Mapping[str, Any], number: int) -> PlayerKey:
    kid, kind, curve = given.get("kid"), given.get("kty"), given.get("crv")
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID_LENGTH:
        raise ValueError(f"has no kid in key {number}, or one of over {MAX_KID_LENGTH} characters")
    algorithm = _ALGORITHMS.get((kind, curve)) if isinstance(kind, str) and isinstance(curve, str | None) else None
    if algorithm is None or given.get("alg", algorithm) != algorithm:
        known = ", ".join(_ALGORITHMS.values())
        raise ValueError(f"has a type, curve or algorithm in key {number} that is not supported: {known} are")
    if algorithm != "HS256" and "d" in given:
        raise ValueError(f"has a private key as key {number}: the public one is needed")
    try:
        found = jwt.PyJWK(dict(given), algorithm)
        # What looks like a key in PEM is refused as a secret.
        key: Any = found.Algorithm.prepare_key(found.key)
    except (jwt.PyJWTError, ValueError, TypeError, LookupError):
        raise ValueError(f"has a malformed key {number}") from None
    if algorithm == "HS256" and len(key) < MIN_SECRET_BYTES:
        raise ValueError(f"has a secret of {len(key)} bytes in key {number}; {MIN_SECRET_BYTES} are needed")
    if algorithm == "RS256" and key.key_size < MIN_RSA_BITS:
        raise ValueError(f"has {key.key_size} bits in RSA key {number}; {MIN_RSA_BITS} are needed")
    return PlayerKey(kid, algorithm, key)
