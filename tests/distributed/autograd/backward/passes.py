"""Passes that tests start on threads of their own, over workers in one process."""

from __future__ import annotations

import threading
from typing import Any

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as


def leaf(*values: float) -> mpigrad.Tensor:
    return mpigrad.tensor(list(values), dtype=mpigrad.float64, requires_grad=True)


def settled(agents: Any) -> None:
    """Wait until no worker has a pass or a part of one."""
    nothing: list[tuple[Any, Any]] = [(set(), {})] * len(agents)
    eventually(lambda: [(agent.autograd.live, agent.autograd.initiated) for agent in agents], equals=nothing)


class Started(threading.Thread):
    """A backward pass on a thread of its own; `error` is what it ended with."""

    def __init__(self, agent: Any, context_id: int, loss: mpigrad.Tensor, retain: bool = False) -> None:
        super().__init__(daemon=True)
        self.given, self.error = (agent, context_id, loss, retain), None
        self.start()

    def run(self) -> None:
        agent, context_id, loss, retain = self.given
        with acting_as(agent):
            try:
                dist_autograd.backward(context_id, [loss], retain_graph=retain)
            except BaseException as error:
                self.error = error

    def end(self) -> BaseException | None:
        self.join(15)
        assert not self.is_alive(), "the pass hangs"
        return self.error
