"""Jobs of which one rank runs plain Python and the other compiled modules: large arrays go both ways, by MPI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mpigrad._core.rpc import cross_memory
from mpigrad._launch.command import job_for
from mpigrad._launch.launcher import find_launcher
from mpigrad.distributed.rpc._transport.shared_memory.slots import VARIABLE
from tests.support.commands import clean_environment

pytestmark = pytest.mark.host

PROGRAM = """
import os
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"])
os.environ["MPIGRAD_COMPILED"] = str(int(rank != PLAIN))
import numpy as np
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc.api import _get_current_rpc_agent
def echo(x):
    return x
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2)
array = np.arange(400_000)
for _ in range(3):
    assert np.array_equal(rpc.rpc_sync(1 - rank, echo, args=(array,)), array)
offers = _get_current_rpc_agent().transport._offers
assert offers._declining == (set() if rank == PLAIN else {PLAIN}), offers._declining
rpc.shutdown()
print("fine")
"""


@pytest.mark.parametrize("plain", [0, 1])
def test_a_rank_of_plain_python(plain: int, tmp_path: Path) -> None:
    if not cross_memory.CAN:
        pytest.skip("there are no compiled modules")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("PLAIN", str(plain)))
    job = job_for(find_launcher(), 2, [sys.executable, str(program)])
    environment = {**job.environment, **clean_environment(), VARIABLE: "both_ends"}
    done = subprocess.run(job.command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=55)
    assert done.stdout.count("fine") == 2, done.stdout + done.stderr
