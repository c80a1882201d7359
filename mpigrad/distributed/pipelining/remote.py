"""`RemotePipeline`: the stages of a pipeline on RPC workers, run by one worker; an addition to PyTorch's names.

How it works: each worker runs the schedule of its stages, as ranks of a process group do. Outputs and gradients go from
worker to worker by calls of `_deliver`, which put them into the receiver's `Mail`; a stage that needs one waits for it
there. If a stage fails, the worker that called `step` tells the others, whose waits then end with its error. Waits also end
at the deadline of the step.
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
    """Tensors that have arrived for the stages of pipelines on this worker, until these take them.

    A key is (number of the step, kind: forward or backward, index of the stage that receives, number of the micro-batch).
    What arrives late from a step that has failed is dropped.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrived: dict[Any, Future] = {}  # also of what is waited for
        self._step = 0
        self._failed: tuple[int, str] = (-1, "")

    def begin(self, step: int) -> None:
        """Begin a step: drop what earlier steps have left."""
        with self._lock:
            self._step = step
            self._arrived = {key: fut for key, fut in self._arrived.items() if key[0] >= step}

    def put(self, key: Any, tensors: list[Tensor | None]) -> None:
        """Store the tensors that another stage has sent, and wake the thread that waits for them."""
        with self._lock:
            found = self._arrived.setdefault(key, Future()) if key[0] >= self._step else None
        if found is not None and not found.done():  # done: `fail` has ended the wait for it
            found.set_result(tensors)

    def fail(self, step: int, error: str) -> None:
        """End the waits of a step: they raise a RuntimeError with the text `error`."""
        with self._lock:
            self._failed = step, error
            waiting = [fut for key, fut in self._arrived.items() if key[0] == step and not fut.done()]
        for each in waiting:
            each.set_exception(RuntimeError(error))

    def take(self, key: Any, deadline: float) -> list[Tensor | None]:
        """Wait for the tensors that another stage sends, and return them.

        RuntimeError if a stage has failed, or at the deadline (of `time.monotonic()`). The wait is that for a future, so
        meanwhile the pool of this worker may run other calls, those of `_deliver` among them.
        """
        with self._lock:
            if key not in self._arrived and self._failed[0] == key[0]:
                raise RuntimeError(self._failed[1])
            found = self._arrived.setdefault(key, Future())
        found._block(deadline)
        with self._lock:
            self._arrived.pop(key, None)
        if not found.done():
            raise RuntimeError(f"stage {key[2]} did not get micro-batch {key[3]} from its neighbour in time")
        return found.value()  # type: ignore[no-any-return]


class RpcStage(PipelineStage):
    """A pipeline stage on an RPC worker.

    `number` identifies its pipeline, `index` is its place in it, `workers` are the names of all stages' workers, and
    `mail` receives for it.
    """

    def __init__(self, module: Any, number: str, index: int, workers: Sequence[str], mail: Mail) -> None:
        # The fields that `PipelineStage.__init__` would set. There is no process group, so it is not called.
        self.submod, self.stage_index, self.num_stages = module, index, len(workers)
        self.device, self.has_backward = Device("cpu"), False
        self.group_rank, self.group_size = index, len(workers)
        self._number, self._workers, self._mail = number, workers, mail
        self.step, self.deadline = 0, 0.0
        self.clear_runtime_states()

    def _send(self, kind: int, stage: int, chunk: int, tensors: list[Tensor | None]) -> None:
        # Detached: each stage runs its own backward pass, so the graph must not cross workers.
        sent = [None if each is None else each.detach() for each in tensors]
        key = self.step, kind, stage, chunk
        self._sent.append(rpc.rpc_async(self._workers[stage], _deliver, args=(self._number, key, sent)))

    def _receive(self, kind: int, chunk: int) -> list[Tensor | None]:
        return self._mail.take((self.step, kind, self.stage_index, chunk), self.deadline)

    def finish_sends(self) -> None:
        wait_all(self._sent)
        self._sent.clear()


class _Part:
    """What one worker has of a pipeline: a stage and its schedule. `make(*args)` makes the module."""

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
    """Store tensors for a stage. Runs on its worker."""
    _parts[number, key[2]].mail.put(key, tensors)


def _make(number: str, index: int, *rest: Any) -> None:
    _parts[number, index] = _Part(number, index, *rest)


