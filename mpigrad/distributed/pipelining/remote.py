"""`RemotePipeline`: the stages of a pipeline on RPC workers, run by one worker; an addition to PyTorch's names.

Each worker runs the schedule of its stages, as ranks of a process group do. Outputs and gradients go from worker to worker by
calls of `_deliver`, which put them into the receiver's `Mail`; a stage that needs one waits for it there. If a stage fails, the
worker that called `step` tells the others, whose waits then end with its error. Waits also end at the deadline of the step.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mpigrad._array.device import device as Device
from mpigrad._tensor import Tensor
from mpigrad.futures import Future, wait_all

from .. import rpc
from .schedules import Schedule1F1B, ScheduleGPipe
from .stage import PipelineStage

_NUMBERS = itertools.count()


class Mail:
    """Tensors that have arrived for stages of this worker, by kind, stage and micro-batch."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._arrived: dict[Any, list[Tensor | None]] = {}
        self.error: str | None = None

    def put(self, key: Any, tensors: list[Tensor | None]) -> None:
        """Add what another stage has sent."""
        with self._changed:
            self._arrived[key] = tensors
            self._changed.notify_all()

    def fail(self, error: str) -> None:
        """End all waits."""
        with self._changed:
            self.error = error
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget the mail and the error of a step that failed."""
        with self._changed:
            self._arrived.clear()
            self.error = None

    def take(self, key: Any, deadline: float) -> list[Tensor | None]:
        """Wait for what another stage sends; RuntimeError if a stage has failed or at the deadline."""
        with self._changed:
            while key not in self._arrived:
                if self.error is not None:
                    raise RuntimeError(self.error)
                if not self._changed.wait(max(0.0, deadline - time.monotonic())) and time.monotonic() > deadline:
                    raise RuntimeError(f"stage {key[1]} waited in vain for micro-batch {key[2]} of another stage")
            return self._arrived.pop(key)


class RpcStage(PipelineStage):
    """A stage on an RPC worker."""

    def __init__(self, module: Any, number: str, index: int, workers: Sequence[str], mail: Mail) -> None:
        self.submod, self.stage_index, self.num_stages = module, index, len(workers)
        self.device, self.has_backward = Device("cpu"), False
        self.group_rank, self.group_size = index, len(workers)
        self._number, self._workers, self._mail = number, workers, mail
        self.deadline = 0.0
        self.clear_runtime_states()

    def _send(self, kind: int, stage: int, chunk: int, tensors: list[Tensor | None]) -> None:
        sent = [None if each is None else each.detach() for each in tensors]
        self._sent.append(rpc.rpc_async(self._workers[stage], _deliver, args=(self._number, (kind, stage, chunk), sent)))

    def _receive(self, kind: int, chunk: int) -> list[Tensor | None]:
        return self._mail.take((kind, self.stage_index, chunk), self.deadline)

    def finish_sends(self) -> None:
        wait_all(self._sent)
        self._sent.clear()


class _Part:
    """What one worker has of a pipeline: its stage and schedule."""

    def __init__(
        self, number: str, index: int, workers: Sequence[str], make: Callable[..., Any], args: Any, schedule: Any,
        chunks: int, loss_fn: Any,
    ) -> None:  # fmt: skip
        self.mail = Mail()
        self.module = make(*args)
        self.stage = RpcStage(self.module, number, index, workers, self.mail)
        self.schedule = schedule(self.stage, chunks, loss_fn)


_parts: dict[tuple[str, int], _Part] = {}  # by pipeline and stage, on the stage's worker


def _deliver(number: str, key: Any, tensors: list[Tensor | None]) -> None:
    _parts[number, key[1]].mail.put(key, tensors)


def _make(number: str, index: int, *rest: Any) -> None:
    _parts[number, index] = _Part(number, index, *rest)


def _step(number: str, index: int, seconds: float, trains: bool, args: Any, target: Any) -> Any:
    part, losses = _parts[number, index], []  # type: ignore[var-annotated]
    part.stage.deadline = time.monotonic() + seconds
    run = part.schedule.step if trains else part.schedule.eval
    output = run(*args, target=target, losses=losses)
    return None if output is None else (output.detach(), [each.detach() for each in losses])


def _apply(number: str, index: int, function: Callable[..., Any], args: Any) -> Any:
    return function(_parts[number, index].module, *args)


def _fail(number: str, index: int, error: str | None) -> None:
    part = _parts[number, index]
    part.mail.clear() if error is None else part.mail.fail(error)


def _drop(number: str, index: int) -> None:
    _parts.pop((number, index), None)


class RemotePipeline:
    """A pipeline whose stages are on RPC workers.

    - `stages`: for each stage the worker, the function or class that makes its module there, and its arguments. Different stages
      are on different workers.
    - `schedule`: `Schedule1F1B` or `ScheduleGPipe`.

    `step` runs a batch through all stages and back. Gradients are in `.grad` of the modules; `apply` calls a function on each
    module, for example to update it.

    >>> import mpigrad, mpigrad.distributed.rpc as rpc
    >>> from mpigrad import nn
    >>> from mpigrad.distributed.pipelining import RemotePipeline
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> pipeline = RemotePipeline([("solo", nn.Linear, (3, 1))], n_microbatches=2, loss_fn=nn.functional.mse_loss)
    >>> output, losses = pipeline.step(mpigrad.ones(4, 3), target=mpigrad.zeros(4, 1))
    >>> tuple(output.shape), len(losses)
    ((4, 1), 2)
    >>> pipeline.close()
    >>> rpc.shutdown()
    """

    def __init__(
        self,
        stages: Sequence[tuple[str, Callable[..., Any], tuple[Any, ...]]],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        schedule: type[Schedule1F1B] | type[ScheduleGPipe] = Schedule1F1B,
        timeout: float = 300.0,
    ) -> None:
        self.workers = [worker for worker, _, _ in stages]
        if len(set(self.workers)) != len(self.workers):
            raise ValueError(f"stages of a RemotePipeline must be on different workers, got {self.workers}")
        self.timeout = timeout
        self._number = f"{rpc.get_worker_info().name}:{next(_NUMBERS)}"
        rest = (n_microbatches, loss_fn)
        self._all(_make, lambda index: (self.workers, *stages[index][1:], schedule, *rest))

    def step(self, *args: Any, target: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """Run a batch forwards and, with a loss function, backwards; returns the output and the losses of micro-batches."""
        return self._run(True, args, target)

    def eval(self, *args: Any, target: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """Run a batch forwards only."""
        return self._run(False, args, target)

    def apply(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call `function(module, *args)` for the module of each stage, on its worker; returns the results."""
        return self._all(_apply, lambda index: (function, args))

    def close(self) -> None:
        """Remove the stages from their workers."""
        self._all(_drop, lambda index: ())

    def _run(self, trains: bool, args: Any, target: Any) -> tuple[Tensor, list[Tensor]]:
        last = len(self.workers) - 1
        found = self._all(
            _step,
            lambda index: (self.timeout, trains, args if index == 0 else (), target if index == last else None),
        )
        return found[-1]  # type: ignore[no-any-return]

    def _all(self, function: Callable[..., Any], rest: Callable[[int], tuple[Any, ...]]) -> list[Any]:
        """Call a function on the worker of each stage at the same time; the first error ends a step on all of them."""
        started: list[Future] = [
            rpc.rpc_async(worker, function, args=(self._number, index, *rest(index)), timeout=2 * self.timeout)
            for index, worker in enumerate(self.workers)
        ]
        if function is not _step:
            return wait_all(started)
        failed: list[int] = []  # stages, in the order of their errors
        for index, future in enumerate(started):
            future.add_done_callback(partial(self._note, failed, index))
        try:
            return wait_all(started)
        except Exception:
            for future in started:
                _settled(future)
            self._all(_fail, lambda index: (None,))
            if failed:
                started[failed[0]].wait()
            raise

    def _note(self, failed: list[int], index: int, done: Future) -> None:
        """Tell all stages that one has failed, if it is the first."""
        try:
            done.value()
        except Exception as error:
            failed.append(index)
            if failed[0] == index:
                text = f"stage {index} on {self.workers[index]} failed: {error}"
                for other, worker in enumerate(self.workers):
                    rpc.rpc_async(worker, _fail, args=(self._number, other, text))


def _settled(future: Future) -> None:
    """Wait for a call without raising its error."""
    try:
        future.wait()
    except Exception:
        return


__all__ = ["RemotePipeline"]
