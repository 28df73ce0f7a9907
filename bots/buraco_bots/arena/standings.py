"""What the finished pairs of an arena say of its contenders, for people and for programs."""

from __future__ import annotations

import csv
import hashlib
import inspect
import io
import math
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from buraco_bots.arena.pairs import PairFigures
from buraco_bots.arena.statistics import Interval, SequentialTest, elo, mean_difference, pentanomial, win_rate
from buraco_bots.registry import load_factory


@dataclass(frozen=True, slots=True)
class Pairing:
    """All finished pairs of two contenders, seen by the first."""

    first: str
    second: str
    pairs: tuple[PairFigures, ...]
    """In order of their numbers."""

    @property
    def scores(self) -> list[float]:
        """Return the scores of the pairs."""
        return [pair.score for pair in self.pairs]

    @property
    def rate(self) -> Interval:
        """Return the win rate of the first contender."""
        return win_rate(self.scores)

    @property
    def difference(self) -> Interval | None:
        """Return by how many points the first contender is better in a match; forfeited pairs are left out."""
        return mean_difference([pair.difference for pair in self.pairs if pair.difference is not None])

    @property
    def verdict(self) -> str:
        """Return who is better, or that the pairs do not tell."""
        rate = self.rate
        if rate.covers(0.5):
            return "equal" if rate.low == rate.high else "inconclusive"
        return f"{self.first if rate.value > 0.5 else self.second} is better"

    def forfeits(self, place: int) -> Counter[str]:
        """Return how many matches a contender forfeited, by the kind of fault."""
        found = [match.forfeit for pair in self.pairs for match in pair.matches]
        return Counter([forfeit.kind for forfeit in found if forfeit is not None and forfeit.by == place])

    def think_time(self, place: int) -> tuple[float, float]:
        """Return how long a choice of a contender took on average and at most, in seconds."""
        think = [match.think[place] for pair in self.pairs for match in pair.matches]
        choices = sum(times.choices for times in think)
        return sum(times.total for times in think) / max(1, choices), max([times.longest for times in think])

    def buracos(self, place: int) -> dict[str, float]:
        """Return a contender's buracos a deal, by kind."""
        deals = [deal for pair in self.pairs for match in pair.matches for deal in match.deals]
        kinds = sorted({kind for deal in deals for kind in deal.buracos})
        return {kind: sum(deal.buracos.get(kind, (0, 0))[place] for deal in deals) / len(deals) for kind in kinds}


def pairings_of(pairs: Sequence[PairFigures], order: Sequence[tuple[str, str]]) -> list[Pairing]:
    """Return the pairings that have a finished pair, in the order given."""
    found = []
    for first, second in order:
        own = sorted([pair for pair in pairs if (pair.first, pair.second) == (first, second)], key=lambda p: p.number)
        if own:
            found.append(Pairing(first, second, tuple(own)))
    return found


def format_table(pairings: Sequence[Pairing], test: SequentialTest | None) -> Iterator[str]:
    """Yield lines for people: a table of pairings, and under it what is worth a word."""
    width = max([len(f"{pairing.first} – {pairing.second}") for pairing in pairings])
    yield f"{'':{width}}  {'pairs':>6} {'wins':>6} {'95 %':>14} {'Elo':>16} {'points a match':>18}  verdict"
    for pairing in pairings:
        rate, better = pairing.rate, elo(pairing.rate)
        low, high = f"{rate.low:.1%}", f"{rate.high:.1%}"
        yield (
            f"{f'{pairing.first} – {pairing.second}':{width}}  {len(pairing.pairs):6} {rate.value:6.1%}"
            f" {f'{low} – {high}':>14} {_format_elo(better):>16} {_format_points(pairing.difference):>18}"
            f"  {pairing.verdict}"
        )
    for pairing in pairings:
        for place, name in enumerate((pairing.first, pairing.second)):
            mean, most = pairing.think_time(place)
            buracos = ", ".join(
                f"{kind.replace('_', '-')} {count:.2f}" for kind, count in pairing.buracos(place).items()
            )
            faults = "".join(f"; forfeits: {kind} {count}" for kind, count in pairing.forfeits(place).items())
            yield (
                f"  {name} against {(pairing.second, pairing.first)[place]}: {1000 * mean:.1f} ms a choice, at most"
                f" {1000 * most:.0f} ms; buracos a deal: {buracos or 'none'}{faults}"
            )
        if test is not None:
            low_bound, high_bound = test.bounds
            yield (
                f"  SPRT {test.low:g} to {test.high:g} Elo: {test.ratio(pairing.scores):.2f}"
                f" in ({low_bound:.2f}, {high_bound:.2f}): {test.decide(pairing.scores)}"
            )


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


def to_json(pairings: Sequence[Pairing], settings: dict[str, Any], test: SequentialTest | None) -> dict[str, Any]:
    """Return all of it as plain values, with what is needed to play it again. Infinite bounds are null."""
    return {
        "settings": settings,
        "versions": {"buraco": version("buraco"), "python": platform.python_version()},
        "bots": {bot: describe_bot(bot) for bot in settings["bots"]},
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
        "sprt": None
        if test is None
        else {
            "ratio": test.ratio(pairing.scores),
            "bounds": list(test.bounds),
            "decision": test.decide(pairing.scores),
        },
        "pairs": [pair.to_json() for pair in pairing.pairs],
    }


def _interval_to_json(interval: Interval | None) -> dict[str, float | None] | None:
    if interval is None:
        return None
    bounds = {"value": interval.value, "low": interval.low, "high": interval.high}
    return {name: bound if math.isfinite(bound) else None for name, bound in bounds.items()}


def to_csv(pairings: Sequence[Pairing]) -> str:
    """Return a line for every match: what spreadsheets and notebooks read."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "first",
            "second",
            "pair",
            "match",
            "result",
            "first_points",
            "second_points",
            "deals",
            "turns",
            "moves",
            "forfeit",
        ]
    )
    for pairing in pairings:
        for pair in pairing.pairs:
            for number, match in enumerate(pair.matches):
                forfeit = match.forfeit
                by = "" if forfeit is None else f"{forfeit.kind}: {(pair.first, pair.second)[forfeit.by]}"
                turns, moves = (sum([getattr(deal, name) for deal in match.deals]) for name in ("turns", "moves"))
                writer.writerow(
                    [
                        pair.first,
                        pair.second,
                        pair.number,
                        number,
                        match.result,
                        *match.points,
                        len(match.deals),
                        turns,
                        moves,
                        by,
                    ]
                )
    return text.getvalue()


def describe_bot(bot: str) -> dict[str, Any]:
    """Return a bot's own name and version, and the SHA-256 of the files that it is made of. Raise UnknownBot.

    These are the files of its package, data included, or its module alone if it is in no package.
    """
    factory = load_factory(bot)
    made_by = inspect.unwrap(getattr(factory, "func", factory))
    digest = hashlib.sha256()
    for file in _files_of(made_by):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return {
        "name": getattr(made_by, "name", getattr(made_by, "__name__", bot)),
        "version": getattr(made_by, "version", ""),
        "sha256": digest.hexdigest(),
    }


def _files_of(made_by: Any) -> list[Path]:
    source = inspect.getsourcefile(made_by)
    if source is None:
        return []
    module = Path(source)
    if not (module.parent / "__init__.py").exists():
        return [module]
    return sorted([file for file in module.parent.iterdir() if file.suffix in (".py", ".json")])
