"""Sides of a snapshot. A move changes one of them at most, so their forms are remembered both ways."""

from collections.abc import Sequence
from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.melds import meld_from_pb, put_meld
from buraco_codec.remembering import FORMS, remembered
from buraco_codec.wire import field, tag
from buraco_rules import POTS, Path, Problems, Side

MAX_MELDS: Final = 36
"""Of one side: as many as the largest deck has threes of cards."""

_SIDES: Final = tag(deal_pb2.Deal.SIDES_FIELD_NUMBER)
_REMEMBERED: Final = 2048
"""As read: 9 KiB each at most, 18 MiB together."""


@FORMS.cached(each=16)
def side_field(side: Side) -> bytes:
    """A side as the next of a serialised deal's sides."""
    pb = deal_pb2.Side(
        pots_taken=side.pots_taken,
        unplayed_pots=side.unplayed_pots,
        opening_required=side.opening_required,
        opening_penalties=side.opening_penalties,
    )
    for meld in side.melds:
        put_meld(pb.melds.add(), meld)
    return field(_SIDES, pb.SerializeToString())


def side_from_pb(side: deal_pb2.Side, path: Path, problems: Problems) -> Side:
    """A side as it stands in the message; an empty one where that is faulty."""
    return problems.collect(lambda: _read(side), Side(), path)


@remembered(deal_pb2.Side, most=_REMEMBERED, largest=512)
def _read(side: deal_pb2.Side) -> Side:
    problems = Problems()
    melds: Sequence[deal_pb2.Meld] = side.melds
    if len(melds) > MAX_MELDS:
        problems.add("melds", f"at most {MAX_MELDS}, not {len(melds)}")
        melds = ()
    read = [meld_from_pb(meld, ("melds", index), problems) for index, meld in enumerate(melds)]
    unplayed = side.unplayed_pots
    if len(unplayed) > POTS:
        problems.add("unplayed_pots", f"at most {POTS} seats, not {len(unplayed)}")
    problems.raise_if_any()
    return Side(
        tuple([meld for meld in read if meld is not None]),
        side.pots_taken,
        tuple(sorted(unplayed)),
        side.opening_required,
        side.opening_penalties,
    )
