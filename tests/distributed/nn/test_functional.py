"""Differentiable collectives: adjoints, derivatives against differences of the whole job's loss, order, messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed._functional_collectives as functional
import mpigrad.distributed.nn.functional as F
from mpigrad.distributed import ReduceOp
from mpigrad.distributed._process_group.groups import ProcessGroup


@pytest.fixture
def group(world) -> Iterator[Any]:
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()


Collective = Callable[[ProcessGroup, mpigrad.Tensor], mpigrad.Tensor]


def _root(group: ProcessGroup) -> int:
    return group.ranks[-1]


def _uneven(group: ProcessGroup, x: mpigrad.Tensor) -> mpigrad.Tensor:
    """Rank r sends s + 1 rows to rank s; needs 1 + 2 + ... + size rows."""
    size, rank = group.size(), group.rank()
    given = [each + 1 for each in range(size)]
    return F.all_to_all_single(x.new_empty((size * (rank + 1), *x.shape[1:])), x, [rank + 1] * size, given, group)


def _uneven_list(group: ProcessGroup, x: mpigrad.Tensor) -> mpigrad.Tensor:
    size, rank = group.size(), group.rank()
    pieces = list(x.split([each + 1 for each in range(size)]))
    made = [x.new_empty((rank + 1, *x.shape[1:])) for _ in range(size)]
    return mpigrad.cat(list(F.all_to_all(made, pieces, group)))


def _uneven_gather(group: ProcessGroup, x: mpigrad.Tensor) -> mpigrad.Tensor:
    """Rank r gives r + 1 rows; the last rank gives a row without its last element."""
    rank = group.rank()
    mine = x[: rank + 1] if rank + 1 < group.size() else x[0, :-1]
    return mpigrad.cat([(each * (1 + place)).reshape(-1) for place, each in enumerate(F.all_gather(mine, group, uneven=True))])


def _ring(group: ProcessGroup, x: mpigrad.Tensor) -> mpigrad.Tensor:
    rank, size = group.rank(), group.size()
    return F.sendrecv(x, x, group.ranks[(rank + 1) % size], group.ranks[rank - 1], group)


def _ring_in_the_background(group: ProcessGroup, x: mpigrad.Tensor) -> mpigrad.Tensor:
    rank, size = group.rank(), group.size()
    if size == 1:
        return x * 1
    arriving = F.irecv(x, group.ranks[rank - 1], group)
    leaving = F.isend(x, group.ranks[(rank + 1) % size], group)
    return F.join(F.wait(arriving), F.wait(leaving))


def _shifted(group: ProcessGroup, x: mpigrad.Tensor) -> mpigrad.Tensor:
    """Blocking messages along the ranks; the first rank gets zeros."""
    rank, size = group.rank(), group.size()
    made = F.recv(x, group.ranks[rank - 1], group, tag=3) if rank else x * 0
    return F.join(made, F.send(x, group.ranks[rank + 1], group, tag=3)) if rank + 1 < size else made


LINEAR: dict[str, Collective] = {
    "all_reduce": lambda group, x: F.all_reduce(x, group=group),
    "average": lambda group, x: F.all_reduce(x, ReduceOp.AVG, group),
    "broadcast": lambda group, x: F.broadcast(x, _root(group), group),
    "gather": lambda group, x: mpigrad.stack(F.gather(x, _root(group), group)),
    "scatter": lambda group, x: F.scatter([x * (i + 1) for i in range(group.size())], _root(group), group),
    "reduce": lambda group, x: F.reduce(x, _root(group), group=group) * (group.ranks[group.rank()] == _root(group)),
    "reduce_scatter": lambda group, x: F.reduce_scatter(x, [x * (i + 1) for i in range(group.size())], group=group),
    "all_gather": lambda group, x: mpigrad.stack(F.all_gather(x, group)),
    "all_gather of different shapes": _uneven_gather,
    "all_to_all": _uneven_list,
    "all_to_all_single": _uneven,
    "scan": lambda group, x: F.scan(x, group),
    "sendrecv": _ring,
    "isend and irecv": _ring_in_the_background,
    "send and recv": _shifted,
    "all_gather_single": lambda group, x: functional.all_gather_single_autograd(x, 1, group),
    "reduce_scatter_single": lambda group, x: functional.reduce_scatter_tensor_autograd(
        mpigrad.cat([x] * group.size(), 1), "avg", 1, group
    ),
    "all_to_all_single (functional)": lambda group, x: functional.all_to_all_single_autograd(
        mpigrad.cat([x] * group.size()), None, None, group
    ),
}
OTHERS: dict[str, Collective] = {
    f"{name} of {op.name}": collective
    for op in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT)
    for name, collective in {
        "all_reduce": lambda group, x, op=op: F.all_reduce(x, op, group),
        "reduce": lambda group, x, op=op: (
            F.reduce(x, _root(group), op, group) * (group.ranks[group.rank()] == _root(group))
        ),
        "reduce_scatter": lambda group, x, op=op: F.reduce_scatter(x, [x * (i + 1) for i in range(group.size())], op, group),
    }.items()
}


def rows_of(group: ProcessGroup) -> int:
    return group.size() * (group.size() + 1) // 2


def drawn(shape: tuple[int, ...], dtype: mpigrad.dtype, seed: int) -> mpigrad.Tensor:
    random = np.random.default_rng(seed)
    made = random.normal(size=shape) + (1j * random.normal(size=shape) if dtype.is_complex else 0)
    return mpigrad.tensor(made, dtype=dtype)


def dot(x: mpigrad.Tensor, y: mpigrad.Tensor) -> float:
    return float(np.real(np.vdot(x.detach().numpy(), y.detach().numpy())))


def total(group: ProcessGroup, value: float) -> float:
    made = mpigrad.tensor([value], dtype=mpigrad.float64)
    dist.all_reduce(made, group=group)
    return made.item()


def some_group(world: Any, kind: str) -> ProcessGroup | None:
    """The whole world, or the ranks of one parity in reverse order: groups of both parities work at the same time."""
    if kind == "world":
        return dist.group.WORLD
    ranks = [rank for rank in range(world.world_size) if rank % 2 == world.rank % 2]
    return dist.new_group(ranks[::-1], sort_ranks=False)


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize("kind", ["world", "half"])
@pytest.mark.parametrize("dtype", [mpigrad.float32, mpigrad.float64, mpigrad.complex64, mpigrad.complex128], ids=str)
@pytest.mark.parametrize("name", LINEAR)
def test_adjoint(group, name: str, dtype: mpigrad.dtype, kind: str) -> None:
    """<F x, y> = <x, F* y>, summed over the ranks; backward gives F* y. Shapes are random, the same on all ranks."""
    here = some_group(group, kind)
    random = np.random.default_rng([len(name), group.world_size])
    shape = (rows_of(here), *random.integers(2, 6, size=random.integers(1, 4)))
    x = drawn(tuple(map(int, shape)), dtype, seed=group.rank).requires_grad_()
    made = LINEAR[name](here, x)
    y = drawn(tuple(made.shape), dtype, seed=100 + group.rank)
    made.backward(y)
    left, right = total(here, dot(made, y)), total(here, dot(x, x.grad))
    single = dtype in (mpigrad.float32, mpigrad.complex64)
    assert left == pytest.approx(right, rel=1e-4 if single else 1e-12, abs=1e-3 if single else 1e-10)


def weights(made: mpigrad.Tensor, rank: int) -> mpigrad.Tensor:
    return drawn(tuple(made.shape), mpigrad.float64, seed=7 + rank)


def gradient_by_differences(group: ProcessGroup, x: np.ndarray, loss: Callable[[np.ndarray], float]) -> np.ndarray:
    """The derivative of the sum of all ranks' losses: every element of every rank is changed in turn."""
    made, step = np.zeros(x.shape), 1e-6
    for rank in range(group.size()):
        for place in np.ndindex(x.shape):
            ends = []
            for sign in (1, -1):
                moved = x.copy()
                if rank == group.rank():
                    moved[place] += sign * step
                ends.append(total(group, loss(moved)))
            if rank == group.rank():
                made[place] = (ends[0] - ends[1]) / (2 * step)
    return made


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("name", [*LINEAR, *OTHERS])
def test_first_and_second_derivative_against_differences(group, name: str) -> None:
    here, collective = dist.group.WORLD, {**LINEAR, **OTHERS}[name]
    start = drawn((rows_of(here), 1), mpigrad.float64, seed=group.rank).numpy()
    v = drawn(start.shape, mpigrad.float64, seed=50 + group.rank)

    def loss_of(x: mpigrad.Tensor) -> mpigrad.Tensor:
        made = collective(here, x)
        return (made * made * weights(made, group.rank)).sum()

    def first(x: mpigrad.Tensor, create_graph: bool) -> mpigrad.Tensor:
        (found,) = mpigrad.autograd.grad(loss_of(x), x, create_graph=create_graph)
        return found

    x = mpigrad.tensor(start, requires_grad=True)
    found = first(x, False).numpy()
    assert np.allclose(found, gradient_by_differences(here, start, lambda at: loss_of(mpigrad.tensor(at)).item()), atol=1e-6)
    if "send and recv" == name or "isend" in name:
        return  # the graph of a gradient that was sent has an end of its own: see the test below
    (first(x, True) * v).sum().backward()
    wanted = gradient_by_differences(here, start, lambda at: dot(first(mpigrad.tensor(at, requires_grad=True), False), v))
    assert np.allclose(x.grad.numpy(), wanted, atol=1e-5)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("name", LINEAR)
