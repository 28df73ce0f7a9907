"""Pictures of an arena's pairs, as PNG files, by matplotlib (the extra `plots`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, quantiles
from typing import TYPE_CHECKING

from buraco_bots.arena.figures import LEAD_SAMPLES
from buraco_bots.arena.standings import Pairing
from buraco_bots.arena.statistics import elo

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (8.0, 4.5)
_DPI = 120
_MAX_ELO = 800.0
_MAX_BINS = 40


def draw_plots(pairings: Sequence[Pairing], folder: Path) -> list[Path]:
    """Write all pictures into a folder, which is made if needed, and return their paths. Raise ImportError, OSError."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in _PICTURES.items():
        figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
        axes = figure.subplots()
        axes.grid(visible=True, color="0.9")
        axes.set_axisbelow(True)
        draw(axes, pairings)
        written.append(folder / f"{name}.png")
        figure.savefig(written[-1])
    return written


def _differences(axes: Axes, pairings: Sequence[Pairing]) -> None:
    found = [[pair.difference for pair in pairing.pairs if pair.difference is not None] for pairing in pairings]
    _histograms(axes, pairings, found)
    axes.axvline(0, color="black", linewidth=0.8)
    _dress(axes, "By how many points the first was better in a match", "points, mean of the pair's matches", "pairs")


def _elo(axes: Axes, pairings: Sequence[Pairing]) -> None:
    for row, pairing in enumerate(pairings):
        rating = elo(pairing.rate)
        low, value, high = [max(-_MAX_ELO, min(_MAX_ELO, bound)) for bound in (rating.low, rating.value, rating.high)]
        mark = {_MAX_ELO: ">", -_MAX_ELO: "<"}.get(value, "o")  # an arrow: it is beyond
        axes.errorbar(value, row, xerr=[[value - low], [high - value]], fmt=mark, capsize=5, color="C0")
    axes.set_yticks(range(len(pairings)), [_label(pairing) for pairing in pairings])
    axes.set_ylim(len(pairings) - 0.5, -0.5)
    axes.axvline(0, color="black", linewidth=0.8)
    _dress(axes, f"Elo of the first above the second, 95 % intervals (arrow: beyond {_MAX_ELO:.0f})", "Elo", "")


def _lengths(axes: Axes, pairings: Sequence[Pairing]) -> None:
    _histograms(axes, pairings, [[deal.turns for deal in pairing.deals] for pairing in pairings])
    _dress(axes, "Length of deals", "turns of all seats", "deals")


def _buracos(axes: Axes, pairings: Sequence[Pairing]) -> None:
    kinds = sorted({kind for pairing in pairings for place in (0, 1) for kind in pairing.buracos(place)})
    bars = [(pairing, place) for pairing in pairings for place in (0, 1)]
    width = 0.8 / len(bars)
    for number, (pairing, place) in enumerate(bars):
        counts = pairing.buracos(place)
        places = [index + width * (number - (len(bars) - 1) / 2) for index in range(len(kinds))]
        contenders = pairing.first, pairing.second
        label = f"{contenders[place]} against {contenders[1 - place]}"
        axes.bar(places, [counts.get(kind, 0.0) for kind in kinds], width, label=label)
    axes.set_xticks(range(len(kinds)), [kind.replace("_", "-") for kind in kinds])
    _dress(axes, "Buracos a deal, by kind", "", "buracos")


def _leads(axes: Axes, pairings: Sequence[Pairing]) -> None:
    shares = [100 * step / (LEAD_SAMPLES - 1) for step in range(LEAD_SAMPLES)]
    for number, pairing in enumerate(pairings):
        moments = [*zip(*[deal.leads for deal in pairing.deals], strict=True)]
        if moments:
            axes.plot(shares, [fmean(leads) for leads in moments], "o-", color=f"C{number}", label=_label(pairing))
        if len(pairing.deals) > 1:
            quarters = [quantiles(leads, n=4) for leads in moments]
            low, high = [low for low, _, _ in quarters], [high for _, _, high in quarters]
            axes.fill_between(shares, low, high, color=f"C{number}", alpha=0.15)
    axes.axhline(0, color="black", linewidth=0.8)
    _dress(
        axes,
        "Lead of the first on the table in the course of a deal",
        "% of the deal's turns",
        "points (band: half of all deals)",
    )


_PICTURES = {
    "differences": _differences,
    "elo": _elo,
    "lengths": _lengths,
    "buracos": _buracos,
    "leads": _leads,
}


def _histograms(axes: Axes, pairings: Sequence[Pairing], values: Sequence[Sequence[float]]) -> None:
    """Draw a histogram of each pairing's values over the others, all with the same classes."""
    from matplotlib.ticker import MaxNLocator

    every = [value for of_one in values for value in of_one]
    if not every:
        return
    low, high = min(every), max(every)
    count = min(_MAX_BINS, 2 + math.isqrt(max(map(len, values))))
    step = (high - low) / count or 1.0
    edges = [low + step * number for number in range(count + 1)]
    for number, (pairing, of_one) in enumerate(zip(pairings, values, strict=True)):
        axes.hist(of_one, bins=edges, histtype="stepfilled", alpha=0.2, color=f"C{number}")
        axes.hist(of_one, bins=edges, histtype="step", linewidth=1.8, color=f"C{number}", label=_label(pairing))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _label(pairing: Pairing) -> str:
    return f"{pairing.first} – {pairing.second}"


def _dress(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set(title=title, xlabel=x, ylabel=y)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
