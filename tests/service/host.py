"""A host's backend: its keys, of every kind, and the player tokens that it signs."""

from __future__ import annotations

import base64
import json
import time
from typing import Any, Final, NamedTuple

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, HMACAlgorithm, OKPAlgorithm, RSAAlgorithm


class HostKey(NamedTuple):
    """A key of the host: what signs, and its public form (of a secret: the secret) as a JWK."""

    kid: str
    algorithm: str
    private: Any
    jwk: dict[str, Any]

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        """Return a token with any claims."""
        return jwt.encode(claims, self.private, self.algorithm, headers={"kid": self.kid, **header})


def _jwk(kid: str, written: Any, **more: str) -> dict[str, Any]:
    return {"kid": kid, **json.loads(written), **more}


def make_rsa(kid: str, bits: int = 2048) -> HostKey:
    """Return a new RSA key."""
    private = rsa.generate_private_key(65537, bits)
    return HostKey(kid, "RS256", private, _jwk(kid, RSAAlgorithm.to_jwk(private.public_key())))


def make_ec(kid: str, curve: ec.EllipticCurve | None = None) -> HostKey:
    """Return a new key on an elliptic curve, by default P-256."""
    private = ec.generate_private_key(curve or ec.SECP256R1())
    return HostKey(kid, "ES256", private, _jwk(kid, ECAlgorithm.to_jwk(private.public_key())))


def make_ed25519(kid: str) -> HostKey:
    """Return a new Ed25519 key."""
    private = ed25519.Ed25519PrivateKey.generate()
    return HostKey(kid, "EdDSA", private, _jwk(kid, OKPAlgorithm.to_jwk(private.public_key()), use="sig"))


def make_secret(kid: str, secret: bytes) -> HostKey:
    """Return a key with a shared secret."""
    return HostKey(kid, "HS256", secret, _jwk(kid, HMACAlgorithm.to_jwk(secret)))


RSA: Final = make_rsa("rsa")
EC: Final = make_ec("ec")
ED25519: Final = make_ed25519("ed")
SECRET: Final = make_secret("shared", b"a secret that host and service share")
KEYS: Final = (RSA, EC, ED25519, SECRET)


def key_set(*keys: HostKey) -> str:
    """Return the text of a key file."""
    return json.dumps({"keys": [key.jwk for key in keys]})


def player_token(player_id: str = "ada", key: HostKey = SECRET, **claims: Any) -> str:
    """Return a token that is valid now, unless claims make it something else; None leaves a claim out."""
    plain = {"sub": player_id, "aud": "player", "exp": int(time.time()) + 3600, "name": "Ada of the host"}
    return key.sign({name: claim for name, claim in (plain | claims).items() if claim is not None})


def unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    """Return a token without a signature."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (header, claims)]
    return ".".join([*parts, ""])
