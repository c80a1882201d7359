"""Contexts with very many calls: each call costs the same, however many there were before."""

from __future__ import annotations

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from tests.support.in_memory import acting_as, world_in_memory

from .. import functions as fn

CALLS = 20_000  # took minutes when each call looked at all calls before it; the test's deadline is a minute


def test_twenty_thousand_recorded_calls_in_one_context() -> None:
    with world_in_memory(1) as agents, acting_as(agents[0]):
        x, y = mpigrad.ones(1, requires_grad=True), mpigrad.ones(1, requires_grad=True)
        with dist_autograd.context() as context_id:
            for _ in range(CALLS):
                last = rpc.rpc_sync(0, fn.add, args=(x, y))
            context = dist_autograd._retrieve_context(context_id)
            dist_autograd.backward(context_id, [last.sum()])
            assert len(context._send_functions()) == len(context.parts.sources) == 2 * CALLS
            assert not context.parts._new
            gradients = dist_autograd.get_gradients(context_id)
            assert [gradients[leaf].tolist() for leaf in (x, y)] == [[1.0], [1.0]]
