"""`mpigrad trace`: draw a trace as a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mpigrad.profiler._picture import draw_trace, read_trace


def add_parser(commands: Any) -> None:
    """Declare the command-line arguments of `mpigrad trace`."""
    parser = commands.add_parser(
        "trace",
        help="draw a trace (trace.json or .json.gz, of trace_workers or a profiler) as an SVG picture",
        description="Draw a trace, a file trace.json or trace.json.gz, as an SVG picture.",
    )
    parser.add_argument("trace", help="a file written by `trace_workers` or `export_chrome_trace`")
    parser.add_argument("-o", "--output", help="the SVG file (default: the name of the trace with the ending .svg)")
    parser.set_defaults(action=draw)


def draw(args: argparse.Namespace) -> int:
    """Draw the trace and return the exit code."""
    output = Path(args.output or args.trace.removesuffix(".gz").removesuffix(".json") + ".svg")
    picture = draw_trace(read_trace(args.trace))
    try:
        output.write_text(picture)
    except OSError as error:
        raise ValueError(f"cannot write {output}: {error}") from error
    print(output)
    return 0
