"""Schedules: in which order a rank runs the forward and backward passes of micro-batches (the parts of a batch).

An order is a list of actions for each rank. It is computed without communication, so that all ranks, and tests, know all orders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from mpigrad._graph.grad_mode import is_grad_enabled, no_grad
from mpigrad._tensor import Tensor

from .microbatch import merge_chunks, split_args_kwargs_into_chunks, split_tensor
from .stage import PipelineStage


class Action(NamedTuple):
    """What a rank does at a time: the forward ("F") or backward ("B") pass of a micro-batch through one of its stages."""

    stage_index: int
    computation_type: str
    microbatch_index: int

    def __repr__(self) -> str:
        return f"{self.stage_index}{self.computation_type}{self.microbatch_index}"


Order = list[Action]


class _PipelineSchedule:
    """Base class of schedules: runs the actions of this rank in the order that `_order` of a subclass returns."""

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        self._stages = stages
        self._n_microbatches, self._loss_fn, self.scale_grads = n_microbatches, loss_fn, scale_grads
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec = output_merge_spec
        self._has_backward = loss_fn is not None
        self.pp_group_size, self.rank = stages[0].group_size, stages[0].group_rank
        self.n_local_stages = len(stages)
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be at least 1, got {n_microbatches}")
        # Stages are dealt out to the ranks in turn: rank 0 of 2 has the stages 0, 2, 4, ...
        expected = list(range(self.rank, stages[0].num_stages, self.pp_group_size))
        if [each.stage_index for each in stages] != expected:
            raise ValueError(
                f"rank {self.rank} of {self.pp_group_size} must have the stages {expected} of {stages[0].num_stages}, got "
                f"{[each.stage_index for each in stages]}"
            )
        self._check()
        self.pipeline_order: dict[int, Order] = {rank: self._order(rank) for rank in range(self.pp_group_size)}

    def _check(self) -> None:
        """Raise a ValueError if the schedule does not support these numbers of micro-batches and stages."""

    def _order(self, rank: int) -> Order:
        """Return the actions of a rank, in order."""
        raise NotImplementedError

    def step(
        self,
        *args: Any,
        target: Tensor | None = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run a whole batch: cut it into micro-batches, run them forwards and, with a loss function, backwards.

        All ranks call it.

        Args:
            args: the inputs of the batch; only on the rank of the first stage.
            target: for the loss function; only on the rank of the last stage, where it is needed.
            losses: a list, which gets the loss of each micro-batch; only on the rank of the last stage.
            return_outputs: return the output of the batch on the rank of the last stage; other ranks return None.
            loss_kwargs: keyword arguments of the loss function.
            kwargs: keyword arguments of this rank's modules.

        Gradients are added to `.grad` of the parameters. RuntimeError if gradients are disabled: use `eval`.
        """
        if self._has_backward and not is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not be used under "
                "mpigrad.no_grad() context. Please call eval() instead."
            )
        count = self._n_microbatches
        args_chunks, kwargs_chunks = split_args_kwargs_into_chunks(
            args, kwargs, count, self._args_chunk_spec, self._kwargs_chunk_spec
        )
        targets = None if target is None else split_tensor(target, 0, count)
        return self._run(args_chunks, kwargs_chunks, targets, losses, return_outputs, loss_kwargs or {})

    def eval(self, *args: Any, target: Tensor | None = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """Run a whole batch forwards only; arguments and result are those of `step`."""
        before, self._has_backward = self._has_backward, False
        try:
            with no_grad():
                return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def _run(self, args: Any, kwargs: Any, targets: Any, losses: Any, return_outputs: bool, loss_kwargs: Any) -> Any:
        here = {stage.stage_index: stage for stage in self._stages}
        for stage in self._stages:
            stage.clear_runtime_states()
            stage.has_backward, stage._local = self._has_backward, here
        found: dict[int, Tensor] = {}
        for action in self.pipeline_order[self.rank]:
            stage, chunk = here[action.stage_index], action.microbatch_index
            if action.computation_type == "F":
                output = stage.forward_one_chunk(chunk, args[chunk], kwargs[chunk])
                if stage.is_last and self._loss_fn is not None and targets is not None:
                    found[chunk] = self._loss_fn(output, targets[chunk], **loss_kwargs)
            elif self._has_backward:
                if stage.is_last and chunk not in found:
                    raise RuntimeError("the rank of the last stage must be given `target`: the loss function needs it")
                stage.backward_one_chunk(chunk, found.get(chunk))
        for stage in self._stages:
            stage.finish_sends()
            if self._has_backward and self.scale_grads:
                stage.scale_grads(self._n_microbatches)
        if losses is not None and found:
            losses[:] = [found[chunk] for chunk in sorted(found)]
        last = self._stages[-1]
        result = merge_chunks(last.output_chunks, self._output_merge_spec) if last.is_last and return_outputs else None
        for stage in self._stages:
            stage.clear_runtime_states()
        return result


class _SingleStage(_PipelineSchedule):
    """Base class of schedules for pipelines with one stage on each rank."""

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        super().__init__(
            [stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )


class ScheduleGPipe(_SingleStage):
    """Run all micro-batches forwards, then all backwards; the activations of all micro-batches are kept until then.

    All ranks of the pipeline create it and call `step` together.

    Args:
        stage: this rank's `PipelineStage`.
        n_microbatches: into how many micro-batches each batch is cut.
        loss_fn: called with output and target of each micro-batch on the rank of the last stage. Without it, `step` runs
            forwards only.
        args_chunk_spec, kwargs_chunk_spec: along which dimension each argument is cut, as a `TensorChunkSpec` for each tensor, in
            containers like those of the arguments; by default tensors are cut along dimension 0, and each micro-batch gets other
            arguments whole.
        output_merge_spec: along which dimension the outputs of micro-batches are joined; by default 0.
        scale_grads: divide gradients by the number of micro-batches, as for a loss that is a mean over the batch.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad.distributed.pipelining import PipelineStage, ScheduleGPipe
    >>> dist.init_process_group("mpi")
    >>> layer = mpigrad.nn.Linear(3, 1)
    >>> stage = PipelineStage(layer, stage_index=0, num_stages=1, device="cpu")    # one rank
    >>> schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=mpigrad.nn.functional.mse_loss)
    >>> losses = []
    >>> output = schedule.step(mpigrad.ones(4, 3), target=mpigrad.zeros(4, 1), losses=losses)
    >>> tuple(output.shape), len(losses)
    ((4, 1), 2)
    >>> layer.weight.grad is not None
    True
    >>> dist.destroy_process_group()
    """

    def _order(self, rank: int) -> Order:
        chunks = range(self._n_microbatches)
        return [Action(rank, "F", chunk) for chunk in chunks] + [Action(rank, "B", chunk) for chunk in chunks]


class Schedule1F1B(_SingleStage):
    """After a few forward passes, each stage runs one backward and one forward pass in turn ("1F1B").

    It needs less memory than `ScheduleGPipe`, whose arguments it has:

    each rank keeps the activations of as many micro-batches as there are stages from its own to the last one.
    """

    def _order(self, rank: int) -> Order:
        count = self._n_microbatches
        ahead = min(count, self.pp_group_size - rank)  # forwards that this rank can do before the first gradient arrives
        order = [Action(rank, "F", chunk) for chunk in range(ahead)]
        for chunk in range(count):
            order.append(Action(rank, "B", chunk))
            if chunk + ahead < count:
                order.append(Action(rank, "F", chunk + ahead))
        return order


class ScheduleLoopedBFS(_PipelineSchedule):
    """Several stages on each rank: all micro-batches through one stage, then all through the next ("breadth first").

    The arguments are those of `ScheduleGPipe`, with a list of this rank's stages instead of one.
    """

    def _order(self, rank: int) -> Order:
        own = range(rank, self._stages[0].num_stages, self.pp_group_size)
        chunks = range(self._n_microbatches)
        forwards = [Action(stage, "F", chunk) for stage in own for chunk in chunks]
        return forwards + [Action(stage, "B", chunk) for stage in reversed(own) for chunk in reversed(chunks)]


class ScheduleInterleaved1F1B(_PipelineSchedule):
    """`Schedule1F1B` for several stages on each rank (Narayanan et al., 2021, arXiv 2104.04473).

    Compared with `Schedule1F1B` the *bubble*, the share of time in which ranks wait, is smaller, and there are more messages.
    The arguments are those of `ScheduleGPipe`, with a list of this rank's stages instead of one.
    """

    def _check(self) -> None:
        if self._stages[0].num_stages % self.pp_group_size:
            raise ValueError(
                "Interleaved 1F1B requires the same number of stages on every rank, but there are "
                f"{self._stages[0].num_stages} stages on {self.pp_group_size} ranks: the order would never end"
            )
        self.number_of_rounds = max(1, self._n_microbatches // self.pp_group_size)
        self.microbatches_per_round = self._n_microbatches // self.number_of_rounds
        if self._n_microbatches % self.number_of_rounds:
            raise ValueError(
                "Interleaved 1F1B requires the number of microbatches to be a multiple of the number of rounds "
                f"({self.number_of_rounds}), but got {self._n_microbatches}."
            )

    def _order(self, rank: int) -> Order:
        local, per_round, ranks = self.n_local_stages, self.microbatches_per_round, self.pp_group_size
        total = local * self._n_microbatches
        ahead = min(total, (local - 1) * per_round + 2 * (ranks - 1 - rank))
        counts: dict[str, Counter[int]] = {"F": Counter(), "B": Counter()}

        def action(kind: str, number: int) -> Action:
            # A round takes `per_round` micro-batches through all stages of this rank, backwards from the last stage.
            at = number // per_round % local
            stage = (at if kind == "F" else local - 1 - at) * ranks + rank
            counts[kind][stage] += 1
            return Action(stage, kind, counts[kind][stage] - 1)

        order = [action("F", number) for number in range(ahead)]
        for number in range(total):
            if number + ahead < total:
                order.append(action("F", number + ahead))
            order.append(action("B", number))
        return order


def bubble_fraction(order: dict[int, Order], num_stages: int) -> float:
    """The share of the time in which ranks wait, if all actions take the same time and messages none.

    `order` has the actions of each rank (`pipeline_order` of a schedule), `num_stages` counts the stages of all ranks. ValueError
    if the order never ends, because ranks wait for each other.

    >>> bubble_fraction({0: [Action(0, "F", 0), Action(0, "B", 0)], 1: [Action(1, "F", 0), Action(1, "B", 0)]}, 2)
    0.5
    """
    ended: dict[Action, int] = {}
    clocks, positions = dict.fromkeys(order, 0), dict.fromkeys(order, 0)
    while any(positions[rank] < len(order[rank]) for rank in order):
        before = dict(positions)
        for rank, actions in order.items():
            while positions[rank] < len(actions) and all(each in ended for each in _needs(actions[positions[rank]], num_stages)):
                action = actions[positions[rank]]
                start = max([clocks[rank], *(ended[each] for each in _needs(action, num_stages))])
                ended[action] = clocks[rank] = start + 1
                positions[rank] += 1
        if positions == before:
            raise ValueError("this order never ends: ranks wait for each other")
    busy = sum(map(len, order.values()))
    return 1 - busy / (max(clocks.values()) * len(order))


def _needs(action: Action, num_stages: int) -> list[Action]:
    """Return the actions that must have ended before `action` can start."""
    stage, kind, chunk = action
    if kind == "F":
        return [Action(stage - 1, "F", chunk)] if stage else []
    return [Action(stage, "F", chunk), *([Action(stage + 1, "B", chunk)] if stage < num_stages - 1 else [])]


__all__ = ["Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS"]
