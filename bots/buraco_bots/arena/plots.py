"""Pictures of an arena's pairs, as PNG files, by matplotlib (the extra `plots`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from buraco_bots.arena.pairs import LEAD_SAMPLES
from buraco_bots.arena.standings import Pairing
from buraco_bots.arena.statistics import elo

_SIZE = (8.0, 4.5)
_DPI = 120


def draw_plots(pairings: Sequence[Pairing], folder: Path) -> list[Path]:
    """Write all pictures into a folder, which is made if needed, and return their paths. Raise ImportError, OSError."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in _PICTURES.items():
        figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
        draw(figure.subplots(), pairings)
        written.append(folder / f"{name}.png")
        figure.savefig(written[-1])
    return written


def _differences(axes: Any, pairings: Sequence[Pairing]) -> None:
    for pairing in pairings:
        found = [pair.difference for pair in pairing.pairs if pair.difference is not None]
        axes.hist(found, bins=30, alpha=0.6, label=_label(pairing))
    axes.axvline(0, color="black", linewidth=0.8)
    _dress(axes, "Difference of points in a match, mean of a pair", "points of the first contender's lead", "pairs")


def _elo(axes: Any, pairings: Sequence[Pairing]) -> None:
    for row, pairing in enumerate(pairings):
        rating = elo(pairing.rate)
        bounds = [max(-800.0, min(800.0, bound)) for bound in (rating.low, rating.value, rating.high)]
        axes.plot(bounds[::2], [row, row], color="C0")
        axes.plot(bounds[1], row, "o", color="C0")
    axes.set_yticks(range(len(pairings)), [_label(pairing) for pairing in pairings])
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set(title="Elo of the first contender above the second, with 95 % bounds (cut at 800)", xlabel="Elo")


def _lengths(axes: Any, pairings: Sequence[Pairing]) -> None:
    for pairing in pairings:
        turns = [deal.turns for pair in pairing.pairs for match in pair.matches for deal in match.deals]
        axes.hist(turns, bins=30, alpha=0.6, label=_label(pairing))
    _dress(axes, "Length of deals", "turns of all seats", "deals")


def _buracos(axes: Any, pairings: Sequence[Pairing]) -> None:
    kinds = sorted({kind for pairing in pairings for place in (0, 1) for kind in pairing.buracos(place)})
    bars = [(pairing, place) for pairing in pairings for place in (0, 1)]
    width = 0.8 / len(bars)
    for number, (pairing, place) in enumerate(bars):
        counts = pairing.buracos(place)
        places = [index + width * number for index in range(len(kinds))]
        label = f"{(pairing.first, pairing.second)[place]} in {_label(pairing)}"
        axes.bar(places, [counts.get(kind, 0.0) for kind in kinds], width, label=label)
    axes.set_xticks(
        [index + 0.4 - width / 2 for index in range(len(kinds))], [kind.replace("_", "-") for kind in kinds]
    )
    _dress(axes, "Buracos a deal, by kind", "", "buracos")


def _leads(axes: Any, pairings: Sequence[Pairing]) -> None:
    shares = [100 * step / (LEAD_SAMPLES - 1) for step in range(LEAD_SAMPLES)]
    for pairing in pairings:
        leads = [deal.leads for pair in pairing.pairs for match in pair.matches for deal in match.deals]
        if leads:
            axes.plot(shares, [fmean(moment) for moment in zip(*leads, strict=True)], marker="o", label=_label(pairing))
    axes.axhline(0, color="black", linewidth=0.8)
    _dress(axes, "Lead on the table in the course of a deal, hands left out", "share of the deal's turns, %", "points")


_PICTURES = {
    "differences": _differences,
    "elo": _elo,
    "lengths": _lengths,
    "buracos": _buracos,
    "leads": _leads,
}


def _label(pairing: Pairing) -> str:
    return f"{pairing.first} – {pairing.second}"


def _dress(axes: Any, title: str, x: str, y: str) -> None:
    axes.set(title=title, xlabel=x, ylabel=y)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
