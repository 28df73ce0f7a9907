from __future__ import annotations

import base64
import json
from typing import Any

import grpc
import jwt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buraco_service.access.seat_tokens import (
    SeatClaims,
    SeatTokens,
    SigningKey,
    TokenExpired,
    TokenInvalid,
    make_random_key,
    parse_bearer,
)

KEY = SigningKey("k1", b"0123456789abcdef0123456789abcdef")
OLD_KEY = SigningKey("k0", b"fedcba9876543210fedcba9876543210")
NOW = 1_800_000_000.25
TOKENS = SeatTokens([KEY], ttl=3600)
TOKEN = TOKENS.issue("table-1", 2, "generation-1", NOW)
CLAIMS: dict[str, Any] = {
    "iss": "buraco",
    "tbl": "table-1",
    "seat": 2,
    "jti": "generation-1",
    "iat": 1_800_000_000,
    "exp": 1_800_003_600,
}


def signed(claims: dict[str, Any], key: SigningKey = KEY, algorithm: str = "HS256", **header: Any) -> str:
    """A token with any claims, signed with any key."""
    return jwt.encode(claims, key.secret, algorithm, headers={"kid": key.kid, **header})


def raw(header: str) -> str:
    """Our token under another header."""
    return base64.urlsafe_b64encode(header.encode()).decode().rstrip("=") + TOKEN[TOKEN.index(".") :]


def test_round_trip() -> None:
    """A token says, to who verifies it, what it was issued for."""
    assert TOKENS.verify(TOKEN, NOW) == SeatClaims("table-1", 2, "generation-1", 1_800_000_000, 1_800_003_600, "k1")


def test_equal_arguments_give_an_equal_token() -> None:
    """Issuing is deterministic, so that a repeated request gets the first answer."""
    assert SeatTokens([KEY], ttl=3600).issue("table-1", 2, "generation-1", NOW) == TOKEN
    assert TOKENS.issue("table-1", 2, "generation-2", NOW) != TOKEN


def test_standard_form() -> None:
    """A token is a plain JWT with HS256 and a kid."""
    assert jwt.get_unverified_header(TOKEN) == {"alg": "HS256", "kid": "k1", "typ": "JWT"}
    assert jwt.decode(TOKEN, options={"verify_signature": False}) == CLAIMS
    assert signed(CLAIMS) == TOKEN


def test_expiry() -> None:
    """A token is good until the second it expires, even after it was verified and cached."""
    tokens = SeatTokens([KEY], ttl=3600)
    assert tokens.verify(TOKEN, 1_800_003_599.9).seat == 2
    with pytest.raises(TokenExpired) as caught:
        tokens.verify(TOKEN, 1_800_003_600)
    assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED")
    assert tokens.verify(TOKEN, 1_800_003_599.9).seat == 2


