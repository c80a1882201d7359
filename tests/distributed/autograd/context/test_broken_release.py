"""A release that names the wrong context, or one too many, must not lose gradients silently."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core.autograd.contexts import first_id
from mpigrad.distributed.rpc._protocol.message import MessageType
from tests.support.in_memory import acting_as, world_in_memory

RELEASE = int(MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ)


def mul(x: mpigrad.Tensor, y: float) -> mpigrad.Tensor:
    return x * y


def mul_there(to: str, x: mpigrad.Tensor, y: float) -> mpigrad.Tensor:
    return rpc.rpc_sync(to, mul, args=(x, y)) + x


@pytest.mark.parametrize("how", ["this context", "all contexts"])
def test_backward_fails_if_a_worker_had_released_the_context(how) -> None:
    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        x = mpigrad.ones(3, requires_grad=True)
        with dist_autograd.context() as context_id:
            y = rpc.rpc_sync("worker1", mul, args=(x, 2.0))
            floor = context_id + 1000 if how == "all contexts" else 0
            agents[0].request(1, RELEASE, extra=context_id, extra2=floor).wait()
            z = rpc.rpc_sync("worker1", mul, args=(y, 3.0))
            assert z.tolist() == [6, 6, 6]
            with pytest.raises(RuntimeError, match=r"not recorded on the workers with ids \[1\].*would be incomplete"):
                dist_autograd.backward(context_id, [(z + x).sum()])


def test_backward_fails_if_it_was_released_further_away() -> None:
    with world_in_memory(3, rpc_timeout=10) as agents, acting_as(agents[0]):
        x = mpigrad.ones(3, requires_grad=True)
        with dist_autograd.context() as context_id:
            rpc.rpc_sync("worker2", mul, args=(x, 2.0))
            agents[0].request(2, RELEASE, extra=context_id).wait()
            z = rpc.rpc_sync("worker1", mul_there, args=("worker2", x, 3.0))
            with pytest.raises(RuntimeError, match=r"not recorded on the workers with ids \[2\].*would be incomplete"):
                dist_autograd.backward(context_id, [z.sum()])


def test_calls_that_outlive_their_context_get_their_results() -> None:
    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        x = mpigrad.ones(3, requires_grad=True)
        with dist_autograd.context():
            answers = [rpc.rpc_async("worker1", mul, args=(x, 2.0)) for _ in range(5)]
        assert all(answer.wait().tolist() == [2, 2, 2] for answer in answers)


def test_a_release_of_another_workers_contexts_is_refused() -> None:
    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        with dist_autograd.context() as context_id, pytest.raises(ValueError, match="malformed message: contexts below"):
            agents[0].request(1, RELEASE, extra=context_id, extra2=first_id(5)).wait()
