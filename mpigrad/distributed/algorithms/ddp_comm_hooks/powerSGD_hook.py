"""PowerSGD (Vogels et al., 2019): gradients of matrices as products of two thin ones, which are averaged instead.

One step of a power iteration: with the gradient M (n x m) of a parameter and Q (m x r) of the last step, average P = M Q, make
its columns orthonormal, average Q = M^T P, and take P Q^T for the average of M. What is left out is added to the next gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor
from mpigrad.futures import Future

from ..._process_group.all_reduce import all_reduce
from ..._process_group.grad_bucket import GradBucket
from ..._process_group.groups import world
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "powerSGD_hook"]


class PowerSGDState:
    """The state of `powerSGD_hook`: its settings, and the tensors that it keeps between steps.

    Args:
        process_group: the group whose ranks average their gradients; None for all ranks.
        matrix_approximation_rank: the number of columns r of the thin matrices P (n x r) and Q (m x r) whose product P Q^T
            replaces a gradient of n x m; a larger one is more exact, and sends more.
        start_powerSGD_iter: in this many steps at the beginning, whole gradients are averaged.
        min_compression_rate: a gradient is compressed only if the thin matrices have fewer elements by this factor.
        use_error_feedback: add what the compression left out to the gradient of the next step.
        warm_start: begin with the matrix Q of the last step instead of a random one.
        orthogonalization_epsilon: added to all elements before columns are made orthonormal, against columns of zeros.
        random_seed: of the random matrices Q, the same on all ranks.

    The other arguments are accepted as in PyTorch and ignored.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only "
                "be applied after the first two iterations in DDP."
            )
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)  # the same on all ranks
        self.error_dict: dict[int, np.ndarray] = {}
        self.q_memory_dict: dict[int, list[np.ndarray]] = {}
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count one more training step if `bucket` is the last bucket of its backward pass."""
        if bucket.is_last():
            self.iter += 1


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Average a bucket, with the gradients of matrices compressed by PowerSGD. Only for tensors in host memory.

    Use it as `model.register_comm_hook(PowerSGDState(None), powerSGD_hook)`. Returns a `Future` of the flat tensor with the
    (approximate) averages.
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    group = world() if state.process_group is None else state.process_group
    flat, index, size = bucket.buffer()._array, bucket.index(), group.size()
    if state.use_error_feedback and index in state.error_dict:
        flat += state.error_dict[index]
    given = flat.copy()
    whole, matrices = _divided(state, bucket)
    for each in whole:
        each[...] = each / size
        all_reduce(wrap(each), group=group)
    wide = [m.astype(np.result_type(m.dtype, "f4"), copy=False) for m in matrices]  # NumPy has no QR of half precision
    qs = _start(state, index, wide)
    ps = [m @ q for m, q in zip(wide, qs)]
    _average(ps, group)
    ps = [_orthonormal(p, state.orthogonalization_epsilon) for p in ps]
    qs = [m.T @ p for m, p in zip(wide, ps)]
    own = [q.copy() for q in qs]
    _average(qs, group)
    if state.warm_start:
        state.q_memory_dict[index] = qs
    if state.use_error_feedback:
        # What is left out on this rank: its gradient minus its own part of the approximation.
        left = given
        for view, part in zip(bucket.gradients(), _parts(left, bucket)):
            if any(np.shares_memory(view._array, w) for w in whole):
                part[...] = 0
        for m, p, q in zip(matrices, ps, own):
            # `m` is a view of the flat bucket: its address says where its elements are in `left`.
            place = (m.__array_interface__["data"][0] - flat.__array_interface__["data"][0]) // flat.itemsize
            left[place : place + m.size] = left[place : place + m.size] - (p @ q.T).reshape(-1)
        state.error_dict[index] = left
    for m, p, q in zip(matrices, ps, qs):
        m[...] = p @ q.T
    state.maybe_increase_iter(bucket)
    done: Future = Future()
    done.set_result(bucket.buffer())
    return done


def _parts(flat: np.ndarray, bucket: GradBucket) -> list[np.ndarray]:
    ends = np.cumsum([each._array.size for each in bucket.gradients()])
    return [flat[end - each._array.size : end] for each, end in zip(bucket.gradients(), ends)]


def _divided(state: PowerSGDState, bucket: GradBucket) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the gradients of a bucket that are averaged unchanged, and the matrices to compress; all are views of the bucket."""
    whole, matrices = [], []
    for each in bucket.gradients():
        array = each._array
        rows = array.shape[0] if array.ndim > 1 else 1
        columns = array.size // max(rows, 1)
        thin = (rows + columns) * min(state.matrix_approximation_rank, rows, columns)
        if array.ndim > 1 and thin * state.min_compression_rate < array.size:
            matrices.append(array.reshape(rows, columns))
        else:
            whole.append(array.reshape(-1))
    return whole, matrices


def _start(state: PowerSGDState, index: int, matrices: list[np.ndarray]) -> list[np.ndarray]:
    """Return the matrices Q of the last step, or random ones that are the same on all ranks; their columns are orthonormal."""
    if state.warm_start and index in state.q_memory_dict:
        return [_orthonormal(q, state.orthogonalization_epsilon) for q in state.q_memory_dict[index]]
    columns = [min(state.matrix_approximation_rank, *m.shape) for m in matrices]
    made = [state.rng.standard_normal((m.shape[1], r)).astype(m.dtype) for m, r in zip(matrices, columns)]
    return [_orthonormal(q, state.orthogonalization_epsilon) for q in made]


def _average(arrays: list[np.ndarray], group: Any) -> None:
    """Replace several arrays by their averages over the ranks, with one message."""
    if not arrays:
        return
    flat: Tensor = wrap(np.concatenate([each.reshape(-1) for each in arrays]) / arrays[0].dtype.type(group.size()))
    all_reduce(flat, group=group)
    start = 0
    for each in arrays:
        each[...] = flat._array[start : start + each.size].reshape(each.shape)
        start += each.size


def _orthonormal(columns: np.ndarray, epsilon: float) -> np.ndarray:
    if epsilon:
        columns = columns + columns.dtype.type(epsilon)
    return np.linalg.qr(columns)[0].astype(columns.dtype, copy=False)
