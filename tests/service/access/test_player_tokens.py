from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from buraco_service.access.player_keys import parse_player_keys, read_player_keys
from buraco_service.access.player_tokens import (
    MAX_PLAYER_TOKEN_LENGTH,
    Player,
    PlayerTokenExpired,
    PlayerTokenInvalid,
    PlayerTokens,
)
from buraco_service.access.seat_tokens import SeatTokens, SigningKey, TokenInvalid
from buraco_service.errors import ApiError
from tests.service import host
from tests.service.host import EC, ED25519, KEYS, RSA, SECRET, HostKey, key_set, player_token, unsigned
from tests.service.table_server import KEY

EVERY_KEY = pytest.mark.parametrize("key", KEYS, ids=lambda key: key.algorithm)


def make_tokens(*keys: HostKey, **options: Any) -> PlayerTokens:
    """The tokens of a service with these keys of the host."""
    tokens = PlayerTokens(SeatTokens((KEY,), 3600), **options)
    tokens.replace_keys(parse_player_keys(key_set(*(keys or KEYS))))
    return tokens


TOKENS = make_tokens()


def refused(token: str, tokens: PlayerTokens = TOKENS, now: float | None = None) -> str:
    """The reason for which a token is refused. Nothing of the token is in the error."""
    with pytest.raises(ApiError) as caught:
        tokens.verify(token, time.time() if now is None else now)
    error = caught.value
    assert error.code.name == "UNAUTHENTICATED"
    assert not any(part in error.message for part in token.split(".") if len(part) > 3)
    assert error.__cause__ is None
    assert error.metadata == {}
    return error.reason


INVALID = "PLAYER_TOKEN_INVALID"


@EVERY_KEY
def test_token_of_the_host(key: HostKey) -> None:
    """A token signed with any key of the host says who the player is and what the player is called."""
    assert TOKENS.verify(player_token("ada@1", key), time.time()) == Player("ada@1", "Ada of the host")
    assert TOKENS.verify(player_token("b", key, name=None, aud=["x", "player"]), time.time()) == Player("b", "")


@EVERY_KEY
def test_signature(key: HostKey) -> None:
    """A token of which a part was changed, or that another key of that name signed, is refused."""
    token = player_token("ada", key)
    header, claims, signature = token.split(".")
    other = player_token("bo", key).split(".")
    flipped = ("A" if signature[5] != "A" else "B").join((signature[:5], signature[6:]))
    forgers: dict[str, Callable[[str], HostKey]] = {
        "RS256": host.make_rsa,
        "ES256": host.make_ec,
        "EdDSA": host.make_ed25519,
        "HS256": lambda kid: host.make_secret(kid, b"x" * 32),
    }
    forger = forgers[key.algorithm](key.kid)
    for forged in (
        f"{header}.{other[1]}.{signature}",
        f"{header}.{claims}.{flipped}",
        f"{header}.{claims}.",
        f"{header}.{claims}",
        player_token("ada", forger),
    ):
        assert refused(forged) == INVALID


@pytest.mark.parametrize("kid", ["rsa", "shared", "unknown", None])
@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", ""])
def test_no_algorithm(kid: str | None, algorithm: str) -> None:
    """A token without a signature is refused, however it names its key."""
    claims = jwt.decode(player_token(), options={"verify_signature": False})
    assert refused(unsigned({"alg": algorithm, "typ": "JWT", "kid": kid}, claims)) == INVALID
    assert refused(unsigned({"alg": algorithm, "typ": "guest+jwt", "kid": KEY.kid}, claims)) == INVALID


@pytest.mark.parametrize("key", [RSA, EC, ED25519], ids=lambda key: key.algorithm)
def test_public_key_is_no_secret(key: HostKey) -> None:
    """A token that is signed by HMAC with a public key, in whatever form, is refused."""
    public = key.private.public_key()
    forms = [
        public.public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
        for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER)
    ]
    claims = jwt.decode(player_token(), options={"verify_signature": False})
    for secret in (*forms, json.dumps(key.jwk).encode()):
        signed = unsigned({"alg": "HS256", "typ": "JWT", "kid": key.kid}, claims)[:-1]
        digest = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
        assert refused(f"{signed}.{jwt.utils.base64url_encode(digest).decode()}") == INVALID


