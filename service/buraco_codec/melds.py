"""Melds. The same few come again and again, so their forms are remembered both ways."""

from functools import lru_cache
from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.cards import cards_from_pb
from buraco_codec.fields import Untyped, by_number
from buraco_codec.remembering import remembered
from buraco_rules import BuracoKind, Meld, MeldKind, Path, Problems
from buraco_rules.cards import ACE, ACE_HIGH

_KINDS: Final = by_number(MeldKind)
_BURACOS: Final = by_number(BuracoKind)
_REMEMBERED: Final = 8192
"""Each way: half a KiB each as bytes, 1.5 KiB as read at most, 16 MiB together."""


def meld_to_pb(meld: Meld) -> deal_pb2.Meld:
    """A meld."""
    return deal_pb2.Meld.FromString(meld_bytes(meld))


def put_meld(pb: deal_pb2.Meld, meld: Meld) -> None:
    """Write a meld into an empty message: where it shall stand, for copying messages costs more than making them."""
    pb.MergeFromString(meld_bytes(meld))


def meld_from_pb(meld: deal_pb2.Meld, path: Path, problems: Problems) -> Meld | None:
    """A meld as it stands in the message, None where that is faulty. Whether the rules allow it is for them to say."""
    return problems.collect(lambda: _read(meld), None, path)


@lru_cache(_REMEMBERED)
def meld_bytes(meld: Meld) -> bytes:
    """A meld, serialised."""
    pb: Untyped = deal_pb2.Meld(
        low_position=meld.low_position, wild_index=meld.wild_index, stays_dirty=meld.stays_dirty
    )
    pb.kind = meld.kind
    pb.cards.extend(meld.cards)
    pb.buraco = meld.buraco
    data: bytes = pb.SerializeToString()
    return data


@remembered(deal_pb2.Meld, most=_REMEMBERED, largest=64)
def _read(meld: deal_pb2.Meld) -> Meld:
    problems = Problems()
    kind = _KINDS.get(meld.kind)
    if kind is None:
        problems.add("kind", f"{meld.kind} is no kind of meld" if meld.kind else "must be given")
    cards = cards_from_pb(meld.cards, "cards", problems)
    if len(meld.cards) < 3:
        problems.add("cards", "a meld has at least three cards")
    if meld.low_position > ACE_HIGH:
        problems.add("low_position", f"a place of a run, {ACE} to {ACE_HIGH}, or 0 for a set, not {meld.low_position}")
    wild_index = meld.wild_index if meld.HasField("wild_index") else None
    if wild_index is not None and wild_index >= len(meld.cards):
        problems.add("wild_index", f"the meld has no card {wild_index}")
    buraco = _BURACOS.get(meld.buraco)
    if buraco is None:
        problems.add("buraco", f"{meld.buraco} is no kind of buraco")
    if kind is None or buraco is None or problems:
        raise problems.error()
    return Meld(kind, cards, meld.low_position, wild_index, buraco, meld.stays_dirty)
