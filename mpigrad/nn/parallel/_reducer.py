"""The reducer of `DistributedDataParallel`: averages gradients over ranks while the backward pass still runs.

A hook on each parameter puts its gradient into a bucket. A full bucket starts a non-blocking reduction; buckets start in the same
order on all ranks. Later hooks let MPI move the reductions on, and the hook of the last parameter waits for all of them and
writes the averages back: into `.grad`, or into the context of a distributed pass.

The group has a communicator of its own, so reductions are never mixed up with collectives of the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from mpigrad._array.device import guard
from mpigrad._core.autograd.contexts import CURRENT
from mpigrad._core.node import AccumulateGrad, accumulator, edge_of
from mpigrad._core.rpc.rref import RRef
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, counter
from mpigrad.distributed._process_group.all_reduce import all_reduce
from mpigrad.distributed._process_group.collectives import broadcast
from mpigrad.distributed._process_group.reduce_op import ReduceOp

from ._buckets import Bucket, SparseBucket, assigned

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your "
    "module has parameters that were not used in producing loss. You can enable unused parameter detection by passing the "
    "keyword argument `find_unused_parameters=True` to `mpigrad.nn.parallel.DistributedDataParallel`, and by making sure all "
    "`forward` function outputs participate in calculating loss. Parameters without a gradient on this rank: {names}"
)


class Reducer:
    """Averages the gradients of parameters over the ranks of a group.

    `named` are the parameters with their names, `sparse` the ids of those with sparse gradients, `caps` the sizes of buckets (see
    `assigned`); the last three arguments are `gradient_as_bucket_view`, `find_unused_parameters` and `static_graph` of
    `DistributedDataParallel`.
    """

    def __init__(
        self, named: Sequence[tuple[str, Tensor]], sparse: set[int], group: Any, caps: Sequence[int], as_view: bool,
        find_unused: bool, static: bool,
    ) -> None:  # fmt: skip
        self.names = {id(each): name for name, each in named}
        self.parameters = [each for _, each in named]
        self._sparse, self.group, self._caps = sparse, group, caps
        self._as_view, self._find_unused, self._static = as_view, find_unused, static
        self.hook: Any = None
        self.state: Any = None
        self.divisor = group.size()
        self._lock = threading.RLock()
        self._armed = False  # a backward pass is expected
        self._begun = False  # a gradient of that pass has arrived
        self._passes = 0  # 1 after the first pass, 2 after the buckets were rebuilt
        self._next = 0  # the bucket whose reduction starts next
        self._running: list[Bucket] = []  # buckets whose reductions have started and may not be complete
        self._arrived_ids: dict[int, None] = {}  # parameters whose gradients have arrived in this pass, in order
        self._arrivals: list[int] = []  # indices of parameters in the order of the first pass
        self._unused: list[Tensor] = []
        self._static_unused: list[Tensor] | None = None
        self._used_before: dict[str, bool] | None = None  # what `_used_anywhere` returned last
        self._context: Any = None
        self._in_context: list[tuple[Any, Any]] = []  # accumulators, kept alive, and handles of their hooks
        # in reverse: the backward pass reaches the last layers first
        self._assign(list(reversed(self.parameters)))
        self._handles = [self._hook_of(each) for each in self.parameters]

    # -- the framework of the parameters: interop/_torch_parallel.py has another ----------------------------------------
    def _hook_of(self, parameter: Tensor) -> Any:
        """Call `_arrived` when the gradient of a parameter is complete; returns a handle."""
        return parameter.register_post_accumulate_grad_hook(self._arrived)

    def _leaf_of(self, parameter: Tensor) -> Any:
        """The node at which a distributed pass adds up the gradients of a parameter."""
        return accumulator(parameter)

    def _local_grad(self, parameter: Tensor) -> Tensor | None:
        return parameter._grad

    def _grad_in_context(self, parameter: Tensor) -> Tensor | None:
        return self._context.gradients.get(parameter)  # type: ignore[no-any-return]

    def _set_grad(self, parameter: Tensor, made: Any) -> None:
        if self._context is None:
            parameter._grad = made
        else:
            with self._context.lock:
                self._context.gradients[parameter] = made

    def _used(self, outputs: Any) -> set[int]:
        """The ids of the parameters on which the outputs of a forward depend."""
        seen: set[Any] = set()
        stack = [edge[0] for each in tensors_in(outputs, Tensor) if (edge := edge_of(each)) is not None]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack += [edge[0] for edge in node.edges if edge is not None]
        return {id(node.variable) for node in seen if type(node) is AccumulateGrad}

    # -- buckets -------------------------------------------------------------------------------------------------------
    def _assign(self, order: Sequence[Tensor]) -> None:
        direct = self.hook is None and not self._as_view
        self.buckets: list[Bucket] = assigned(order, self._sparse, self._caps, direct)
        self._place = {id(each): (bucket, i) for bucket in self.buckets for i, each in enumerate(bucket.parameters)}

    # -- before a pass -------------------------------------------------------------------------------------------------
    def rebuild(self) -> None:
        """After the first pass, order the buckets as its gradients arrived on the first rank."""
        # with unused parameters the order differs from pass to pass
        if self._passes != 1 or self._find_unused:
            return
        self._passes += 1
        order = np.array(self._arrivals or range(len(self.parameters) - 1, -1, -1), "i8")
        sent = wrap(order)
        # all ranks must start the reductions of the same buckets in the same order, so one rank's order counts
        broadcast(sent, group=self.group, group_src=0)
        self._assign([self.parameters[i] for i in sent._array.tolist()])

    def use_hook(self, hook: Any, state: Any) -> None:
        """Reduce by `hook(state, bucket)` from the next pass on."""
        self.hook, self.state = hook, state
        self._assign([each for bucket in self.buckets for each in bucket.parameters])

    def prepare(self, outputs: Any) -> None:
        """Expect a backward pass from `outputs`."""
        # the pass before has not brought all gradients: some parameters were not used in it
        if self._armed and self._begun:
            late = [self.names[id(each)] for bucket in self.buckets for each in bucket.parameters if not self._has_arrived(each)]
            self._disarm()
            raise RuntimeError(_UNFINISHED.format(names=", ".join(late)))
        for bucket in self.buckets:
            bucket.reset()
        self._next, self._running, self._begun, self._armed, self._arrived_ids = 0, [], False, True, {}
        self._unused = self._find(outputs) if self._find_unused or self._static else []
        self._watch_context()

    def _find(self, outputs: Any) -> list[Tensor]:
        """The parameters on which none of the outputs depends."""
        if self._static and self._static_unused is not None:
            return self._static_unused
        used = self._used(outputs)
        unused = [each for each in self.parameters if id(each) not in used]
        if self._static:
            self._static_unused = unused
        return unused

    def _watch_context(self) -> None:
        """In a context of distributed autograd, gradients are not written to `.grad`: observe them at their accumulators."""
        self._forget_context()
        self._context = CURRENT.context
        if self._context is None:
            return
        for each in self.parameters:
            node = self._leaf_of(each)
            self._in_context.append((node, node.register_hook(lambda _, __, leaf=each: self._arrived(leaf))))

    def _forget_context(self) -> None:
        for _, handle in self._in_context:
            handle.remove()
        self._in_context, self._context = [], None

    def _disarm(self) -> None:
        self._armed = self._begun = False
        self._forget_context()

    def ignore_next(self) -> None:
        """Expect no averaging in the next pass: its gradients stay local (`no_sync`)."""
        self._disarm()

    # -- during a pass -------------------------------------------------------------------------------------------------
    def _has_arrived(self, parameter: Tensor) -> bool:
        return id(parameter) in self._arrived_ids

    def _grad_of(self, parameter: Tensor) -> Tensor | None:
        return self._local_grad(parameter) if self._context is None else self._grad_in_context(parameter)

    def _arrived(self, parameter: Tensor) -> None:
        """The hook of a parameter, called when its gradient is complete."""
        with self._lock:
            if not self._armed or self._has_arrived(parameter):
                return
            if not self._begun:
                self._begun = True
                # their gradients will not arrive, so they count as arrived with the first one that does
                for each in self._unused:
                    grad = self._grad_of(each)  # reduced in place, but kept if no rank uses the parameter
                    self._put(each, None if grad is None else wrap(grad._array.copy()))
            if not self._has_arrived(parameter):
                self._put(parameter, self._grad_of(parameter))
            self._advance()

    def _put(self, parameter: Tensor, grad: Tensor | None) -> None:
        self._arrived_ids[id(parameter)] = None
        bucket, place = self._place[id(parameter)]
        if grad is not None and grad.is_sparse != isinstance(bucket, SparseBucket):
            raise RuntimeError(
                f"the gradient of {self.names[id(parameter)]} is {'sparse' if grad.is_sparse else 'dense'}, which "
                "DistributedDataParallel did not expect: only embeddings with sparse=True have sparse gradients"
            )
        bucket.put(place, None if grad is None else grad._array, self._factor(), self.group.size())

    def _factor(self) -> float:
        # averages are sums of shares; a communication hook gets the plain gradients and divides itself
        return 1 / self.divisor if self.hook is None else 1.0

    def _advance(self) -> None:
        """Start the reductions of full buckets, in order; after the last one, finish."""
        # A full bucket waits for those before it: collectives of a group must start in the same order on all ranks.
        while self._next < len(self.buckets) and not self.buckets[self._next].pending:
            self._launch(self.buckets[self._next])
        # most MPIs make progress with a non-blocking reduction only inside their own calls
        self._running = [bucket for bucket in self._running if not bucket.poll()]
        if self._next == len(self.buckets):
            self._finish()

    def _launch(self, bucket: Bucket) -> None:
        self._next += 1
        self._running.append(bucket)
        bucket.launch(self.group, self.hook, self.state, self._next == len(self.buckets))

    def _finish(self) -> None:
        used = self._used_anywhere()
        if not self._passes:
            numbers = {id(each): i for i, each in enumerate(self.parameters)}
            self._arrivals = [numbers[each] for each in self._arrived_ids]
        for bucket in self.buckets:
            bucket.wait()
            self._write_all(bucket, used)
        self._passes = self._passes or 1
        self._disarm()

    def _used_anywhere(self) -> dict[str, bool] | None:
        """For each parameter, whether any rank uses it; None if all are used. Parameters that no rank uses keep their
        gradient.
        """
        if not self._find_unused and not self._static:
            return None
        if self._static and self._used_before is not None:
            return self._used_before
        unused = {id(each) for each in self._unused}
        # a parameter may be used on some ranks only: then all ranks write its average
        marks = wrap(np.array([id(each) not in unused for each in self.parameters], "i4"))
        all_reduce(marks, ReduceOp.MAX, self.group)
        self._used_before = {self.names[id(each)]: bool(mark) for each, mark in zip(self.parameters, marks._array.tolist())}
        return self._used_before

    def _write_all(self, bucket: Bucket, used: dict[str, bool] | None) -> None:
        for place, parameter in enumerate(bucket.parameters):
            if used is None or used[self.names[id(parameter)]]:
                self._write(bucket, place, parameter)

    def _write(self, bucket: Bucket, place: int, parameter: Tensor) -> None:
        held = self._grad_of(parameter)
        if isinstance(bucket, SparseBucket):
            made = bucket.grad
        elif self._as_view and self._context is None:
            view = bucket.views[place]
            # `.grad` is the bucket's memory already, and was reduced in place
            if held is not None and held._array is view:
                counter(held)[0] += 1
                return
            made = wrap(view)
        elif held is not None:
            result = bucket.result(place)
            if not _same_memory(result, held._array):
                with guard(held._array):
                    held._array[...] = result
            counter(held)[0] += 1
            return
        elif bucket.views[place] is None:
            made = wrap(bucket.result(place))
        else:
            with guard(bucket.views[place]):
                made = wrap(bucket.views[place].copy())
        self._set_grad(parameter, made)

    # -- ranks without input -------------------------------------------------------------------------------------------
    def shadow(self) -> None:
        """Take part in the reductions of other ranks' passes, with zeros as gradients, on a rank that has no input.

        This rank gets the averages, too: it may have a part of an optimizer's state.
        """
        for bucket in self.buckets:
            bucket.reset()
            for place in range(len(bucket.parameters)):
                bucket.put(place, None, self._factor(), self.group.size())
        self._next, self._running, self._unused, self._context = 0, [], list(self.parameters), None
        for bucket in self.buckets:
            self._launch(bucket)
        used = self._used_anywhere()
        for bucket in self.buckets:
            bucket.wait()
            self._write_all(bucket, used)
        self._passes = self._passes or 1


def _same_memory(one: Any, other: Any) -> bool:
    """Whether two arrays of one shape are the same memory; views of torch's gradients are new objects each time."""
    if one is not other and type(one) is np.ndarray and type(other) is np.ndarray:
        return one.ctypes.data == other.ctypes.data and one.strides == other.strides
    return one is other


def tensors_in(value: Any, kind: type) -> Iterator[Any]:
    """All tensors (instances of `kind`) in `value`, the result of a forward, also inside containers."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each, kind)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each, kind)
    elif is_dataclass(value):
        for field in fields(value):
            yield from tensors_in(getattr(value, field.name), kind)
    elif isinstance(value, RRef) and value.is_owner():
        yield from tensors_in(value.local_value(), kind)
