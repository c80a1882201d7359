"""Passing gradients on at a lone send function, the common case: nothing has to wait for anything.

What comes out is either added up in the context or goes to the workers that sent the tensors; most of it goes to the
worker whose message brought the gradients, and travels in the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpigrad._graph.engine import GraphTask
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._graph.namespace import DIFF, RAW

from .._context.context import Sink

if TYPE_CHECKING:
    from .._context.context import DistAutogradContext
    from .._graph.partition import Source
    from .._nodes import RecvRpcBackward
    from .backward_pass import Pass

Outgoing = list[tuple["RecvRpcBackward", Any]]


def run_lone(context: DistAutogradContext, one: Pass, source: Source, grads: list[Any]) -> Outgoing:
    """Run the graph below one lone send function; gives what reached recv functions."""
    sink, user_code = Sink(context, one.F, one.discard), source.runs_user_code()
    if source.path is not None and may_follow(one, user_code):
        source.path.run(one.F, one.keep, grads, sink)
        return sink.outgoing
    function = source.nodes[0]
    task = GraphTask(one.F, source.counts.copy(), one.keep, sink, one.captures)
    task.buffers[function] = grads.copy() if function.outputs != 1 else grads[0]
    grads.clear()
    task.ready.append(function)
    run_task(task, one, user_code)
    return sink.outgoing


def may_follow(one: Pass, user_code: bool) -> bool:
    """Whether a path can be run without the engine: nobody records, watches or captures anything on the way."""
    return not user_code and one.F is RAW and one.captures is None and not TRACING.on


def run_task(task: GraphTask, one: Pass, user_code: bool = True) -> None:
    """Run a task of a pass, recording if its gradients are to have a graph."""
    if not user_code and task.F is RAW and one.captures is None:
        task.run_alone()
        return
    before, MODE.enabled = MODE.enabled, task.F is DIFF
    try:
        task.run()
    finally:
        MODE.enabled = before
    if task.captured:
        one.capture(task.captured)
        task.captured = {}
