"""One rank of a benchmark job: it joins RPC; then rank 0 runs the measures that standard input requests, one JSON line each.

Run by contestants.py as ``python -m benchmarks.rank PROGRAM``; rank and world size come from the launcher.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from typing import Any

ANSWER = "BENCH "
CALL_SECONDS = 120.0


def answer(message: dict[str, Any]) -> None:
    """Print one line for the runner, marked so that it cannot be confused with output of the program."""
    print(ANSWER + json.dumps(message), flush=True)


def obey(program: Any, order: dict[str, Any]) -> None:
    """Run the measure that `order` names, and answer with its sample, or with the traceback of its error."""
    try:
        sample = program.MEASURES[order["measure"]](float(order["seconds"]))
        answer({"measure": order["measure"], **sample.as_json()})
    except Exception:
        answer({"measure": order["measure"], "error": traceback.format_exc()})


def lead(program: Any) -> None:
    """On rank 0: report that the job is ready, then run requested measures until the input ends."""
    if hasattr(program, "first"):
        program.first()
    answer({"ready": time.time()})
    for line in sys.stdin:
        order = json.loads(line)
        if order["measure"] == "quit":
            return
        obey(program, order)


def rank_and_size() -> tuple[int, int]:
    """Rank and size from the launcher's variables: torch's, or those of Open MPI, MPICH and SLURM."""
    for rank, size in (
        ("RANK", "WORLD_SIZE"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ):
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return 0, 1


def with_rpc(program: Any, rank: int, size: int) -> None:
    """Join the RPC world, run as rank 0 or serve, and shut down."""
    from benchmarks.library import part

    rpc = part("distributed.rpc")
    options = rpc.TensorPipeRpcBackendOptions(rpc_timeout=CALL_SECONDS)
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size, rpc_backend_options=options)
    if rank == 0:
        lead(program)
        if hasattr(program, "dismiss"):
            program.dismiss()
    elif hasattr(program, "follow"):
        program.follow()
    rpc.shutdown()


def main(name: str) -> None:
    """Run this rank of a program, with RPC unless the program communicates in its own way."""
    program = importlib.import_module(f"benchmarks.programs.{name}")
    rank, size = rank_and_size()
    if getattr(program, "USES_RPC", True):
        with_rpc(program, rank, size)
    elif rank == 0:
        lead(program)
        if hasattr(program, "dismiss"):
            program.dismiss()
    else:
        program.follow()


if __name__ == "__main__":
    main(sys.argv[1])