def test_ranks_whose_arrays_have_different_layouts(group, name: str) -> None:
    """On odd ranks the tensor and its gradient are not contiguous, and must be copied for MPI: the ranks go different ways."""
    here = dist.group.WORLD
    start = drawn((rows_of(here), 3), mpigrad.float64, seed=group.rank)
    x, y = (start.clone().requires_grad_() for _ in range(2))
    strided = y.t().contiguous().t() if group.rank % 2 else y
    made, wanted = LINEAR[name](here, strided), LINEAR[name](here, x)
    assert np.array_equal(made.detach().numpy(), wanted.detach().numpy())
    grad = drawn(tuple(made.shape), mpigrad.float64, seed=100 + group.rank)
    wanted.backward(grad)
    made.backward(mpigrad.stack([grad, grad], -1)[..., 0] if group.rank % 2 else grad)
    assert np.array_equal(x.grad.numpy(), y.grad.numpy())


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize("dtype", [mpigrad.bool, mpigrad.int8, mpigrad.int64, mpigrad.float16, mpigrad.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (4, 3)], ids=str)
def test_elements_of_every_type_are_moved(group, dtype: mpigrad.dtype, shape: tuple[int, ...]) -> None:
    size, rank = group.world_size, group.rank
    here = [(mpigrad.arange(12.0).reshape(4, 3) % (3 + each)).to(dtype) for each in range(size)]
    parts = [each if shape == (4, 3) else each[0, 0] if shape == () else each[:0, 0] for each in here]
    wanted = [each.tolist() for each in parts]
    mine = parts[rank]
    assert [each.tolist() for each in F.all_gather(mine)] == wanted
    assert [each.tolist() for each in F.gather(mine, size - 1)] == wanted or rank != size - 1
    assert F.broadcast(mine, size - 1).tolist() == wanted[-1]
    assert F.scatter(parts, 0).tolist() == wanted[rank]
    assert [each.tolist() for each in F.all_to_all([mine] * size, [mine] * size)] == wanted
    made = F.all_to_all_single(mpigrad.stack(parts), mpigrad.stack([mine] * size))
    assert made.dtype is dtype and made.tolist() == wanted


