"""An uncaught exception on one rank ends the whole job and prints its traceback: the other ranks do not wait for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
    import time
    import mpigrad.distributed.rpc as rpc
    from mpigrad.distributed._mpi import mpi

    rank = mpi().COMM_WORLD.rank
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2)
    if rank == 1:
        raise ValueError("nobody catches this")
    rpc.rpc_sync("worker1", time.sleep, args=(300,), timeout=0)
"""


@pytest.mark.deadline(100)
def test_uncaught_exception_ends_the_job(tmp_path, request) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run(
        [ROOT / "tools" / "mpirun.sh", sys.prefix, "2", "80", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=95,
    )
    assert done.returncode not in (0, 124, 137), done.stderr
    assert "ValueError: nobody catches this" in done.stderr
    assert "rank 1 ends the job" in done.stderr
