"""The report: Markdown tables of medians, spreads and ratios, and of the bars with the measured values."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.bars import BARS, OURS, Bar
from benchmarks.compare import Rounds, Spread, present, ratio, rounds_of, spread
from benchmarks.contestants import BEFORE

ORDER = ("torch", OURS, "raw", "autograd")


def in_units(value: float, unit: str) -> str:
    """A value with three digits and a suitable unit.

    >>> in_units(0.0000215, "s"), in_units(1.5e8, "B"), in_units(0.4, "%")
    ('21.5 us', '150 MB', '0.4 %')
    """
    if unit == "s":
        for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
            if value >= scale:
                return f"{value / scale:.3g} {name}"
        return f"{value / 1e-9:.3g} ns"
    if unit == "B":
        return f"{value / 1e6:.3g} MB"
    return f"{value:.3g} {unit}"


def with_spread(found: Spread | None, unit: str) -> str:
    """The median, and in brackets the smallest and the largest round; a dash if nothing was measured."""
    if found is None:
        return "-"
    return f"{in_units(found.median, unit)} ({in_units(found.low, unit)} to {in_units(found.high, unit)})"


def times(found: Spread | None) -> str:
    return "-" if found is None else f"{found.median:.3g}x ({found.low:.3g} to {found.high:.3g})"


def line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def contestants_of(results: Rounds) -> tuple[tuple[str, ...], str]:
    """The contestants that a table shows, and the rival whose times are divided by ours."""
    found = {name for entry in results.values() for name in entry}
    if BEFORE not in found:
        return ORDER, "torch"
    return tuple(name for name in (*ORDER, BEFORE) if name in found), BEFORE


def measure_table(results: Rounds, units: dict[str, str]) -> str:
    """One row per measure, one column per contestant, and the ratio of the rival to mpigrad."""
    names, rival = contestants_of(results)
    rows = [line(["measure", *names, f"{rival} / {OURS}"]), line(["---"] * (len(names) + 2))]
    for measure in results:
        values = [spread(present(rounds_of(results, measure, name))) for name in names]
        cells = [with_spread(value, units.get(measure, "s")) for value in values]
        against = ratio(rounds_of(results, measure, rival), rounds_of(results, measure, OURS))
        rows.append(line([measure, *cells, times(against)]))
    return "\n".join(rows)


def best_table(bests: Rounds, units: dict[str, str]) -> str:
    """The smallest times (5th percentiles) over all rounds, and their ratio to the rival's."""
    names, rival = contestants_of(bests)
    rows = [line(["measure", *names, f"{rival} / {OURS}"]), line(["---"] * (len(names) + 2))]
    for measure in bests:
        values = {name: present(rounds_of(bests, measure, name)) for name in names}
        cells = [in_units(min(found), units.get(measure, "s")) if found else "-" for found in values.values()]
        theirs, ours = values[rival], values[OURS]
        rows.append(line([measure, *cells, f"{min(theirs) / min(ours):.3g}x" if theirs and ours else "-"]))
    return "\n".join(rows)


def bar_row(bar: Bar, results: Rounds) -> str:
    found = bar.found(results)
    verdict = "not measured" if found is None else ("cleared" if bar.cleared(found) else "SHORT")
    value = "-" if found is None else f"{found.median:.3g} ({found.low:.3g} to {found.high:.3g})"
    return line([bar.title, bar.wanted(), value, verdict])


def bar_table(results: Rounds) -> str:
    """One row per bar."""
    return "\n".join([line(["bar", "wanted", "found", ""]), line(["---"] * 4), *(bar_row(b, results) for b in BARS)])


def markdown(results: Rounds, bests: Rounds, units: dict[str, str], machine: str, failures: list[str]) -> str:
    """The whole report."""
    parts = [
        "# Benchmark results",
        machine,
        "Medians over rounds; in brackets the smallest and the largest round. Ratios are taken inside each round.",
        measure_table(results, units),
        *([] if contestants_of(results)[1] == BEFORE else ["## Bars", bar_table(results)]),
        "## Undisturbed",
        "5th percentile of the best round: an estimate of the time on a quiet machine.",
        best_table(bests, units),
    ]
    if failures:
        parts += ["## Failures", *(f"```\n{failure}\n```" for failure in failures)]
    return "\n\n".join(parts) + "\n"
