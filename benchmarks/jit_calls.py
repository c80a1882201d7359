"""Scripted functions compared with plain ones: ``python -m benchmarks.jit_calls`` calls small functions in both forms,
alternately.

Each function of ``programs/scripted.py`` is called in a loop of its own (`timeit` compiles one for each contestant, so that
the interpreter sees the same function there every time). A round times both, in alternating order, and the ratio is the
median of the rounds' ratios. ``--only WORD`` picks the rows whose name has a word; ``--markdown`` prints a table for documents.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import timeit
from typing import Any, NamedTuple

import mpigrad

from .programs import scripted as programs

ROUNDS, SECONDS = 21, 0.004  # number of rounds; duration of one loop in a round
SLOWER = 1.03  # ratio above which a function counts as slower


class Row(NamedTuple):
    """A function, and the text of its arguments."""

    kind: str
    name: str
    function: Any
    arguments: str


TENSORS, NUMBERS = "tensors", "numbers and containers of them"
RECORDED = ", recorded"
Found = tuple[float, float, float]  # nanoseconds of a plain call, of a scripted one, and the ratio


def rows() -> list[Row]:
    """The measured functions: of tensors, with and without gradients, and of other values."""
    p, net = programs, programs.Net()
    of_tensors = [
        ("x + y", p.plus, "x, y"), ("mpigrad.add(x, y)", p.added, "x, y"), ("x * 2", p.doubled, "x"),
        ("x * 2 + y", p.scaled, "x, y"), ("relu(x)", p.rectified, "x"), ("x.sum()", p.total, "x"), ("x @ y", p.product, "x, y"),
        ("relu(x @ y)", p.layer, "x, y"), ("x.reshape(9)", p.reshaped, "x"), ("x[0]", p.first_row, "x"),
        ("cat([x, y])", p.joined, "x, y"), ("softmax(x, 0)", p.normalised, "x"), ("x + y, x - y", p.both, "x, y"),
        ("mean, sum, amax", p.statistics, "x"), ("if flag", p.by_flag, "x, y, True"), ("if x.sum() > 0", p.by_value, "x, y"),
        ("10 turns of x + 1.0", p.repeated, "x, 10"), ("Optional given", p.offset, "x, y"), ("Optional left out", p.offset, "x"),
        ("List of 4 tensors", p.summed, "[x, y, x, y]"), ("Dict of 3 tensors", p.looked_up, "table, 'a'"),
        ("Tuple of 2 tensors", p.of_pair, "(x, y)"), ("NamedTuple of 2", p.of_named, "pair"),
        ("defaults", p.with_defaults, "x, y"), ("keywords", p.with_defaults, "x, y=y, shift=3"),
        ("keywords only", p.plus, "x=x, y=y"), ("calls of a function", p.outer, "x, y"),
        ("module", net.shift, "x"), ("module in a module", net, "x"), ("exported method", net.shift, "x"),
    ]  # fmt: skip
    found = []
    for suffix in ("", RECORDED):
        for name, function, arguments in of_tensors:
            text = arguments if not suffix else arguments.replace("x", "g", 1) if "=x" not in arguments else "x=g, y=y"
            text = text.replace("table", "recorded_table").replace("pair", "recorded_pair") if suffix else text
            found.append(Row(TENSORS, name + suffix, function, text))
    found += [
        Row(NUMBERS, name, function, arguments)
        for name, function, arguments in (
            ("1,000 turns over ints", p.squares, "1000"), ("100 turns over ints", p.squares, "100"),
            ("10 turns over ints", p.squares, "10"), ("if of ints", p.sign_of, "-3"), ("List of 10 ints", p.sum_of, "ints"),
            ("List of 1,000 ints", p.sum_of, "many"), ("List of 10 floats", p.mean_of, "floats"),
            ("Dict of 3 ints", p.count_of, "counts, 'b'"), ("str", p.greeting, "'world'"), ("Optional[int]", p.size_or, "4"),
            ("Tuple of 2 ints", p.area, "(2, 3)"),
        )
    ]  # fmt: skip
    return found


def space() -> dict[str, Any]:
    """The arguments of the functions, by name."""
    x, y, g = mpigrad.randn(3, 3), mpigrad.randn(3, 3), mpigrad.randn(3, 3, requires_grad=True)
    return {
        "x": x, "y": y, "g": g, "table": {"a": x, "b": y, "c": x}, "recorded_table": {"a": g, "b": y, "c": x},
        "pair": programs.Pair(x, y), "recorded_pair": programs.Pair(g, y), "ints": list(range(10)), "many": list(range(1000)),
        "floats": [float(n) for n in range(10)], "counts": {"a": 1, "b": 2, "c": 3},
    }  # fmt: skip


def callables(row: Row) -> tuple[Any, Any]:
    """The plain and the scripted form of a function."""
    scripted = mpigrad.jit.script(row.function)
    return (row.function.twice, scripted.twice) if row.name.startswith("exported method") else (row.function, scripted)


def loops(row: Row, values: dict[str, Any]) -> tuple[timeit.Timer, timeit.Timer]:
    """Loops that call the plain and the scripted form."""
    plain, scripted = (timeit.Timer(f"f({row.arguments})", globals={**values, "f": each}) for each in callables(row))
    return plain, scripted


def measure(row: Row, values: dict[str, Any], rounds: int) -> Found:
    """Nanoseconds of a plain call and of a scripted one, and the ratio: medians over the rounds."""
    plain, scripted = loops(row, values)
    for each in (plain, scripted):
        each.timeit(2000)
    turns = max(1, int(SECONDS / (plain.timeit(200) / 200)))
    gc.collect()
    times: list[tuple[float, float]] = []
    for number in range(rounds):
        order = (plain, scripted) if number % 2 else (scripted, plain)
        took = {id(each): each.timeit(turns) / turns * 1e9 for each in order}
        times.append((took[id(plain)], took[id(scripted)]))
    ratio = statistics.median(b / a for a, b in times)
    return statistics.median(a for a, _ in times), statistics.median(b for _, b in times), ratio


def main(argv: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args(argv)
    values = space()
    found: dict[str, Found] = {}
    for row in rows():
        if given.only and not any(word in row.name or word == row.kind for word in given.only):
            continue
        found[row.name] = measure(row, values, given.rounds)
        if not given.markdown:
            plain, scripted, ratio = found[row.name]
            print(f"{row.name:32s} {plain:10,.0f} ns plain {scripted:10,.0f} ns scripted   ratio {ratio:.3f}", flush=True)
    if given.markdown:
        print("\n".join(table(found)))
    else:
        slower = [name for name, (_, _, ratio) in found.items() if ratio > SLOWER]
        print(f"slower than the plain function by more than {SLOWER - 1:.0%}: {', '.join(slower) or 'none'}")


def table(found: dict[str, Found]) -> list[str]:
    """The results as a Markdown table, with recorded calls beside calls that are not recorded."""
    lines = ["| function | plain, ns | scripted, ns | ratio | recorded: plain | scripted | ratio |", "|---" + "|---:" * 6 + "|"]
    for name in found:
        if not name.endswith(RECORDED):
            both = [found.get(each) for each in (name, name + RECORDED)]
            cells = [" | | " if each is None else f"{each[0]:,.0f} | {each[1]:,.0f} | {each[2]:.2f}" for each in both]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