@pytest.mark.mpi(min_size=2)
def test_results_without_a_gradient(group) -> None:
    """Only one of the results is used, a different one on each rank, and on the last rank none: all ranks run the adjoint."""
    x = mpigrad.full((2,), 1.0 + group.rank, requires_grad=True)
    made, size = F.all_gather(x * 2), group.world_size
    loss = x.sum() * 0 if group.rank == size - 1 else made[group.rank].sum()
    (loss + (F.all_gather(x)[0] * 0).sum() + made[0].sum() * 0).backward()
    assert x.grad.tolist() == [0.0 if group.rank == size - 1 else 2.0] * 2


@pytest.mark.mpi(min_size=2)
def test_second_derivative_through_a_message(group) -> None:
    """The gradient of a receive's buffer is zero; below it, the second pass finds the send of the first one. The second loss of
    the first sender is joined with the token again."""
    x = mpigrad.tensor([1.0, 2.0], dtype=mpigrad.float64, requires_grad=True)
    if group.rank == 0:
        token = F.send(x * x, 1)
        (gx,) = mpigrad.autograd.grad(F.join(x.sum() * 0, token), x, create_graph=True)
        assert gx.tolist() == [6.0, 48.0]  # 6 x ** 5, times 1 and 0.25
    elif group.rank == 1:
        buffer = mpigrad.zeros(2, dtype=mpigrad.float64, requires_grad=True)
        y = F.recv(buffer, 0)
        (gb,) = mpigrad.autograd.grad((y**3 * mpigrad.tensor([1.0, 0.25])).sum(), buffer, create_graph=True)
        assert gb.tolist() == [0.0, 0.0]
        gb.sum().backward()
    if group.rank == 0:
        F.join(gx.sum(), token).backward()
        assert x.grad.tolist() == [30.0, 120.0]  # 30 x ** 4, times 1 and 0.25


