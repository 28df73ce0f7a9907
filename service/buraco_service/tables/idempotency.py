"""Requests that change a table: what makes two of them the same, and what a store keeps with an answer."""

from hashlib import blake2b, sha256
from typing import Final, NamedTuple, Self

from google.protobuf.wrappers_pb2 import BytesValue

from buraco_codec.wire import Fields

_PART: Final = Fields(BytesValue)
_BOUND: Final = b"\0"
"""The first byte of a stored answer. No message begins with it: earlier versions stored the answer alone."""
_FINGERPRINT_BYTES: Final = 16
_HEAD_BYTES: Final = len(_BOUND) + _FINGERPRINT_BYTES
_TABLE_ID: Final = b"buraco.v1 table "
_QUICK_JOIN_ID: Final = b"buraco.v1 quick join "
_QUICK_TABLE_ID: Final = b"buraco.v1 quick table "
_REMATCH_ID: Final = b"buraco.v1 rematch "
_REMATCH_TOKEN: Final = b"buraco.v1 rematch token "


class Request(NamedTuple):
    """A request that changes a table. The fingerprint distinguishes it from others under the same id."""

    method: str
    id: str
    """A UUID in its normal form."""
    caller: str
    """The id of the seat token or the name of the API key; empty for none."""
    fingerprint: bytes

    @classmethod
    def of(cls, method: str, request_id: str, caller: str, *content: bytes) -> Self:
        """Return a request, given all that has to be the same in a repeat."""
        parts = [_PART.value(part) for part in (method.encode(), caller.encode(), *content)]
        fingerprint = blake2b(b"".join(parts), digest_size=_FINGERPRINT_BYTES).digest()
        return cls(method, request_id, caller, fingerprint)

    def bind(self, answer: bytes) -> bytes:
        """Return the stored answer: the answer, bound to this request."""
        return b"".join((_BOUND, self.fingerprint, answer))

    def answer_in(self, stored: bytes) -> bytes | None:
        """Return the answer in a stored answer, or None if another request got it."""
        return stored[_HEAD_BYTES:] if stored[:_HEAD_BYTES] == _BOUND + self.fingerprint else None


def answer_of_any(stored: bytes) -> bytes:
    """Return the answer in a stored answer that is bound, whichever request got it."""
    return stored[_HEAD_BYTES:]


def serialise_optional(number: int | None) -> bytes:
    """Return a number as a part of a request's content; None as an empty one."""
    return b"" if number is None else b"%d" % number


def is_bound(stored: bytes) -> bool:
    """Return True if a stored answer is bound to its request."""
    return stored.startswith(_BOUND)


def derive_table_id(request_id: str) -> str:
    """Return the id of the table that a request creates. A repeat of the request finds the table by it."""
    return _derive_id(_TABLE_ID, request_id)


def derive_quick_join_id(request_id: str) -> str:
    """Return the id under which the table that a QuickJoin has chosen is stored."""
    return _derive_id(_QUICK_JOIN_ID, request_id)


def derive_quick_table_id(*content: bytes) -> str:
    """Return the id of a table that a QuickJoin creates: the same one for all who want the same content."""
    return _derive_id(_QUICK_TABLE_ID, b"".join([_PART.value(part) for part in content]).hex())


def derive_rematch_id(table_id: str) -> str:
    """Return the id of the table for the rematch of a match. All who ask for it find the same table by it."""
    return _derive_id(_REMATCH_ID, table_id)


def derive_rematch_token_id(token_id: str) -> str:
    """Return the id of the token for the same seat in the rematch. A player who asks again is known by it."""
    return _derive_id(_REMATCH_TOKEN, token_id)


def _derive_id(kind: bytes, source: str) -> str:
    return sha256(kind + source.encode()).hexdigest()[:32]
