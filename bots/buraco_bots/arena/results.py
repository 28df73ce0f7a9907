"""The results of an arena as a table for people, and as CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from buraco_bots.arena.standings import Pairing
from buraco_bots.arena.statistics import Interval, SequentialRun, SequentialTest, elo, pentanomial

_COLUMNS = (
    "first", "second", "pair", "match", "result", "first_points", "second_points", "deals", "turns", "moves", "forfeit",
)  # fmt: skip


def format_table(pairings: Sequence[Pairing], test: SequentialTest | None = None) -> Iterator[str]:
    """Yield lines for people: a table of the pairings, and more about each under it."""
    width = max([len(_title(pairing)) for pairing in pairings])
    yield f"{'':{width}}  {'pairs':>6} {'wins':>6} {'95 %':>15} {'Elo':>16} {'points a match':>18}  verdict"
    for pairing in pairings:
        rate = pairing.rate
        bounds = f"{rate.low:.1%} – {rate.high:.1%}"
        yield (
            f"{_title(pairing):{width}}  {len(pairing.pairs):6} {rate.value:6.1%} {bounds:>15}"
            f" {_format_elo(elo(rate)):>16} {_format_points(pairing.difference):>18}  {pairing.verdict}"
        )
    for pairing in pairings:
        yield ""
        for place in (0, 1):
            yield from _format_contender(pairing, place)
        if test is not None:
            run, (low, high) = SequentialRun(test, pairing.scores), test.bounds
            yield (
                f"SPRT of {test.low:g} against {test.high:g} Elo: {run.ratio:.2f} in ({low:.2f}, {high:.2f})"
                f" after {run.pairs} pairs: {run.decision}"
            )


def _format_contender(pairing: Pairing, place: int) -> Iterator[str]:
    contenders = pairing.first, pairing.second
    mean, most = pairing.think_time(place)
    buracos = ", ".join([f"{kind.replace('_', '-')} {count:.2f}" for kind, count in pairing.buracos(place).items()])
    yield f"{contenders[place]} against {contenders[1 - place]}"
    yield f"  {1000 * mean:.1f} ms a choice, {1000 * most:.0f} ms the longest; buracos a deal: {buracos or 'none'}"
    forfeits = ", ".join([f"{kind} {count}" for kind, count in pairing.forfeits(place).items()])
    if forfeits:
        yield f"  matches forfeited: {forfeits}"


def _title(pairing: Pairing) -> str:
    return f"{pairing.first} – {pairing.second}"


def _format_elo(interval: Interval) -> str:
    if math.isinf(interval.value):
        return "∞" if interval.value > 0 else "-∞"
    if math.isinf(interval.low) or math.isinf(interval.high):
        return f"{interval.value:+.0f} (one-sided)"
    return f"{interval.value:+.0f} ± {(interval.high - interval.low) / 2:.0f}"


def _format_points(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    if math.isinf(interval.high):
        return f"{interval.value:+.0f}"
    return f"{interval.value:+.1f} ± {(interval.high - interval.low) / 2:.1f}"


def to_json(
    pairings: Sequence[Pairing],
    settings: Mapping[str, Any],
    test: SequentialTest | None = None,
) -> dict[str, Any]:
    """Return everything as plain values, with what is needed to play it again. Infinite bounds are null."""
    return {
        "settings": dict(settings),
        "versions": {"buraco": version("buraco"), "python": platform.python_version()},
        "pairings": [_pairing_to_json(pairing, test) for pairing in pairings],
    }


def _pairing_to_json(pairing: Pairing, test: SequentialTest | None) -> dict[str, Any]:
    contenders = []
    for place, name in enumerate((pairing.first, pairing.second)):
        mean, most = pairing.think_time(place)
        contenders.append(
            {
                "bot": name,
                "forfeits": dict(pairing.forfeits(place)),
                "think_seconds": {"mean": mean, "most": most},
                "buracos_a_deal": pairing.buracos(place),
            }
        )
    return {
        "contenders": contenders,
        "pentanomial": list(pentanomial(pairing.scores)),
        "win_rate": _interval_to_json(pairing.rate),
        "elo": _interval_to_json(elo(pairing.rate)),
        "points_a_match": _interval_to_json(pairing.difference),
        "verdict": pairing.verdict,
        "sprt": None if test is None else _test_to_json(test, pairing),
        "pairs": [pair.to_json() for pair in pairing.pairs],
    }


def _test_to_json(test: SequentialTest, pairing: Pairing) -> dict[str, Any]:
    run = SequentialRun(test, pairing.scores)
    return {
        "elo": [test.low, test.high],
        "errors": [test.alpha, test.beta],
        "bounds": list(test.bounds),
        "ratio": run.ratio,
        "pairs": run.pairs,
        "decision": run.decision,
    }


def _interval_to_json(interval: Interval | None) -> dict[str, float | None] | None:
    if interval is None:
        return None
    bounds = {"value": interval.value, "low": interval.low, "high": interval.high}
    return {name: bound if math.isfinite(bound) else None for name, bound in bounds.items()}


def to_csv(pairings: Sequence[Pairing]) -> str:
    """Return a line for every match, under a line of headings: what spreadsheets and notebooks read."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for pairing in pairings:
        for pair in pairing.pairs:
            for number, match in enumerate(pair.matches):
                forfeit = match.forfeit
                writer.writerow(
                    [
                        pair.first,
                        pair.second,
                        pair.number,
                        number,
                        match.result,
                        *match.points,
                        len(match.deals),
                        sum([deal.turns for deal in match.deals]),
                        sum([deal.moves for deal in match.deals]),
                        "" if forfeit is None else f"{forfeit.kind}: {(pair.first, pair.second)[forfeit.by]}",
                    ]
                )
    return text.getvalue()
