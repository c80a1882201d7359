"""Process grids, layouts and `repartition`; sums, scalar products and norms over blocks."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed as dist
from mpigrad._array.device import host
from mpigrad.autograd import grad
from mpigrad.distributed import domain
from mpigrad.distributed.domain import Layout, ProcessGrid, repartition

from .grids import array, block, shapes

pytestmark = pytest.mark.mpi(min_size=1)


def test_coordinates_are_those_of_mpi(group) -> None:
    for shape in shapes(group.world_size, 2):
        grid = ProcessGrid(shape, (False, True))
        assert grid.group.comm.Get_coords(grid.rank()) == list(grid.coords)
        for axis in range(2):
            below, above = grid.group.comm.Shift(axis, 1)
            steps = [int(each == axis) for each in range(2)]
            found = grid.neighbor([-each for each in steps]), grid.neighbor(steps)
            assert [-2 if each is None else each for each in found] == [each if each >= 0 else -2 for each in (below, above)]
    assert dist.get_world_size(grid.group) == group.world_size


def test_wrong_grids_and_layouts(group) -> None:
    size = group.world_size
    with pytest.raises(ValueError, match=f"does not fit {size} ranks"):
        ProcessGrid((size + 1, 1))
    with pytest.raises(ValueError, match="one `periodic` for each dimension"):
        ProcessGrid((0, 0), (True,))
    grid = ProcessGrid((0, 1))
    with pytest.raises(ValueError, match="needs as many lengths"):
        grid.layout((4,))
    with pytest.raises(ValueError, match="do not make up a length of 5"):
        grid.layout((5, 2), ([2] * size, None) if size > 1 else ([4], None))


def layouts(size: int, shape: tuple[int, int]) -> list[Layout]:
    uneven = [1] * (size - 1) + [shape[0] - size + 1]
    made = [ProcessGrid(each).layout(shape) for each in shapes(size, 2)]
    return [*made, ProcessGrid((size, 1)).layout(shape, (uneven, None)), Layout.on_rank(shape, size - 1)]


def test_repartition_between_all_layouts(group) -> None:
    whole = array((2, 7, 5), complex_numbers=True)
    found = layouts(group.world_size, (7, 5))
    for source in found:
        for target in [*found, Layout.everywhere((7, 5))]:
            x = block(whole, source, grad=True)
            y = repartition(x, source, target)
            assert np.array_equal(host(y._array), whole[target.local])
            v = mpigrad.tensor(array(tuple(y.shape), group.rank, complex_numbers=True))
            (back,) = grad(y, x, v)
            assert domain.vdot(v, y).item() == pytest.approx(domain.vdot(back, x).item(), rel=1e-12, abs=1e-12)


def test_second_derivative_of_repartition(group) -> None:
    shape = (4, 6)
    rows, columns = ProcessGrid((0, 1)).layout(shape), ProcessGrid((1, 0)).layout(shape)
    x = block(array(shape), rows, grad=True)
    (g,) = grad((repartition(x, rows, columns) ** 3).sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x)
    assert np.allclose(host(h._array), 6 * host(x.detach()._array))


def test_wrong_repartitions(group) -> None:
    rows = ProcessGrid((0, 1)).layout((8, 2))
    with pytest.raises(ValueError, match="two layouts of one array"):
        repartition(mpigrad.ones(rows.local_shape), rows, ProcessGrid((0, 1)).layout((9, 2)))
    with pytest.raises(ValueError, match="must end with shape"):
        repartition(mpigrad.ones(1, 1), rows, rows)
    if group.world_size > 1:
        everywhere = Layout.everywhere((8, 2))
        with pytest.raises(ValueError, match="exactly one owner"):
            repartition(mpigrad.ones(8, 2), everywhere, rows)


@pytest.mark.parametrize("p", [1, 2, 3, float("inf")])
def test_norms(group, p) -> None:
    whole = array((6, 5), complex_numbers=True)
    layout = ProcessGrid((0, 0)).layout(whole.shape)
    x = block(whole, layout, grad=True)
    found = domain.norm(x, p)
    assert found.item() == pytest.approx(np.linalg.norm(whole.reshape(-1), p), rel=1e-12)
    one = mpigrad.tensor(whole, requires_grad=True)
    (wanted,) = grad(mpigrad.linalg.vector_norm(one, p), one)
    (mine,) = grad(found / group.world_size, x)
    assert np.allclose(host(mine._array), host(wanted._array)[layout.local], rtol=1e-10)


@pytest.mark.parametrize("p", [1, 2, 3, float("inf")])
def test_norms_of_nothing(group, p) -> None:
    """The gradient at zero is zero, as PyTorch's, and not nan."""
    x = mpigrad.zeros(2, requires_grad=True)
    found = domain.norm(x, p)
    assert found.item() == 0 and grad(found, x)[0].tolist() == [0, 0]


def test_sum_and_scalar_product(group) -> None:
    whole, other = array((6, 5), 0, True), array((6, 5), 1, True)
    layout = ProcessGrid((0, 0)).layout(whole.shape)
    x, y = block(whole, layout), block(other, layout)
    assert domain.sum(x).item() == pytest.approx(whole.sum(), rel=1e-12)
    assert domain.vdot(x, y).item() == pytest.approx(np.vdot(whole, other), rel=1e-12)
