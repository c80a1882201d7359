"""Random programs over an in-memory transport that delays and reorders: gradients equal those of one process."""

from __future__ import annotations

import random

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
from tests.support.in_memory import acting_as, world_in_memory

from .programs import PARAMETERS, execute, inputs, local_gradients, loss_of, parameter, random_program

WORKERS, PROGRAMS = 3, 20


def close(found: object, wanted: list[float] | None) -> bool:
    if wanted is None:
        return found is None or found.tolist() == [0.0] * found.numel()
    return found is not None and mpigrad.allclose(found, mpigrad.tensor(wanted, dtype=mpigrad.float64))


@pytest.mark.parametrize("seed", range(6))
def test_gradients_equal_those_of_one_process(seed: int) -> None:
    rng = random.Random(seed)
    with world_in_memory(WORKERS, fate=lambda *_: rng.random() * 0.002 * (rng.random() < 0.2), seed=seed) as agents:
        for number in range(PROGRAMS):
            run = seed * PROGRAMS + number
            program = random_program(rng, WORKERS, 2)
            wanted, wanted_parameters = local_gradients(program, 0, run, 2, WORKERS)
            PARAMETERS.clear()
            leaves = inputs(2)
            with acting_as(agents[0]):
                with dist_autograd.context() as context_id:
                    loss = loss_of(execute(program, 0, run, leaves, distributed=True))
                    if loss.requires_grad:
                        dist_autograd.backward(context_id, [loss])
                    found = dist_autograd.get_gradients(context_id)
                    for leaf, each in zip(leaves, wanted):
                        assert close(found.get(leaf), each), f"run {run}: {program}"
                    for rank, each in enumerate(wanted_parameters):
                        context = agents[rank].autograd.container.contexts.get(context_id)
                        held = {} if context is None else context.gradients
                        assert close(held.get(parameter(run, rank)), each), f"run {run}, parameter of {rank}: {program}"
            PARAMETERS.clear()
        assert all(not agent.autograd.live for agent in agents)
