"""Memory and CPU time of processes, read from /proc so that nothing has to be imported into the ranks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def field_of(path: str, name: str) -> int:
    """A kB field of a /proc file, in bytes."""
    for text in Path(path).read_text().splitlines():
        if text.startswith(name + ":"):
            return int(text.split()[1]) * 1024
    raise ValueError(f"{path} has no field {name!r}")


def resident(pid: int) -> int:
    """Bytes in memory, shared pages counted in full."""
    return field_of(f"/proc/{pid}/status", "VmRSS")


def proportional(pid: int) -> int:
    """Bytes in memory, each page divided by the number of processes that share it."""
    return field_of(f"/proc/{pid}/smaps_rollup", "Pss")


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads so far, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def peak_above_start(function: Callable[[], object]) -> int:
    """The increase of resident memory, at its highest, while a function runs."""
    pid = os.getpid()
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets the high-water mark
    start = resident(pid)
    function()
    return field_of(f"/proc/{pid}/status", "VmHWM") - start
