"""Random numbers: the generator's known answers, streams, distributions, states and threads."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import mpigrad
from mpigrad._kernels import philox


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_known_answers_of_philox(counter: list[int], key: list[int], words: list[int]) -> None:
    out = np.empty((1, 4), np.uint32)
    philox.rounds(out, *(np.array([each], np.uint64) for each in counter), key[0] | key[1] << 32)
    assert out[0].tolist() == words


def test_any_part_of_a_stream_can_be_computed_alone() -> None:
    whole = philox.words(7, 0, 20000)
    assert (philox.words(7, 8190, 5) == whole[4 * 8190 : 4 * 8195]).all()
    assert (philox.words(7, 2**32 - 1, 2) == philox.words(7, 2**32 - 1, 3)[:8]).all()


@pytest.mark.host
def test_draws_do_not_depend_on_how_they_are_cut() -> None:
    one, many = mpigrad.Generator().manual_seed(3), mpigrad.Generator().manual_seed(3)
    whole = mpigrad.rand(4096, generator=one)
    parts = mpigrad.cat([mpigrad.rand(n, generator=many) for n in (4, 400, 3000, 8, 684)])
    assert mpigrad.equal(whole, parts)


def test_seeds() -> None:
    assert mpigrad.manual_seed(5) is mpigrad.default_generator
    first = mpigrad.randn(10)
    assert mpigrad.initial_seed() == 5
    assert not mpigrad.equal(first, mpigrad.randn(10))
    mpigrad.manual_seed(5)
    assert mpigrad.equal(first, mpigrad.randn(10))
    assert mpigrad.Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    assert mpigrad.Generator().initial_seed() == 67280421310721
    with pytest.raises(ValueError, match="Overflow when unpacking long"):
        mpigrad.manual_seed(2**64)
    assert mpigrad.seed() == mpigrad.initial_seed()


@pytest.mark.host
def test_states() -> None:
    state = mpigrad.get_rng_state()
    before = mpigrad.rand(3)
    mpigrad.set_rng_state(state)
    assert mpigrad.equal(before, mpigrad.rand(3))
    with pytest.raises(TypeError, match="RNG state must be a mpigrad.ByteTensor"):
        mpigrad.set_rng_state(mpigrad.ones(3))
    with pytest.raises(RuntimeError, match="RNG state is wrong size: 3 bytes, expected 16"):
        mpigrad.set_rng_state(mpigrad.zeros(3, dtype=mpigrad.uint8))
    with mpigrad.random.fork_rng():
        inside = mpigrad.rand(3)
    assert mpigrad.equal(inside, mpigrad.rand(3))
    generator = mpigrad.Generator().manual_seed(9)
    mpigrad.rand(5, generator=generator)
    for other in (pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator), generator.clone_state()):
        assert mpigrad.equal(mpigrad.rand(4, generator=generator.clone_state()), mpigrad.rand(4, generator=other))


@pytest.mark.host
def test_threads_never_draw_the_same_numbers() -> None:
    generator, drawn = mpigrad.Generator().manual_seed(1), []

    def draw() -> None:
        for n in (4, 100, 2000):
            drawn.append(mpigrad.rand(n, generator=generator, dtype=mpigrad.float64).numpy())

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    values = np.concatenate(drawn)
    assert len(np.unique(values)) == len(values) == 8 * 2104


N = 200_000


def near(value: float, expected: float, deviation: float) -> bool:
    """Within five standard errors of the mean of N draws."""
    return abs(value - expected) < 5 * deviation / N**0.5


@pytest.mark.parametrize("kind", [mpigrad.float32, mpigrad.float64, mpigrad.float16])
def test_uniform_and_normal(kind: mpigrad.dtype) -> None:
    mpigrad.manual_seed(11)
    even = mpigrad.rand(N, dtype=kind).double()
    assert even.min() >= 0 and even.max() < 1
    assert near(even.mean().item(), 0.5, 0.29) and near(even.square().mean().item(), 1 / 3, 0.3)
    bell = mpigrad.randn(N, dtype=kind).double()
    assert near(bell.mean().item(), 0, 1) and near(bell.var().item(), 1, 1.5) and near(bell.pow(4).mean().item(), 3, 10)
    assert abs((bell[0::2] * bell[1::2]).mean().item()) < 5 / (N / 2) ** 0.5


def test_other_distributions() -> None:
    mpigrad.manual_seed(12)
    x = mpigrad.empty(N, dtype=mpigrad.float64)
    assert near(x.exponential_(2.0).mean().item(), 0.5, 0.5)
    assert near(x.uniform_(-1, 3).mean().item(), 1, 1.2)
    assert near(x.normal_(2, 3).mean().item(), 2, 3)
    assert near(x.bernoulli_(0.3).mean().item(), 0.3, 0.5)
    assert near(x.geometric_(0.25).mean().item(), 4, 3.5)
    assert near(x.log_normal_(0, 0.5).log().mean().item(), 0, 0.5)
    assert near(x.cauchy_().atan().mean().item(), 0, 1)
    assert set(x.random_(3).tolist()) == {0, 1, 2}
    assert set(mpigrad.randint(-2, 2, (1000,)).tolist()) == {-2, -1, 0, 1}
    wide = mpigrad.randint(-(2**63), 2**63 - 1, (1000,))
    assert wide.min() < -(2**61) and wide.max() > 2**61
    assert near(mpigrad.normal(mpigrad.full((N,), 5.0), 2.0).mean().item(), 5, 2)
    assert mpigrad.normal(mpigrad.zeros(2, 1), mpigrad.ones(3)).shape == (2, 3)


def test_permutations() -> None:
    mpigrad.manual_seed(13)
    seen = {tuple(mpigrad.randperm(3).tolist()) for _ in range(200)}
    assert len(seen) == 6
    assert sorted(mpigrad.randperm(1000).tolist()) == list(range(1000))


def test_multinomial() -> None:
    mpigrad.manual_seed(14)
    weights = mpigrad.tensor([1.0, 0.0, 3.0])
    counts = np.bincount(mpigrad.multinomial(weights, N, replacement=True).numpy(), minlength=3) / N
    assert near(counts[0], 0.25, 0.5) and counts[1] == 0
    first = np.bincount([mpigrad.multinomial(weights, 2)[0].item() for _ in range(2000)], minlength=3)
    assert first[1] == 0 and abs(first[0] - 500) < 150
    rows = mpigrad.multinomial(mpigrad.tensor([[0.0, 1.0], [1.0, 0.0]]), 3, replacement=True)
    assert rows.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_filling_in_place_cuts_the_gradient() -> None:
    x = mpigrad.ones(3, requires_grad=True)
    y = (x * 2).uniform_()
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.normal_()
