"""Random programs over the ranks, every rank running its own at the same time: gradients equal those of one process."""

from __future__ import annotations

import random

import pytest

import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

from .programs import PARAMETERS, execute, inputs, local_gradients, loss_of, parameter, random_program

PROGRAMS = 500  # in all, shared by the ranks


def gradient_of_parameter(context_id: int, run: int, rank: int) -> list[float] | None:
    """Called on each worker: what the context gathered for its own parameter."""
    found = dist_autograd.get_gradients(context_id).get(parameter(run, rank))
    return None if found is None else found.tolist()


def forget(run: int, rank: int) -> None:
    PARAMETERS.pop((run, rank), None)


def same(found: list[float] | None, wanted: list[float] | None) -> bool:
    if wanted is None or found is None:
        return not any(found or wanted or [])
    return found == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.mpi(min_size=2)
@pytest.mark.deadline(240)
def test_gradients_equal_those_of_one_process(rpc_world) -> None:
    ranks, here = rpc_world.world_size, rpc_world.rank
    rng = random.Random(1000 + here)
    for number in range(PROGRAMS // ranks):
        run = here * PROGRAMS + number
        program = random_program(rng, ranks, 2)
        wanted, wanted_parameters = local_gradients(program, here, run, 2, ranks)
        PARAMETERS.pop((run, here), None)
        for rank in range(ranks):
            PARAMETERS.pop((run, rank), None)
        leaves = inputs(2)
        with dist_autograd.context() as context_id:
            loss = loss_of(execute(program, here, run, leaves, distributed=True))
            if loss.requires_grad:
                dist_autograd.backward(context_id, [loss])
            found = dist_autograd.get_gradients(context_id)
            for leaf, each in zip(leaves, wanted):
                held = found.get(leaf)
                assert same(None if held is None else held.tolist(), each), f"run {run}: {program}"
            known = {here} | dist_autograd._current_context()._known_worker_ids()
            for rank, each in enumerate(wanted_parameters):
                if each is not None or rank in known:
                    held = rpc.rpc_sync(f"worker{rank}", gradient_of_parameter, args=(context_id, run, rank))
                    assert same(held, each), f"run {run}, parameter of rank {rank}: {program}"
        for rank in range(ranks):
            rpc.rpc_sync(f"worker{rank}", forget, args=(run, rank))
    rpc_world.barrier()
    assert dist_autograd._get_debug_info()["num_current_backward_passes"] == 0
