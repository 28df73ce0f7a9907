"""Sides of a snapshot. A move changes one of them at most, so they are cached both ways."""

from collections.abc import Sequence
from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.caching import SERIALISED, cached_by_bytes
from buraco_codec.melds import meld_bytes, meld_from_pb
from buraco_codec.wire import Fields
from buraco_rules import POTS, Path, Problems, Side

MAX_MELDS: Final = 36
"""Of one side: a third of the cards of the largest deck."""

_DEAL: Final = Fields(deal_pb2.Deal)
_SIDE: Final = Fields(deal_pb2.Side)
_CACHED: Final = 2048
"""Sides read: 9 KiB each at most, 18 MiB together."""


@SERIALISED.cached(each=16)
def side_field(side: Side) -> bytes:
    """Return a side as an item of a serialised deal's field `sides`."""
    return _DEAL.sides(
        b"".join(map(_SIDE.melds, map(meld_bytes, side.melds)))
        + _SIDE.pots_taken(side.pots_taken)
        + _SIDE.unplayed_pots(side.unplayed_pots)
        + _SIDE.opening_required(side.opening_required)
        + _SIDE.opening_penalties(side.opening_penalties)
    )


def side_from_pb(side: deal_pb2.Side, path: Path, problems: Problems) -> Side:
    """Return a side as the message has it, its seats sorted; add the problems and return an empty one if it has any.

    Checked are its melds as by `meld_from_pb`, and how many melds and seats it has.
    """
    return problems.collect(lambda: _read(side), Side(), path)


@cached_by_bytes(deal_pb2.Side, max_entries=_CACHED, max_bytes=512)
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