def test_algorithm_of_another_key() -> None:
    """A key verifies by its own algorithm only, also one that its type could do."""
    claims = jwt.decode(player_token(), options={"verify_signature": False})
    for algorithm in ("RS384", "PS256"):
        assert refused(jwt.encode(claims, RSA.private, algorithm, headers={"kid": "rsa"})) == INVALID
    assert refused(jwt.encode(claims, SECRET.private * 2, "HS512", headers={"kid": "shared"})) == INVALID
    assert refused(SECRET._replace(kid="rsa").sign(claims)) == INVALID
    assert refused(RSA._replace(kid="shared").sign(claims)) == INVALID


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "other"},
        {"aud": None},
        {"aud": []},
        {"aud": 7},
        {"aud": "buraco-guest"},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "a" * 129},
        {"sub": "a\nb"},
        {"sub": "a\0"},
        {"sub": "a b"},
        {"sub": "ada\n"},
        {"sub": "zoë"},
        {"sub": "guest-aaaaaaaaaaaaaaaaaaaaaaaaaa"},
        {"exp": None},
        {"exp": "2099-01-01"},
        {"exp": True},
        {"exp": -1},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": 10**400},
        {"exp": []},
        {"nbf": "now"},
        {"iat": float("nan")},
        {"name": 7},
        {"name": ["Ada"]},
    ],
    ids=str,
)
def test_bad_claims(claims: dict[str, Any]) -> None:
    """A token for another audience, of nobody in particular, or without an end is refused."""
    assert refused(player_token(**{"player_id": claims.pop("sub")} if "sub" in claims else {}, **claims)) == INVALID


def test_longest_id() -> None:
    """An id has up to 128 visible characters."""
    player_id = "!~" * 64
    assert TOKENS.verify(player_token(player_id), time.time()).id == player_id


def test_times() -> None:
    """A token holds from `nbf` and `iat` until `exp`, and so long before and after as clocks may differ."""
    now = 1_800_000_000
    tokens = make_tokens(clock_skew=30)
    token = player_token("ada", exp=now, nbf=now - 60, iat=now - 50.5)
    for valid in (now - 80.5, now, now + 29.9):
        assert tokens.verify(token, valid).id == "ada"
    assert refused(token, tokens, now - 81) == INVALID
    assert refused(token, tokens, now + 30) == "PLAYER_TOKEN_EXPIRED"
    exact = make_tokens(clock_skew=0)
    assert refused(token, exact, now) == "PLAYER_TOKEN_EXPIRED"
    assert refused(token, exact, now - 50.6) == INVALID


def test_expired_and_forged() -> None:
    """What a forged token claims is not looked at."""
    forger = host.make_secret("shared", b"x" * 32)
    assert refused(player_token("ada", forger, exp=1)) == INVALID


@pytest.mark.parametrize(
    "header",
    [{"crit": ["exp"]}, {"crit": ["b64"], "b64": False}, {"kid": None}, {"kid": 7}, {"kid": ["shared"]}, {"kid": {}}],
    ids=str,
)
def test_bad_headers(header: dict[str, Any]) -> None:
    """A token is refused if its header asks for more than is understood, or names no key."""
    signed = unsigned({"alg": "HS256", "kid": "shared", **header}, {"sub": "ada", "aud": "player", "exp": 2e9})[:-1]
    digest = hmac.new(SECRET.private, signed.encode(), hashlib.sha256).digest()
    assert refused(f"{signed}.{jwt.utils.base64url_encode(digest).decode()}") == INVALID


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=300))
def test_any_text(text: str) -> None:
    """Whatever is sent is a token or refused as one."""
    with pytest.raises(PlayerTokenInvalid):
        TOKENS.verify(text, 0)