def test_rotation() -> None:
    """After a rotation the new key signs, tokens of the old one are good until it is taken away."""
    old = SeatTokens([OLD_KEY], ttl=3600)
    both = SeatTokens([KEY, OLD_KEY], ttl=3600)
    earlier = old.issue("table-1", 2, "generation-1", NOW)
    assert both.issue("table-1", 2, "generation-1", NOW) == TOKEN
    assert both.verify(earlier, NOW)._replace(kid="k1") == both.verify(TOKEN, NOW)
    with pytest.raises(TokenInvalid):
        TOKENS.verify(earlier, NOW)


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="empty"),
        pytest.param("abc", id="no jwt"),
        pytest.param("a.b.c", id="no base64"),
        pytest.param(TOKEN[:-4], id="cut"),
        pytest.param(TOKEN + "." + TOKEN, id="two"),
        pytest.param("ü" + TOKEN, id="not ascii"),
        pytest.param("x" * 100_000, id="huge"),
        pytest.param(signed(CLAIMS, SigningKey("k1", OLD_KEY.secret)), id="another secret under our kid"),
        pytest.param(signed(CLAIMS, OLD_KEY), id="unknown kid"),
        pytest.param(jwt.encode(CLAIMS, KEY.secret, "HS256"), id="no kid"),
        pytest.param(TOKEN.replace(".", "..", 1), id="empty claims"),
        pytest.param(raw('{"alg": "HS256", "typ": "JWT", "kid": ["k1"]}'), id="a list as kid"),
        pytest.param(raw('{"alg": "HS256", "typ": "JWT", "kid": null}'), id="null as kid"),
        pytest.param(raw('["HS256"]'), id="a list as header"),
        pytest.param(jwt.encode(CLAIMS, "", "none", headers={"kid": "k1"}), id="alg none"),
        pytest.param(
            signed(CLAIMS, SigningKey("k1", KEY.secret * 2), algorithm="HS512"), id="another algorithm and secret"
        ),
        pytest.param(signed({**CLAIMS, "iss": "someone"}), id="another issuer"),
        pytest.param(signed({**CLAIMS, "seat": True}), id="a boolean seat"),
        pytest.param(signed({**CLAIMS, "seat": "2"}), id="a textual seat"),
        pytest.param(signed({**CLAIMS, "tbl": 7}), id="a numeric table"),
        pytest.param(signed({**CLAIMS, "exp": "soon"}), id="a textual expiry"),
        pytest.param(signed({**CLAIMS, "exp": 1e400}), id="an endless expiry"),
        *(
            pytest.param(signed({key: value for key, value in CLAIMS.items() if key != missing}), id=f"no {missing}")
            for missing in CLAIMS
        ),
    ],
)
def test_no_seat_token(token: str) -> None:
    """Whatever is not a token of ours is refused, without quoting it and without a cause that quotes it."""
    with pytest.raises(TokenInvalid) as caught:
        TOKENS.verify(token, NOW)
    error = caught.value
    assert (error.code, error.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID")
    assert error.message == "the seat token is not valid"
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


def test_algorithm_is_pinned() -> None:
    """A token signed with our own secret but another algorithm is refused."""
    long_key = SigningKey("k1", b"0123456789abcdef" * 8)
    tokens = SeatTokens([long_key], ttl=3600)
    for algorithm in ("HS384", "HS512"):
        with pytest.raises(TokenInvalid):
            tokens.verify(signed(CLAIMS, long_key, algorithm), NOW)


@given(place=st.integers(0, len(TOKEN) - 1), letter=st.sampled_from("ABCDabcd0123-_."))
@settings(max_examples=200, deadline=None)
def test_no_forgery(place: int, letter: str) -> None:
    """A token with a changed letter is refused, or has exactly the claims that it had before."""
    forged = TOKEN[:place] + letter + TOKEN[place + 1 :]
    try:
        claims = TOKENS.verify(forged, NOW)
    except TokenInvalid:
        return
    # The last letter of a part holds bits that base64 ignores.
    assert claims == TOKENS.verify(TOKEN, NOW)


def test_raised_seat() -> None:
    """A token whose claims were exchanged under the old signature is refused."""
    header, _, signature = TOKEN.split(".")
    claims = base64.urlsafe_b64encode(json.dumps({**CLAIMS, "seat": 3}).encode()).decode().rstrip("=")
    with pytest.raises(TokenInvalid):
        TOKENS.verify(f"{header}.{claims}.{signature}", NOW)


def test_keys() -> None:
    """Weak, missing and ambiguous keys are refused; random ones differ; no repr shows a secret."""
    with pytest.raises(ValueError, match="at least 32 bytes"):
        SigningKey("k1", b"short")
    with pytest.raises(ValueError, match="at least one"):
        SeatTokens([], ttl=60)
    with pytest.raises(ValueError, match="same kid"):
        SeatTokens([KEY, SigningKey("k1", OLD_KEY.secret)], ttl=60)
    assert make_random_key().secret != make_random_key().secret
    assert "0123" not in repr(KEY)


@pytest.mark.parametrize(
    ("metadata", "token"),
    [
        (None, None),
        ((), None),
        ((("user-agent", "x"),), None),
        ((("authorization", "Bearer abc"),), "abc"),
        ((("authorization", "bearer  abc "),), "abc"),
    ],
)
def test_bearer(metadata: tuple[tuple[str, str | bytes], ...] | None, token: str | None) -> None:
    """The token of a call stands in its authorization header; a call need not have one."""
    assert parse_bearer(metadata) == token


@pytest.mark.parametrize(
    "metadata",
    [
        (("authorization", ""),),
        (("authorization", "Bearer"),),
        (("authorization", "Bearer   "),),
        (("authorization", "Basic abc"),),
        (("authorization", "Bearer a b"),),
        (("authorization", "abc"),),
        (("authorization", b"Bearer abc"),),
        (("authorization", "Bearer abc"), ("authorization", "Bearer abc")),
    ],
)
def test_malformed_bearer(metadata: tuple[tuple[str, str | bytes], ...]) -> None:
    """A malformed or repeated authorization header is an error, not a call without a token."""
    with pytest.raises(TokenInvalid):
        parse_bearer(metadata)
