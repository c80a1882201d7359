"""Workers of a `DataLoader`: threads that prefetch batches.

PyTorch's workers are processes. Here they are threads, because a process that uses MPI must not be forked, and NumPy releases
the GIL where the work is. They share the data set and the random generator with the program.
"""

from __future__ import annotations

import copy
import itertools
import queue
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...random import initial_seed
from .dataset import IterableDataset

if TYPE_CHECKING:
    from .dataloader import DataLoader

_END = object()
_GRACE = 5.0  # seconds to wait for a worker to end; one that hangs in a data set is abandoned
_here = threading.local()


class WorkerInfo(NamedTuple):
    """What a data set may know about the `DataLoader` worker that calls it: `id`, `num_workers`, `seed` and
    `dataset`.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """Information about the `DataLoader` thread (`id`, `num_workers`, `seed`, `dataset`) that runs this; None elsewhere.

    These workers have nothing to do with those of RPC.

    >>> from mpigrad.utils.data import DataLoader, get_worker_info
    >>> class Workers:
    ...     def __getitem__(self, i): return get_worker_info().id
    ...     def __len__(self): return 4
    >>> [batch.item() for batch in DataLoader(Workers(), num_workers=2)]
    [0, 1, 0, 1]
    """
    return getattr(_here, "info", None)


class _Failure:
    """An error of a worker, to be raised in the program."""

    def __init__(self, worker: int, error: Exception) -> None:
        self.worker, self.error, self.text = worker, error, traceback.format_exc()

    def throw(self) -> None:
        """Raise an error of the same type, whose message has the worker and its traceback."""
        said = f"Caught {type(self.error).__name__} in DataLoader worker thread {self.worker}.\nOriginal {self.text}"
        try:
            made = type(self.error)(said)
        except TypeError:  # a type that wants other arguments
            raise RuntimeError(said) from self.error
        raise made from self.error


class _Worker:
    """A thread with its own queue of tasks; all workers share one queue of results."""

    def __init__(self, info: WorkerInfo, loader: DataLoader[Any], answers: queue.SimpleQueue[Any]) -> None:
        self.orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.info, self.init, self.loader, self.answers = info, loader.worker_init_fn, loader, answers
        self.thread = threading.Thread(target=self._serve, name=f"mpigrad-loader-{info.id}", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        _here.info = self.info
        make, failed = self._begin()
        while (order := self.orders.get()) is not None:
            number, what = order
            self.answers.put((number, failed or self._answer(make, what)))

    def _begin(self) -> tuple[Any, _Failure | None]:
        try:
            if self.init is not None:
                self.init(self.info.id)
            return _maker(self.loader, self.info.dataset), None
        except Exception as error:
            return None, _Failure(self.info.id, error)

    def _answer(self, make: Callable[[Any], Any], what: Any) -> Any:
        try:
            return make(what)
        except Exception as error:
            return _Failure(self.info.id, error)


def _maker(loader: DataLoader[Any], dataset: Any) -> Callable[[Any], Any]:
    """The function that loads one batch: from its indices, or the next one of an iterable data set."""
    if not isinstance(dataset, IterableDataset):
        return loader._made
    batches = loader._iterate(dataset)
    return lambda _: next(batches, _END)


def _hire(loader: DataLoader[Any], answers: queue.SimpleQueue[Any]) -> list[_Worker]:
    drawn = initial_seed() if loader.generator is None else loader.generator.initial_seed()
    seed = drawn + next(loader._passes) * loader.num_workers  # drawing a random number would change the order of a shuffled pass
    count, dataset = loader.num_workers, loader.dataset
    own = isinstance(dataset, IterableDataset)  # each worker has a copy, which it may change
    infos = [WorkerInfo(i, count, seed + i, copy.copy(dataset) if own else dataset) for i in range(count)]
    return [_Worker(info, loader, answers) for info in infos]


def ahead(loader: DataLoader[Any]) -> Iterator[Any]:
    """Iterate over the batches of a loader; its workers load them in advance."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    workers = _hire(loader, answers)
    try:
        yield from _collect(loader, workers, answers)
    finally:
        for worker in workers:
            worker.orders.put(None)
        for worker in workers:
            worker.thread.join(_GRACE)


def _collect(loader: DataLoader[Any], workers: list[_Worker], answers: queue.SimpleQueue[Any]) -> Iterator[Any]:
    tasks = itertools.repeat(None) if isinstance(loader.dataset, IterableDataset) else iter(loader._tasks())
    numbers, active = itertools.count(), deque(workers)
    waiting: dict[int, _Worker] = {}  # number of the batch -> its worker, in the order of the tasks
    ready: dict[int, Any] = {}

    def order() -> None:
        what = next(tasks, _END) if active else _END
        if what is not _END:
            number = next(numbers)
            waiting[number] = active[0]
            active[0].orders.put((number, what))
            active.rotate(-1)

    # so many batches are loaded in advance; each one that is taken orders the next
    for _ in range((loader.prefetch_factor or 2) * len(workers)):
        order()
    while waiting:
        number = _wait_for(next(iter(waiting)) if loader.in_order else None, ready, answers, loader.timeout)
        worker, made = waiting.pop(number), ready.pop(number)
        # an iterable data set ends on each worker at its own time
        if made is _END and worker in active:
            active.remove(worker)
        order()
        if isinstance(made, _Failure):
            made.throw()
        if made is not _END:
            yield made


def _wait_for(number: int | None, ready: dict[int, Any], answers: queue.SimpleQueue[Any], timeout: float) -> int:
    """Wait, at most `timeout` seconds (0: no limit), for the result with this number, or for any (None); returns its
    number.
    """
    while not ready if number is None else number not in ready:
        try:
            found, made = answers.get(timeout=timeout or None)
        except queue.Empty:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
        ready[found] = made
    return next(iter(ready)) if number is None else number


__all__ = ["WorkerInfo", "ahead", "get_worker_info"]
