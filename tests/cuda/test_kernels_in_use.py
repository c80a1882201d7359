"""Operators and optimizers on a GPU: they launch the kernels, and compute what they compute on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.nn.functional as F
from mpigrad import optim
from mpigrad._array.device import cupy, host
from mpigrad._kernels import kernel as definition
from mpigrad._ops.index.add_at import add_at
from mpigrad.nn.utils import clip_grad_norm_


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels launched, in order."""
    seen: list[str] = []
    compiled = definition._compiled

    def noting(wanted: Any, letters: str, xp: Any) -> Any:
        seen.append(wanted.name)
        return compiled(wanted, letters, xp)

    monkeypatch.setattr(definition, "_compiled", noting)
    return seen


def trained(place: str, make: Callable[[Any], optim.Optimizer]) -> list[np.ndarray]:
    """Three steps of a small model with everything in it that has a kernel."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> mpigrad.Tensor:
        return mpigrad.tensor(rng.standard_normal(shape).astype("f4"), device=place, requires_grad=True)

    table, first, second, bias, weight, shift = model = [drawn(11, 8), drawn(8, 16), drawn(16, 5), drawn(5), drawn(16), drawn(16)]
    optimizer = make(model)
    ids, starts = (mpigrad.tensor(each, device=place) for each in ([1, 2, 2, 5, 7, 7, 0], [0, 2, 3, 6]))
    target = mpigrad.tensor([0, 1, 4, -100], device=place)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        hidden = F.embedding_bag(ids, table, starts, mode="mean") @ first
        hidden = F.gelu(F.layer_norm(hidden, (16,), weight, shift)) + F.gelu(hidden, approximate="tanh")
        loss = F.cross_entropy(F.softmax(hidden, 1) @ second + bias, target)
        loss.backward()
        F.cross_entropy(F.log_softmax(first, 1)[:4, :5] + bias, target).backward()  # a second gradient for some
        losses += [loss, clip_grad_norm_(model, 0.05)]
        optimizer.step()
    return [host(each.detach()._array) for each in (*model, *losses)]


EVERY_STEP = {
    "bag_sums", "scatter_rows", "layer_norm", "layer_norm_backward", "layer_norm_parameters", "gelu", "gelu_backward",
    "gelu_tanh", "gelu_tanh_backward", "softmax", "softmax_backward", "log_softmax", "log_softmax_backward", "nll_scale",
    "nll_sum", "nll_backward", "norm_parts", "norm_of_parts", "scale_many",
}  # fmt: skip


@pytest.mark.parametrize("kernel, make", [
    ("sgd_step", lambda model: optim.SGD(model, lr=0.5, momentum=0.9)),
    ("sgd_step", lambda model: optim.SGD(model, lr=0.5, weight_decay=0.1, maximize=True)),
    ("adam_step", lambda model: optim.Adam(model, lr=0.01, weight_decay=0.1, amsgrad=True)),
    ("adam_step", lambda model: optim.AdamW(model, lr=0.01)),
    ("adagrad_step", lambda model: optim.Adagrad(model, lr=0.1, lr_decay=0.1)),
])  # fmt: skip
def test_training(kernel: str, make: Any, launches: list[str]) -> None:
    wanted = trained("cpu", make)
    assert not launches
    for each, other in zip(trained("cuda:0", make), wanted):
        np.testing.assert_allclose(each, other, rtol=2e-4, atol=2e-5)
    assert EVERY_STEP | {kernel} <= set(launches)
    assert launches.count(kernel) == launches.count("scale_many") == 3  # one launch for all parameters


@pytest.mark.parametrize("kind", ["f2", "f4", "i8", "u1", "c8", "?"])
def test_adding_at_indices(kind: str, launches: list[str]) -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(-2, 2, 7)
    cases: list[tuple[Any, tuple[int, ...]]] = [
        ((ids,), (4, 3)),
        ((ids.reshape(1, 7), rng.integers(0, 3, (2, 1))), (4, 3, 2)),
        ((slice(None), ids), (4, 3, 2)),
        ((ids, slice(None), ids), (4, 3, 2)),
    ]
    for key, shape in cases:
        into = rng.integers(0, 3, shape).astype(kind)
        values = rng.integers(0, 3, into[key].shape).astype(kind)
        wanted = into.copy()
        np.add.at(wanted, key, values)
        there = tuple(each if isinstance(each, slice) else cupy().asarray(each) for each in key)
        for made in (cupy().asarray(into), cupy().asarray(into.T.copy()).T):
            add_at(made, there, cupy().asarray(values))
            assert (host(made) == wanted).all()
    assert set(launches) == {"scatter_rows"}


def test_dropout_draws_the_numbers_of_the_cpu_and_draws_them_again(launches: list[str]) -> None:
    mpigrad.manual_seed(3)
    x = mpigrad.ones(5, 7, device="cuda:0", requires_grad=True)
    y = F.dropout(x, 0.4)
    after = mpigrad.rand(3, device="cuda:0")
    y.sum().backward()
    assert x.grad is not None and (host(x.grad._array) == host(y._array)).all()
    assert launches.count("dropout") == 2
    mpigrad.manual_seed(3)
    assert (F.dropout(mpigrad.ones(5, 7, device="cpu"), 0.4)._array == host(y._array)).all()
    assert (mpigrad.rand(3, device="cpu")._array == host(after._array)).all()


# -- gradients that wait -------------------------------------------------------------------------------------------------
def leaves(count: int) -> list[mpigrad.Tensor]:
    return [mpigrad.full((size,), 2.0, device="cuda:0", requires_grad=True) for size in range(1, count + 1)]


def total(some: list[mpigrad.Tensor]) -> mpigrad.Tensor:
    return mpigrad.cat([each * each for each in some]).sum()


def grads(some: list[mpigrad.Tensor]) -> list[list[float]]:
    return [each.grad.tolist() for each in some]  # type: ignore[union-attr]


@pytest.mark.parametrize("count, expected", [(5, 1), (70, 2)])
def test_many_gradients_are_added_in_one_launch(count: int, expected: int, launches: list[str]) -> None:
    some = leaves(count)
    total(some).backward()
    assert "add_many" not in launches  # the first gradients are kept as they are
    held = [each.grad for each in some]
    total(some).backward()
    assert launches.count("add_many") == expected
    assert all(each.grad is before for each, before in zip(some, held))
    assert grads(some) == [[8.0] * size for size in range(1, count + 1)]


def test_large_gradients_do_not_wait(launches: list[str]) -> None:
    leaf = mpigrad.ones(1 << 17, device="cuda:0", requires_grad=True)
    for _ in range(2):
        leaf.sum().backward()
    assert "add_many" not in launches and float(leaf.grad.sum()) == 2.0 * (1 << 17)  # type: ignore[union-attr]


def test_hooks_see_what_was_added() -> None:
    some = leaves(4)
    total(some).backward()
    seen = []
    some[2].register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    y = some[0] * 1.0
    y.register_hook(lambda grad: seen.append(grads(some[1:])))
    (y * total(some[1:]) * 0 + y * 3.0 + total(some[1:])).sum().backward()
    assert [8.0] * 3 in seen
    for each in seen:
        if isinstance(each[0], list):
            assert all(set(one) <= {4.0, 8.0} for one in each)
    assert grads(some) == [[7.0], [8.0] * 2, [8.0] * 3, [8.0] * 4]


def test_a_function_of_the_user_may_go_backward_into_the_same_leaves() -> None:
    some = leaves(3)
    total(some).backward()

    class Inner(mpigrad.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: mpigrad.Tensor) -> mpigrad.Tensor:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, grad: mpigrad.Tensor) -> mpigrad.Tensor:
            with mpigrad.enable_grad():
                total(some).backward()
            assert all(one[0] in (8.0, 12.0) for one in grads(some))
            return grad

    x = mpigrad.ones(1, device="cuda:0", requires_grad=True)
    (Inner.apply(x).sum() + total(some)).backward()
    assert grads(some) == [[12.0], [12.0] * 2, [12.0] * 3]


def test_an_error_in_the_pass_leaves_nothing_waiting() -> None:
    some = leaves(3)
    total(some).backward()

    def refuse(grad: mpigrad.Tensor) -> None:
        raise ValueError("no")

    y = some[0] * 1.0
    y.register_hook(refuse)
    with pytest.raises(ValueError, match="no"):
        (y.sum() + total(some[1:])).backward()
    before = grads(some)
    mpigrad.ones(1, device="cuda:0", requires_grad=True).sum().backward()
    assert grads(some) == before
