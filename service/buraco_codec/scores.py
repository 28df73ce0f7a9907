"""Scores of deals."""

from buraco.v1 import score_pb2
from buraco_codec.fields import Untyped
from buraco_codec.melds import put_meld
from buraco_rules import DealScore, ScoreLine


def score_to_pb(score: DealScore) -> score_pb2.DealScore:
    """Return the score of a deal as a message, line by line."""
    pb = score_pb2.DealScore(final=score.final)
    for side in score.sides:
        sheet = pb.sides.add(side=side.side, total=side.total, match_total=side.match_total)
        for line in side.lines:
            _put_line(sheet.lines.add(), line)
        for meld in side.melds:
            put_meld(sheet.melds.add(), meld)
    return pb


def _put_line(pb: Untyped, line: ScoreLine) -> None:
    pb.kind = line.kind
    pb.points = line.points
    pb.buraco = line.buraco
    if line.meld is not None:
        pb.meld = line.meld
    if line.seat is not None:
        pb.seat = line.seat
