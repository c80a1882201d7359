"""A rank that is killed in the middle of a backward pass: the job ends, and no rank waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PROGRAM = """
    import os, signal
    import mpigrad
    import mpigrad.distributed.autograd as dist_autograd
    import mpigrad.distributed.rpc as rpc
    from mpigrad.distributed._mpi import mpi

    class Dies(mpigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            print("the pass has come here", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    def dying(x):
        return Dies.apply(x)

    rank = mpi().COMM_WORLD.rank
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=4)
    if rank == 0:
        x = mpigrad.ones(3, requires_grad=True)
        with dist_autograd.context() as context_id:
            y = x * 3
            loss = rpc.rpc_sync("worker1", mpigrad.mul, args=(y, y)) + rpc.rpc_sync("worker2", dying, args=(y,))
            dist_autograd.backward(context_id, [loss.sum()])
            print("the pass has ended", flush=True)
    rpc.shutdown()
"""


@pytest.mark.deadline(100)
def test_a_rank_is_killed_in_mid_pass(tmp_path, request) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    began = time.monotonic()
    done = subprocess.run(
        [ROOT / "tools" / "mpirun.sh", sys.prefix, "4", "80", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=95,
    )
    assert "the pass has come here" in done.stdout and "the pass has ended" not in done.stdout, done.stderr
    assert done.returncode not in (0, 124) and time.monotonic() - began < 75, done.stderr
