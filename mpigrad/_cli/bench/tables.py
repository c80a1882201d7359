"""The results as tables in the style of the OSU benchmarks, and as a plot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def _head(result: dict[str, Any]) -> Iterator[str]:
    where = "same host" if result["same_host"] else "different hosts"
    yield f"# mpigrad {result['version']} on {result['mpi']}, {result['ranks']} ranks on {result['hosts']} host(s)"
    yield f"# worker0 calls {result['callee']} ({where}); the others are idle, if not said otherwise"


def _kinds(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield ""
    yield f"{'# call':<32} {'min us':>9} {'median us':>10} {'p99 us':>9} {'calls/s':>10}"
    for row in rows:
        name = f"{row['name']:<32}"
        yield f"{name} {row['min_us']:9.1f} {row['median_us']:10.1f} {row['p99_us']:9.1f} {row['per_second']:10.0f}"


def _sizes(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield ""
    yield f"{'# bytes sent':<14} {'latency us':>11} {'MB/s':>10}"
    for row in rows:
        yield f"{row['bytes']:<14} {row['median_us']:11.1f} {row['mb_s']:10.1f}"


def render(result: dict[str, Any]) -> str:
    """The text of all tables."""
    return "\n".join([*_head(result), *_kinds(result["kinds"]), *_sizes(result["sizes"])])


def plot(result: dict[str, Any], path: str) -> None:
    """Plot latency and bandwidth against message size."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("--plot needs matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=(8, 4), layout="constrained")
    latency, bandwidth = figure.subplots(1, 2)
    sizes = [row["bytes"] for row in result["sizes"]]
    for axes, key, title in ((latency, "median_us", "latency, us"), (bandwidth, "mb_s", "bandwidth, MB/s")):
        axes.loglog(sizes, [row[key] for row in result["sizes"]], marker="o")
        axes.set(xlabel="bytes", title=f"rpc_sync with a tensor: {title}")
        axes.grid(True, alpha=0.3)
    figure.savefig(path)
