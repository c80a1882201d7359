"""`halo_exchange`: on every grid, its blocks are those of the padded global array, and its adjoint is the transpose."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
from mpigrad._array.device import host
from mpigrad.autograd import grad, gradcheck, gradgradcheck
from mpigrad.distributed import domain
from mpigrad.distributed.domain import ProcessGrid, halo_exchange

from .grids import array, block, shapes

pytestmark = pytest.mark.mpi(min_size=1)
MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}  # NumPy's names


def padded(whole: np.ndarray, widths, grid: ProcessGrid, mode: str, value: float) -> np.ndarray:
    """The global array with a halo around it."""
    for axis, pair, ring in zip(range(-grid.ndim, 0), widths, grid.periodic):
        pads = [(0, 0)] * whole.ndim
        pads[axis] = pair
        more = {"constant_values": value} if mode == "constant" and not ring else {}
        whole = np.pad(whole, pads, mode="wrap" if ring else MODES[mode], **more)
    return whole


def wide(layout: domain.Layout, widths) -> tuple:
    """The index of this rank's block with its halo in the padded global array."""
    boxes = layout.boxes[layout.group.rank()]
    return (..., *(slice(start, stop + a + b) for (start, stop), (a, b) in zip(boxes, widths)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("periodic", [False, True, (True, False)], ids=str)
@pytest.mark.parametrize("widths", [((1, 1), (1, 1)), ((2, 1), (0, 2))], ids=str)
def test_blocks_of_the_padded_array(group, mode, periodic, widths) -> None:
    whole = array((2, 13, 14))
    for shape in shapes(group.world_size, 2):
        grid = ProcessGrid(shape, periodic)
        layout = grid.layout(whole.shape[1:])
        found = halo_exchange(block(whole, layout), widths, grid, boundary=mode, value=7.0)
        wanted = padded(whole, widths, grid, mode, 7.0)[wide(layout, widths)]
        assert np.array_equal(host(found._array), wanted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("complex_numbers", [False, True])
def test_adjoint(group, mode, complex_numbers) -> None:
    whole = array((13, 14), complex_numbers=complex_numbers)
    for shape in shapes(group.world_size, 2):
        for corners in (True, False):
            grid = ProcessGrid(shape, (False, True))
            x = block(whole, grid.layout(whole.shape), grad=True)
            made = halo_exchange(x, ((2, 1), (1, 2)), grid, boundary=mode, corners=corners)
            y = mpigrad.tensor(array(tuple(made.shape), 1 + group.rank, complex_numbers))
            (back,) = grad(made, x, y)
            left, right = domain.vdot(y, made, grid).item(), domain.vdot(back, x, grid).item()
            assert left == pytest.approx(right, rel=1e-12)


def test_three_dimensions_in_any_place(group) -> None:
    whole = array((4, 3, 5, 6))
    for shape in shapes(group.world_size, 3):
        grid = ProcessGrid(shape, True)
        if any(n < parts for n, parts in zip((4, 5, 6), shape)):
            continue
        layout = grid.layout((4, 5, 6))
        mine = mpigrad.tensor(np.moveaxis(np.moveaxis(whole, 1, 0)[layout.local], 0, 1).copy())
        found = halo_exchange(mine, 1, grid, dims=(0, 2, 3))
        wanted = padded(np.moveaxis(whole, 1, 0), ((1, 1),) * 3, grid, "constant", 0)[wide(layout, ((1, 1),) * 3)]
        assert np.array_equal(host(found._array), np.moveaxis(wanted, 0, 1))


def laplacian(x: mpigrad.Tensor, grid: ProcessGrid) -> mpigrad.Tensor:
    u = halo_exchange(x, 1, grid, boundary="replicate", corners=False)
    return u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1] - 4 * x


def test_second_derivatives_are_those_of_one_rank(group) -> None:
    whole, direction = array((6, 8)), array((6, 8), 1)

    def results(x, v, grid):
        loss = (laplacian(x**3, grid) ** 2).sum()
        (g,) = grad(loss, x, create_graph=True)
        (h,) = grad((g * v).sum(), x)
        return g.detach(), h

    alone = ProcessGrid((1, 1), group=mpigrad.distributed.new_group([group.rank]))
    g1, h1 = results(mpigrad.tensor(whole, requires_grad=True), mpigrad.tensor(direction), alone)
    for shape in shapes(group.world_size, 2):
        grid = ProcessGrid(shape)
        layout = grid.layout(whole.shape)
        g, h = results(block(whole, layout, grad=True), block(direction, layout), grid)
        assert np.allclose(host(g._array), host(g1._array)[layout.local], rtol=1e-12)
        assert np.allclose(host(h._array), host(h1._array)[layout.local], rtol=1e-12)


class Shared(mpigrad.autograd.Function):
    """A tensor that all ranks have; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return Total.apply(g)


class Total(mpigrad.autograd.Function):
    """The sum over ranks, as a value that all ranks have."""

    @staticmethod
    def forward(ctx, x):
        made = x.clone()
        mpigrad.distributed.all_reduce(made)
        return made

    @staticmethod
    def backward(ctx, g):
        return Shared.apply(g)


@pytest.mark.host
@pytest.mark.parametrize("mode", MODES)
def test_gradcheck_over_all_ranks(group, mode) -> None:
    """Every rank perturbs the whole array in the same order."""
    grid = ProcessGrid((0, 0), (False, True))
    layout = grid.layout((4, 4))

    def energy(whole):
        u = halo_exchange(Shared.apply(whole)[layout.local], 1, grid, boundary=mode)
        return Total.apply((u[1:, 1:] * u[:-1, :-1]).sin().sum())

    x = mpigrad.tensor(array((4, 4)), requires_grad=True)
    assert gradcheck(energy, x) and gradgradcheck(energy, x)


def test_work_between_start_and_wait(group) -> None:
    whole = array((8, 8))
    grid = ProcessGrid((0, 0), True)
    layout = grid.layout(whole.shape)
    x = block(whole, layout, grad=True)
    first = halo_exchange(x, 1, grid, async_op=True)
    second = halo_exchange(2 * x, 1, grid, async_op=True)
    inner = (x * x).sum()
    (inner + (first.wait() * second.wait()).sum()).backward()
    with pytest.raises(RuntimeError, match="called before"):
        first.wait()
    y = block(whole, layout, grad=True)
    ((y * y).sum() + (halo_exchange(y, 1, grid) * halo_exchange(2 * y, 1, grid)).sum()).backward()
    assert np.allclose(host(x.grad._array), host(y.grad._array), rtol=1e-12)


def test_an_exchange_that_is_dropped_disturbs_no_other(group) -> None:
    grid = ProcessGrid((0,), True)
    for turn in range(4):
        halo_exchange(mpigrad.full((2,), -1.0), 1, grid, async_op=True)
        x = mpigrad.full((2,), float(turn))
        assert halo_exchange(x, 1, grid).tolist() == [turn] * 4


def test_a_block_that_is_too_short(group) -> None:
    grid = ProcessGrid((0,), True)
    x = mpigrad.ones(1 if grid.rank() == 0 else 3)
    if grid.rank() == 0:
        with pytest.raises(ValueError, match="has 1 elements along dimension -1, fewer than a halo of width 2"):
            halo_exchange(x, 2, grid)
    elif 0 in (grid.neighbor((1,)), grid.neighbor((-1,))):
        with pytest.raises(RuntimeError, match="from rank 0, which sent 0"):
            halo_exchange(x, 2, grid)
    else:
        assert halo_exchange(x, 2, grid).tolist() == [1.0] * 7


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"width": -1}, "width must be a number >= 0"),
        ({"width": (1, 1, 1)}, "for each of 2 dimensions"),
        ({"boundary": "mirror"}, "boundary must be one of"),
        ({"dims": (0, 0)}, "needs 2 dimensions of x"),
        ({"dims": (0, 3)}, "needs 2 dimensions of x"),
    ],
)
def test_wrong_arguments(group, wrong, match) -> None:
    grid = ProcessGrid((0, 0))
    with pytest.raises(ValueError, match=match):
        halo_exchange(mpigrad.ones(4, 4), **{"width": 1, **wrong}, grid=grid)


def test_reflection_needs_one_element_more(group) -> None:
    grid = ProcessGrid((group.world_size, 1))
    with pytest.raises(ValueError, match="with reflection"):
        halo_exchange(mpigrad.ones(3, 2), ((0, 0), (2, 2)), grid, boundary="reflect")
