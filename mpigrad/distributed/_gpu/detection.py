"""Detects whether this MPI is CUDA-aware, that is, can read and write GPU memory, by a trial in a child process.

An MPI that is not CUDA-aware crashes when it gets a device pointer. So the trial never runs in the job itself: the child is a
world of one rank that sends an array on a GPU to itself and compares the result.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from mpigrad._process.rank import without_launcher

_MARK = "MPIGRAD-CUDA-AWARE "  # begins the line with the verdict, among what MPI prints
SECONDS = 60.0
# The child must not import modules from the current directory, and must import the same mpigrad as this process.
_CHILD = """
import sys
sys.path[:] = [sys.argv[1], *filter(None, sys.path)]
import mpigrad
del sys.path[0]
from mpigrad.distributed._gpu.detection import _main
_main()
"""


class Verdict(NamedTuple):
    """Whether CUDA-aware transfers work with this MPI, and an explanation."""

    works: bool
    why: str


@functools.cache
def detect(seconds: float = SECONDS) -> Verdict:
    """Try CUDA-aware transfers in a child process, `seconds` at most; the result is cached."""
    command = [sys.executable, "-c", _CHILD, str(Path(__file__).parents[3])]
    try:
        done = subprocess.run(command, env=without_launcher(os.environ), capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return Verdict(False, f"the trial gave no answer within {seconds:.0f} s")
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            return Verdict(*json.loads(line.removeprefix(_MARK)))
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return Verdict(False, f"the trial was ended by {name}: this MPI does not know device pointers")
    words = done.stderr.strip().splitlines()[-1:] or ["without a message"]
    return Verdict(False, f"the trial failed with code {done.returncode}: {words[0]}")


def cuda_aware_chosen(way: str) -> bool:
    """Return whether a value of `device_transfers` means CUDA-aware transfers; "detect" tries them."""
    return way == "cuda_aware" or (way == "detect" and detect().works)


def _trial() -> Verdict:
    from mpigrad._array.device import cupy, pointer
    from mpigrad.distributed._mpi import mpi

    try:
        xp = cupy()
    except RuntimeError as error:
        return Verdict(False, str(error))
    MPI = mpi()
    for nbytes in (1 << 10, 1 << 22):
        sent, got = xp.arange(nbytes, dtype="u1"), xp.zeros(nbytes, "u1")
        xp.cuda.get_current_stream().synchronize()
        buffers = [MPI.memory.fromaddress(pointer(each), nbytes) for each in (sent, got)]
        MPI.COMM_SELF.Sendrecv([buffers[0], MPI.BYTE], 0, 0, [buffers[1], MPI.BYTE], 0, 0)
        if not bool((sent == got).all()):
            return Verdict(False, f"{nbytes} bytes of a GPU did not arrive as they were sent")
    return Verdict(True, "arrays of a GPU arrive as they were sent (within one rank)")


def _main() -> None:
    verdict: Any = _trial()
    print("\n" + _MARK + json.dumps(list(verdict)), flush=True)