@pytest.mark.mpi(min_size=2)
def test_an_order_that_differs_between_ranks_does_not_cross(group) -> None:
    """Each rank uses the results in another order: backward must run the collectives in the order of the forward, reversed."""
    x = mpigrad.ones(3, dtype=mpigrad.float64, requires_grad=True)
    made = [F.all_reduce(x * (i + 1)) for i in range(6)]
    loss = mpigrad.zeros((), dtype=mpigrad.float64)
    for place in np.random.default_rng(group.rank).permutation(6):
        loss = loss + (made[place] * float(place + 1)).sum()
    loss.backward()
    assert x.grad.tolist() == [group.world_size * sum((i + 1) ** 2 for i in range(6))] * 3


@pytest.mark.mpi(min_size=2)
def test_the_extreme_is_shared(group) -> None:
    x = mpigrad.tensor([5.0, float(group.rank)], requires_grad=True)
    F.all_reduce(x, ReduceOp.MAX).sum().backward()
    last = group.rank == group.world_size - 1
    assert x.grad.tolist() == [1.0, group.world_size if last else 0.0]


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_sparse_tensors_are_summed(group) -> None:
    values = mpigrad.tensor([1.0, 2.0], requires_grad=True)
    x = mpigrad.sparse_coo_tensor([[group.rank, 3]], values, (20,))
    made = F.all_reduce(x)
    assert made.is_sparse and made.to_dense()[3].item() >= 2.0 * group.world_size
    (made.to_dense() * mpigrad.arange(20.0)).sum().backward()
    assert values.grad.tolist() == [group.rank * group.world_size, 3.0 * group.world_size]


@pytest.mark.mpi(min_size=2)
def test_gathered_tensors_can_be_changed_in_place(group) -> None:
    size = group.world_size
    x = mpigrad.tensor(group.rank + 1.0, requires_grad=True)
    made = F.all_gather(x)
    made[0].mul_(3)
    made[1].add_(1)
    assert [each.item() for each in made] == [3.0, 3.0, *(each + 1.0 for each in range(2, size))]
    sum(made).backward()
    assert x.grad.item() == size * (3.0 if group.rank == 0 else 1.0)


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize("shape", [(4, 0), (0, 3), (), (4,)], ids=str)
def test_shapes_of_empty_tensors(group, shape: tuple[int, ...]) -> None:
    size, x = group.world_size, mpigrad.ones(shape)
    whole = mpigrad.cat([x.reshape(1) if not shape else x] * size)
    assert functional.all_gather_single(x, 0, None).shape == whole.shape
    for dim in range(len(shape)):
        given = mpigrad.cat([x] * size, dim)
        assert functional.reduce_scatter_single(given, "sum", dim, None).shape == x.shape


@pytest.mark.mpi(min_size=2)
def test_mistakes(group) -> None:
    other = dist.new_group([0])
    if group.rank:
        with pytest.raises(ValueError, match="not a member"):
            F.all_reduce(mpigrad.ones(1), group=other)
    with pytest.raises(RuntimeError, match=r"takes \d+ tensors of shape \(2,\)"):
        F.reduce_scatter(mpigrad.ones(2), [mpigrad.ones(2)] * (group.world_size + 1))
    with pytest.raises(ValueError, match="unknown reduceOp 'mean'"):
        functional.all_reduce(mpigrad.ones(1), "mean", dist.group.WORLD)
    with pytest.raises(ValueError, match="no process group with the name or ranks 'x'"):
        functional.all_reduce(mpigrad.ones(1), "sum", "x")
