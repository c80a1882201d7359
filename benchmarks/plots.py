"""Results as pictures: bars of time per contestant, and how many times faster than torch."""

from __future__ import annotations

from pathlib import Path

import matplotlib

from benchmarks.bars import OURS
from benchmarks.compare import Rounds, Spread, present, ratio, rounds_of, spread

matplotlib.use("Agg")

from matplotlib import pyplot

COLOURS = {"torch": "#d1603d", OURS: "#2d6a8f", "raw": "#7a7a7a", "autograd": "#8f6fae"}


def speed_up(results: Rounds, path: Path) -> None:
    """Plot how many times faster than torch each measure is, with the rounds as whiskers."""
    found = {m: ratio(rounds_of(results, m, "torch"), rounds_of(results, m, OURS)) for m in results}
    shown = {measure: value for measure, value in found.items() if value is not None}
    if not shown:
        return
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.32 * len(shown)))
    medians = [value.median for value in shown.values()]
    axes.barh(list(shown), medians, xerr=whiskers(list(shown.values())), color=COLOURS[OURS])
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel(f"torch / {OURS} (more is better, 1 = the same)")
    axes.invert_yaxis()
    save(figure, path)


def whiskers(values: list[Spread]) -> list[list[float]]:
    """The distances from the median to the smallest and to the largest round."""
    return [[v.median - v.low for v in values], [v.high - v.median for v in values]]


def family(results: Rounds, name: str, path: Path, unit: str = "s") -> None:
    """Plot the times of all contestants of one family side by side."""
    measures = [measure for measure in results if measure.startswith(name + ".")]
    contestants = [c for c in COLOURS if any(present(rounds_of(results, m, c)) for m in measures)]
    if not contestants:
        return
    figure, axes = pyplot.subplots(figsize=(1.5 + 1.1 * len(measures), 4))
    width = 0.8 / len(contestants)
    for place, contestant in enumerate(contestants):
        spreads = [spread(present(rounds_of(results, m, contestant))) for m in measures]
        values = [found or Spread(0.0, 0.0, 0.0) for found in spreads]
        where = [index + place * width for index in range(len(measures))]
        medians = [value.median for value in values]
        axes.bar(where, medians, width, yerr=whiskers(values), label=contestant, color=COLOURS[contestant])
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(measures))], [m.split(".", 1)[1] for m in measures])
    axes.tick_params(axis="x", rotation=30)
    axes.set_yscale("log")
    axes.set_ylabel({"s": "seconds (less is better)", "B": "bytes"}.get(unit, unit))
    axes.set_title(name)
    axes.legend()
    save(figure, path)


def lines(series: dict[str, dict[int, float]], title: str, across: str, up: str, path: Path) -> None:
    """Plot one line per contestant on logarithmic axes."""
    figure, axes = pyplot.subplots(figsize=(5.5, 4))
    for contestant, points in series.items():
        axes.plot(list(points), list(points.values()), marker="o", label=contestant, color=COLOURS.get(contestant))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({size for points in series.values() for size in points})
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])  # label the axis with the sizes themselves, not with powers of two
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_title(title)
    if len(series) > 3:  # a longer legend would cover points
        figure.set_figwidth(8)
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    else:
        axes.legend()
    save(figure, path)


def save(figure: pyplot.Figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
