"""What users call: contexts, backward, gradients, and the names that tests and debuggers use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._graph.grad_mode import TRACING
from mpigrad._tensor import Tensor
from mpigrad.autograd.profiler import record_function
from mpigrad.distributed.rpc._protocol import extensions

from ..engine import as_array
from ..guard import edge, enter, leave
from ..tensor import wrap
from .container import CURRENT, init, this_worker
from .context import DistAutogradContext
from .engine import ENGINE
from .release import release


class context:
    """A distributed autograd context: calls made inside are recorded, on every worker they reach.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> with dist_autograd.context() as context_id:
    ...     loss = rpc.rpc_sync("solo", mpigrad.mul, args=(x, 3)).sum()
    ...     dist_autograd.backward(context_id, [loss])
    ...     dist_autograd.get_gradients(context_id)[x]
    tensor([3., 3.])
    >>> rpc.shutdown()
    """

    def __enter__(self) -> int:
        self._worker = this_worker()
        before = enter()
        self.autograd_context = None
        try:
            self.autograd_context = self._worker.container.new_context()
        finally:
            try:
                leave(before)
            except BaseException:  # an interrupt: `with` will not call `__exit__`
                self.__exit__()
                raise
        return self.autograd_context.context_id

    @edge
    def __exit__(self, *error: object) -> None:
        before = enter()
        try:
            self._end()
        finally:
            leave(before)

    def _end(self) -> None:
        """Release the context; another worker may have done so already, or RPC may have ended, and all contexts with it."""
        if self.autograd_context is None:
            return
        if self._worker.serves():
            release(self._worker, self.autograd_context.context_id)
        if CURRENT.context is self.autograd_context:
            CURRENT.context = None


def backward(context_id: int, roots: Sequence[Tensor], retain_graph: bool = False, create_graph: bool = False) -> None:
    """Run a backward pass from `roots` (scalars on this worker) through every worker the context reached.

    Gradients add up in the context, on the worker of each leaf: see `get_gradients`. The call returns when the pass is over
    everywhere. `create_graph=True`, an addition to PyTorch, records the pass, so that gradients can be differentiated again.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> with dist_autograd.context() as context_id:
    ...     loss = rpc.rpc_sync("solo", mpigrad.mul, args=(x, x)).sum()
    ...     dist_autograd.backward(context_id, [loss], retain_graph=True)
    ...     dist_autograd.backward(context_id, [loss])
    ...     dist_autograd.get_gradients(context_id)[x], x.grad
    (tensor([4., 4.]), None)
    >>> rpc.shutdown()
    """
    if TRACING.on:
        with record_function("torch::distributed::autograd::backward"):
            ENGINE.execute(context_id, roots, retain_graph, create_graph)
    else:
        ENGINE.execute(context_id, roots, retain_graph, create_graph)


def grad(
    context_id: int,
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Give the gradients of `outputs` with respect to `inputs`, tensors of this worker, through every worker in between.

    The distributed `mpigrad.autograd.grad`; an addition to PyTorch. The context's gradients are left alone.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> with dist_autograd.context() as context_id:
    ...     loss = rpc.rpc_sync("solo", mpigrad.pow, args=(x, 3)).sum()
    ...     (first,) = dist_autograd.grad(context_id, loss, x, create_graph=True)
    ...     dist_autograd.grad(context_id, first.sum(), x)
    (tensor([6., 6.]),)
    >>> rpc.shutdown()
    """
    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    found = ENGINE.execute(context_id, roots, keep, create_graph, wanted)
    if not allow_unused and any(each is None for each in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
            "the desired behavior."
        )
    return tuple(None if each is None else each if isinstance(each, Tensor) else wrap(as_array(each)) for each in found)


def _backward_of_rref(context_id: int, roots: list[Tensor], retain_graph: bool) -> None:
    backward(context_id, roots, retain_graph)


extensions.backward = _backward_of_rref
extensions.debug_info_hooks.append(lambda: _get_debug_info())


def get_gradients(context_id: int) -> dict[Tensor, Tensor]:
    """The gradients that passes in this context gathered on this worker, by leaf.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> x, y = (mpigrad.ones(2, requires_grad=True) for _ in range(2))
    >>> with dist_autograd.context() as context_id:
    ...     dist_autograd.backward(context_id, [rpc.rpc_sync("solo", mpigrad.add, args=(x, y)).sum()])
    ...     sorted(gradient.tolist() for gradient in dist_autograd.get_gradients(context_id).values())
    [[1.0, 1.0], [1.0, 1.0]]
    >>> rpc.shutdown()
    """
    return _retrieve_context(context_id).give_gradients()


def _init(worker_id: int) -> None:
    init(worker_id)


def _new_context() -> DistAutogradContext:
    return this_worker().container.new_context()


def _release_context(context_id: int) -> None:
    worker = this_worker()
    worker.container.retrieve(context_id)
    release(worker, context_id)


def _current_context() -> DistAutogradContext:
    found = CURRENT.context
    if found is not None and found.released:
        raise RuntimeError("Couldn't find autograd context data for current autograd context id")
    if found is None:
        raise RuntimeError(
            "Current thread doesn't have a valid autograd context. Please wrap your code using: "
            "`with mpigrad.distributed.autograd.context() as context_id` to generate a valid context"
        )
    return found


def _has_valid_context() -> bool:
    return CURRENT.context is not None and not CURRENT.context.released


def _retrieve_context(context_id: int) -> DistAutogradContext:
    return this_worker().container.retrieve(context_id)


def _is_valid_context(context_id: int) -> None:
    _retrieve_context(context_id)


def _get_max_id() -> int:
    return this_worker().container.max_id


def _get_debug_info() -> dict[str, Any]:
    worker = this_worker()
    return {
        "num_current_backward_passes": len(worker.live),
        "num_autograd_contexts": len(worker.container.contexts),
    }


def _num_unacknowledged_releases() -> int:
    """How many workers have been told to release a context and have not said that they did."""
    return len(this_worker().releasing)