def _step(number: str, index: int, step: int, seconds: float, trains: bool, args: Any, target: Any) -> Any:
    part, losses = _parts[number, index], []  # type: ignore[var-annotated]
    part.mail.begin(step)
    part.stage.step, part.stage.deadline = step, time.monotonic() + seconds
    run = part.schedule.step if trains else part.schedule.eval
    output = run(*args, target=target, losses=losses)
    return None if output is None else (output.detach(), [each.detach() for each in losses])


def _apply(number: str, index: int, function: Callable[..., Any], args: Any) -> Any:
    return function(_parts[number, index].module, *args)


def _fail(number: str, index: int, step: int, error: str) -> None:
    """End the waits of a stage in a step with an error. Runs on its worker."""
    _parts[number, index].mail.fail(step, error)


def _drop(number: str, index: int) -> None:
    _parts.pop((number, index), None)


class RemotePipeline:
    """A pipeline whose stages are on RPC workers. One worker creates it and calls `step`; an addition to PyTorch.

    `step` runs a batch through all stages and back. Gradients are then in `.grad` of the modules' parameters; `apply` calls a
    function on each module, for example to update it.

    Args:
        stages: for each stage the worker's name, the function or class that makes its module there, and the arguments of
            that function. No two stages may be on one worker (ValueError).
        n_microbatches: into how many micro-batches each batch is cut.
        loss_fn: called with output and target of each micro-batch on the worker of the last stage. Without it, `step` runs
            forwards only.
        schedule: `Schedule1F1B` or `ScheduleGPipe`.
        timeout: how many seconds a step may take; then a RuntimeError is raised.

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
        self._number, self._steps = f"{rpc.get_worker_info().name}:{next(_NUMBERS)}", 0
        rest = (n_microbatches, loss_fn)
        self._all(_make, lambda index: (self.workers, *stages[index][1:], schedule, *rest))

    def step(self, *args: Any, target: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """Run a batch forwards and, with a loss function, backwards; waits until all stages are done.

        `args` go to the module of the first stage, `target` to the loss function. Returns the output of the last stage, and
        the list of the losses of all micro-batches. If a stage fails, its error is raised; a RuntimeError if the step takes
        longer than the pipeline's `timeout`.
        """
        return self._run(True, args, target)

    def eval(self, *args: Any, target: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """Run a batch forwards only, without recording gradients; arguments and result are those of `step`."""
        return self._run(False, args, target)

    def apply(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call `function(module, *args)` for the module of each stage, on its worker; returns the list of the results."""
        return self._all(_apply, lambda index: (function, args))

    def close(self) -> None:
        """Remove the stages from their workers. The pipeline cannot be used afterwards."""
        self._all(_drop, lambda index: ())

    def _run(self, trains: bool, args: Any, target: Any) -> tuple[Tensor, list[Tensor]]:
        last, self._steps = len(self.workers) - 1, self._steps + 1
        found = self._all(
            _step,
            lambda index: (self._steps, self.timeout, trains, args if index == 0 else (), target if index == last else None),
        )
        return found[-1]  # type: ignore[no-any-return]

    def _all(self, function: Callable[..., Any], rest: Callable[[int], tuple[Any, ...]]) -> list[Any]:
        """Call `function(name of the pipeline, index of the stage, *rest(index))` on the worker of each stage, at the same time.

        Returns the results. The first error of a step ends that step on all workers, and is raised.
        """
        # Twice the time of a step: the stages' own waits end first, and their errors say what was missing.
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
            for future in started:  # no stage may still run when the next step begins
                _settled(future)
            if failed:  # `wait_all` may have raised the error of a stage that failed only because of the first one
                started[failed[0]].wait()
            raise

    def _note(self, failed: list[int], index: int, done: Future) -> None:
        """Called when the call of the stage `index` is done: if it is the first that has failed, tell all stages."""
        try:
            done.value()
        except Exception as error:
            failed.append(index)
            if failed[0] == index:
                text = f"stage {index} on {self.workers[index]} failed: {error}"
                for other, worker in enumerate(self.workers):
                    rpc.rpc_async(worker, _fail, args=(self._number, other, self._steps, text))


def _settled(future: Future) -> None:
    """Wait for a call without raising its error."""
    try:
        future.wait()
    except Exception:
        return


__all__ = ["RemotePipeline"]