@given(st.integers(0, 2000), st.characters(codec="ascii"))
def test_any_change(place: int, character: str) -> None:
    """A token with any character changed is not another player's."""
    token = player_token("ada", ED25519, exp=2_000_000_000)
    place %= len(token)
    with contextlib.suppress(PlayerTokenInvalid):
        assert TOKENS.verify(token[:place] + character + token[place + 1 :], 1_800_000_000).id == "ada"


def test_length() -> None:
    """A token that is too long is not parsed."""
    assert refused(player_token(extra="x" * MAX_PLAYER_TOKEN_LENGTH)) == INVALID
    assert refused("." * 100_000) == INVALID


def test_audience_is_a_setting() -> None:
    """A service is one audience, which it is set to; guests have their own."""
    tokens = make_tokens(audience="https://play.example")
    assert tokens.verify(player_token(aud="https://play.example"), time.time()).id == "ada"
    assert refused(player_token(), tokens) == INVALID
    guest = tokens.issue_to_guest("Zoë", 1000)
    assert tokens.verify(guest.token, 1000) == Player(guest.player_id, "Zoë")


def test_guests() -> None:
    """Each guest is another player, under an id that cannot be guessed, until the token ends."""
    tokens = make_tokens(guest_ttl=600, clock_skew=0)
    first, second = (tokens.issue_to_guest("Zoë", 1000.5) for _ in range(2))
    assert first.player_id != second.player_id
    assert first.player_id.startswith("guest-")
    assert len(first.player_id) == len("guest-") + 26
    assert first.expires_at == 1600
    assert tokens.verify(first.token, 1599.9) == Player(first.player_id, "Zoë")
    with pytest.raises(PlayerTokenExpired):
        tokens.verify(first.token, 1600)


def test_guests_after_a_rotation() -> None:
    """Guests stay who they are as long as the key that signed their token is there, as seats do."""
    old, new = SigningKey("old", b"o" * 32), SigningKey("new", b"n" * 32)
    seats = SeatTokens((old,), 3600)
    tokens = PlayerTokens(seats)
    guest = tokens.issue_to_guest("Zoë", 1000)
    seats.replace_keys((new, old))
    assert tokens.verify(guest.token, 1000).id == guest.player_id
    later = tokens.issue_to_guest("Zoë", 1000)
    assert jwt.get_unverified_header(later.token) == {"alg": "HS256", "kid": "new", "typ": "guest+jwt"}
    seats.replace_keys((new,))
    assert refused(guest.token, tokens, 1000) == INVALID


def test_guest_token_of_the_host() -> None:
    """The host cannot sign for guests, and a guest's token with the header of the host's is of no key."""
    guest = make_tokens().issue_to_guest("Zoë", time.time())
    claims = jwt.decode(guest.token, options={"verify_signature": False})
    assert refused(SECRET.sign(claims, typ="guest+jwt")) == INVALID
    assert refused(SECRET.sign(claims)) == INVALID
    assert refused(SECRET.sign(claims | {"aud": "player"})) == INVALID
    ours = {"kid": KEY.kid}
    assert refused(jwt.encode(claims, KEY.secret, "HS256", headers=ours)) == INVALID
    as_host = claims | {"sub": "ada"}
    assert refused(jwt.encode(as_host, KEY.secret, "HS256", headers=ours | {"typ": "guest+jwt"})) == INVALID


def test_seat_tokens_and_player_tokens() -> None:
    """No seat token is a player token, and none the other way round, even if host and service share a secret."""
    seats = SeatTokens((KEY,), 3600)
    tokens = PlayerTokens(seats)
    tokens.replace_keys(parse_player_keys(key_set(host.make_secret(KEY.kid, KEY.secret))))
    now = time.time()
    seat = seats.issue("a" * 32, 0, "generation", now)
    assert refused(seat, tokens) == INVALID
    assert tokens.read_bearer([("authorization", f"Bearer {seat}")], now) is None
    for token in (tokens.issue_to_guest("Zoë", now).token, player_token("ada", host.make_secret(KEY.kid, KEY.secret))):
        assert tokens.verify(token, now)
        with pytest.raises(TokenInvalid):
            seats.verify(token, now)


