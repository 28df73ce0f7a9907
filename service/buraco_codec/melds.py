"""Melds. The same few come again and again, so they are cached both ways."""

from functools import lru_cache
from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.caching import cached_by_bytes
from buraco_codec.cards import cards_from_pb
from buraco_codec.fields import by_number, enum_from_pb
from buraco_codec.wire import Fields
from buraco_rules import BuracoKind, Meld, MeldKind, Path, Problems
from buraco_rules.cards import ACE, ACE_HIGH

_MELD: Final = Fields(deal_pb2.Meld)
_KINDS: Final = by_number(MeldKind)
_BURACOS: Final = by_number(BuracoKind)
_CACHED: Final = 8192
"""Melds each way: at most half a KiB each serialised and 1.5 KiB read, 16 MiB together."""


def meld_to_pb(meld: Meld) -> deal_pb2.Meld:
    """Return a meld as a new message, which the caller may change."""
    return deal_pb2.Meld.FromString(meld_bytes(meld))


def put_meld(pb: deal_pb2.Meld, meld: Meld) -> None:
    """Write a meld into an empty message that belongs to another one: this costs less than copying one there."""
    pb.MergeFromString(meld_bytes(meld))


def meld_from_pb(meld: deal_pb2.Meld, path: Path, problems: Problems) -> Meld | None:
    """Return a meld as the message has it; add the problems and return None if it has any.

    Checked are its enums and cards, that it has three cards or more, and that its places exist: not the rules of melds.
    """
    return problems.collect(lambda: _read(meld), None, path)


@lru_cache(_CACHED)
def meld_bytes(meld: Meld) -> bytes:
    """Return a meld, serialised."""
    return (
        _MELD.kind(meld.kind)
        + _MELD.cards(meld.cards)
        + _MELD.low_position(meld.low_position)
        + (b"" if meld.wild_index is None else _MELD.wild_index(meld.wild_index))
        + _MELD.buraco(meld.buraco)
        + _MELD.stays_dirty(meld.stays_dirty)
    )


@cached_by_bytes(deal_pb2.Meld, max_entries=_CACHED, max_bytes=64)
def _read(meld: deal_pb2.Meld) -> Meld:
    problems = Problems()
    kind = enum_from_pb(_KINDS, meld.kind, "kind of meld", "kind", problems)
    cards = cards_from_pb(meld.cards, "cards", problems)
    if len(meld.cards) < 3:
        problems.add("cards", "a meld has at least three cards")
    if meld.low_position > ACE_HIGH:
        problems.add("low_position", f"a place of a run, {ACE} to {ACE_HIGH}, or 0 for a set, not {meld.low_position}")
    wild_index = meld.wild_index if meld.HasField("wild_index") else None
    if wild_index is not None and wild_index >= len(meld.cards):
        problems.add("wild_index", f"the meld has no card {wild_index}")
    buraco = enum_from_pb(_BURACOS, meld.buraco, "kind of buraco", "buraco", problems)
    if kind is None or buraco is None or problems:
        raise problems.error()
    return Meld(kind, cards, meld.low_position, wild_index, buraco, meld.stays_dirty)
