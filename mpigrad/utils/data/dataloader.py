"""`DataLoader`: iterates over a data set in batches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from mpigrad._array.device import is_available

from ._collate import default_collate, default_convert, pinned
from ._workers import ahead
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

T = TypeVar("T", covariant=True)
_FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class DataLoader(Generic[T]):
    """Iterate over a data set in batches; with `num_workers` threads, batches are loaded in advance.

    - `dataset`: has `__getitem__` and `__len__`, or is an `IterableDataset`. `batch_size`: None gives single items.
    - `shuffle`: a new random order in each pass. `sampler`, `batch_sampler`: iterables of indices, or of lists of
      them, instead. `generator`: of the random order.
    - `drop_last`: leave out the last batch if it is smaller. `collate_fn`: makes a batch of a list of items
      (`default_collate`).
    - `prefetch_factor`: batches that each worker loads in advance (2). `worker_init_fn(id)` runs first in each
      worker. `timeout`: seconds to wait for a batch. `in_order=False`: batches as they become ready.
    - `pin_memory`: put batches into pinned host memory.

    Its workers are threads of this process, not processes as in PyTorch (a process that uses MPI must not be forked), and
    have nothing to do with RPC workers. They share the data set; an `IterableDataset` is copied for each. They are started
    anew for each pass over the data; `persistent_workers` and `multiprocessing_context` are ignored.

    >>> import mpigrad
    >>> from mpigrad.utils.data import DataLoader, TensorDataset
    >>> for (x,) in DataLoader(TensorDataset(mpigrad.arange(5)), batch_size=2):
    ...     print(x)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[Any] | Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.dataset, self.num_workers, self.pin_memory, self.timeout = dataset, num_workers, pin_memory, timeout
        self.worker_init_fn, self.generator, self.prefetch_factor = worker_init_fn, generator, prefetch_factor
        self.persistent_workers, self.in_order = persistent_workers, in_order
        iterable = isinstance(dataset, IterableDataset)
        _check_iterable(iterable, shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        self.batch_size, self.drop_last = batch_size, drop_last
        if sampler is None and not iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # type: ignore[arg-type]
        self.sampler, self.batch_sampler = sampler, batch_sampler
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self._passes = itertools.count()
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__dict__.get("_initialized"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        return map(pinned, self._batches()) if self.pin_memory and is_available() else self._batches()

    def _batches(self) -> Iterator[Any]:
        if self.num_workers:
            return ahead(self)
        if isinstance(self.dataset, IterableDataset):
            return self._iterate(self.dataset)
        return map(self._made, self._tasks())

    def _tasks(self) -> Iterable[Any]:
        """The indices of each batch, or of each item without batching."""
        return self.batch_sampler if self.batch_sampler is not None else self.sampler or ()

    def _made(self, indices: Any) -> Any:
        return self.collate_fn(self._fetch(indices) if self.batch_sampler is not None else self.dataset[indices])

    def _fetch(self, indices: list[Any]) -> Any:
        several = getattr(self.dataset, "__getitems__", None)
        return several(indices) if callable(several) else [self.dataset[index] for index in indices]

    def _iterate(self, dataset: Any) -> Iterator[Any]:
        items = iter(dataset)
        if self.batch_size is None:
            yield from (self.collate_fn(item) for item in items)
            return
        while batch := list(itertools.islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            count = len(self.dataset)  # type: ignore[arg-type]
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.batch_sampler if self.batch_sampler is not None else self.sampler)  # type: ignore[arg-type]


def _check_workers(num_workers: int, timeout: float, prefetch: int | None, persistent: bool, context: Any) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if prefetch is not None and num_workers == 0:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch is not None and prefetch < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None and num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0"
        )


def _check_iterable(iterable: bool, shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    if not iterable:
        return
    for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


__all__ = ["DataLoader", "Dataset", "default_collate", "default_convert"]
