"""Arrays of a few MiB reuse memory of the process: no page fault for every 4 KiB of every result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import resource
import mpigrad

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

x, y = mpigrad.ones(1 << 18), mpigrad.ones(1 << 18)  # a MiB each: 256 pages
x.requires_grad_()
for step in range(220):
    if step == 20:
        before = faults()
    ((x - y) * (x + y)).mean().backward()
    x.grad = None
print((faults() - before) / 200)
"""


def test_results_are_not_faulted_in_anew() -> None:
    settings = {key: value for key, value in os.environ.items() if not key.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    settings["PYTHONPATH"] = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=settings, capture_output=True, text=True, timeout=120, check=True
    )
    assert float(done.stdout) < 256, "on average less than one of a step's nine arrays is new memory"
