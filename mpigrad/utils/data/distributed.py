"""`DistributedSampler`, which gives each rank its share of a data set."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Gives each rank its share of a data set: every `num_replicas`-th index, starting with `rank`.

    - `num_replicas`, `rank`: by default the size of the default process group and the rank in it.
    - `shuffle` (default): a random order, the same on all ranks, another one for each epoch (`set_epoch`). `seed`:
      the same on all ranks.
    - `drop_last`: leave out the last indices so that all ranks have equally many; otherwise some are repeated.

    >>> from mpigrad.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from ...distributed import get_rank, get_world_size

            num_replicas = get_world_size() if num_replicas is None else num_replicas
            rank = get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.drop_last, self.shuffle, self.seed = 0, drop_last, shuffle, seed
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            order = np.random.default_rng(self.seed + self.epoch).permutation(count).tolist()
        else:
            order = list(range(count))
        # make the shares equal: repeat the first indices, or drop the last ones
        padded = itertools.islice(itertools.cycle(order), self.total_size) if order else iter(())
        return itertools.islice(padded, self.rank, None, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the random order of an epoch: call this with the same number on all ranks before each epoch."""
        self.epoch = epoch


__all__ = ["DistributedSampler"]