def test_keys_for_encryption_are_passed_over() -> None:
    """A key set may hold keys for encryption: they verify nothing."""
    encrypting = host.make_rsa("enc")
    encrypting.jwk["use"] = "enc"
    text = json.dumps({"keys": [encrypting.jwk, {"use": "enc", "kty": "future"}, EC.jwk | {"alg": "ES256"}]})
    assert [key.kid for key in parse_player_keys(text)] == ["ec"]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ([], "has no key for signatures"),
        ([RSA.jwk | {"use": "enc"}], "has no key for signatures"),
        ([EC.jwk, RSA.jwk | {"kid": "ec"}], "has the kid of key 2 twice"),
        ([RSA.jwk | {"kid": None}], "has no kid in key 1, or one of over 200 characters"),
        ([RSA.jwk | {"kid": "k" * 201}], "has no kid in key 1, or one of over 200 characters"),
        ([EC.jwk, RSA.jwk | {"alg": "RS512"}], "has a type, curve or algorithm in key 2 that is not supported:"),
        ([RSA.jwk | {"alg": "HS256"}], "has a type, curve or algorithm in key 1 that is not supported:"),
        ([RSA.jwk | {"alg": "none"}], "has a type, curve or algorithm in key 1 that is not supported:"),
        ([RSA.jwk | {"kty": ["RSA"]}], "has a type, curve or algorithm in key 1 that is not supported:"),
        ([host.make_ec("k", ec.SECP384R1()).jwk], "has a type, curve or algorithm in key 1 that is not supported:"),
        ([ED25519.jwk | {"crv": "Ed448"}], "has a type, curve or algorithm in key 1 that is not supported:"),
        ([ED25519.jwk | {"d": "AAAA"}], "has a private key as key 1: the public one is needed"),
        ([EC.jwk | {"x": "AAAA"}], "has a malformed key 1"),
        ([EC.jwk | {"x": EC.jwk["y"]}], "has a malformed key 1"),
        ([EC.jwk | {"x": 7}], "has a malformed key 1"),
        ([{"kid": "rsa", "kty": "RSA", "e": "AQAB"}], "has a malformed key 1"),
        ([{"kid": "k", "kty": "oct"}], "has a malformed key 1"),
        ([SECRET.jwk | {"k": 7}], "has a malformed key 1"),
        ([host.make_secret("k", b"hush" * 7).jwk], "has a secret of 28 bytes in key 1; 32 are needed"),
        ([host.make_rsa("k", 1024).jwk], "has 1024 bits in RSA key 1; 2048 are needed"),
    ],
)
def test_bad_keys(keys: list[dict[str, Any]], problem: str) -> None:
    """A key that cannot be used, or that would be of no use, is named by its place, and nothing of it is shown."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        parse_player_keys(json.dumps({"keys": keys}))
    assert str(caught.value).startswith(problem)
    assert caught.value.__cause__ is None


def test_pem_is_no_secret() -> None:
    """A shared secret that is a public key in PEM is a mistake."""
    pem = RSA.private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(ValueError, match="has a malformed key 1"):
        parse_player_keys(
            json.dumps({"keys": [{"kid": "k", "kty": "oct", "k": jwt.utils.base64url_encode(pem).decode()}]})
        )


@pytest.mark.parametrize(
    "text", ["", "first secret", "[]", "{}", '{"keys": {}}', '{"keys": ["k"]}', "7", "[" * 100_000]
)
def test_no_key_set(tmp_path: Path, text: str) -> None:
    """A file that is no key set is named, and not quoted."""
    path = tmp_path / "keys"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        read_player_keys(path)
    assert str(caught.value) == f'{str(path)!r} is no key set: {{"keys": [...]}} is needed'


def test_unreadable_files(tmp_path: Path) -> None:
    """A file that is missing or no text is named, with the reason."""
    path = tmp_path / "keys"
    with pytest.raises(ValueError, match="cannot be read: No such file or directory"):
        read_player_keys(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ValueError, match="is not a text in UTF-8"):
        read_player_keys(path)
