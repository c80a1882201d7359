"""Graphs that pass between torch and mpigrad: the same gradients as of the same program in torch alone."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc.agent import Agent
from mpigrad.interop import jax
from mpigrad.interop.torch import from_torch, to_torch
from tests.support.in_memory import acting_as, world_in_memory


def leaves(*values: float) -> tuple[Any, Any]:
    """A leaf of torch and one of mpigrad, with the same values."""
    return torch.tensor(values, requires_grad=True), mpigrad.tensor(values, requires_grad=True)


def residual(x: Any, w: Any) -> Any:
    """From torch to mpigrad and back, twice; `h` is also used in torch, and `p` in mpigrad."""
    h = torch.sin(x)
    m = from_torch(h) * w
    y = torch.exp(to_torch(m.tanh())) + h
    p = (from_torch(y) * m).sum()
    return to_torch(p) * h.sum() + y.sum() + to_torch(m.sum())


def residual_alone(x: Any, w: Any) -> Any:
    h = torch.sin(x)
    m = h * w
    y = torch.exp(m.tanh()) + h
    return (y * m).sum() * h.sum() + y.sum() + m.sum()


X, W, ALONE = *leaves(0.3, -0.2, 0.7), torch.tensor([0.3, -0.2, 0.7], requires_grad=True)


def expected(**kwargs: Any) -> tuple[Any, ...]:
    return torch.autograd.grad(residual_alone(X, ALONE), [X, ALONE], **kwargs)


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    yield
    X.grad = W.grad = None


@pytest.fixture
def agents() -> Iterator[list[Agent]]:
    with world_in_memory(3) as found, acting_as(found[0]):
        yield found


# -- in one process ----------------------------------------------------------------------------------------------------
def test_conversions_share_memory_and_keep_types() -> None:
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.bool):
        x = torch.ones(2, 3).to(dtype)[:, 1:]
        ours = from_torch(x)
        back = to_torch(ours)
        assert str(ours.dtype) == f"mpigrad.{str(dtype)[6:]}" and back.dtype is dtype and back.stride() == x.stride()
        back[0, 0] = 0
        assert not x[0, 0] and not ours[0, 0]
    sparse = torch.eye(3).to_sparse()
    assert torch.equal(to_torch(from_torch(sparse)).to_dense(), torch.eye(3))
    assert to_torch(mpigrad.arange(3).flip(0)).tolist() == [2, 1, 0] and to_torch(from_torch(torch.tensor(2.5))).item() == 2.5
    with pytest.raises(TypeError, match="no element type like torch.float8_e5m2"):
        from_torch(torch.zeros(2).to(torch.float8_e5m2))
    for convert, wrong in ((from_torch, W), (to_torch, X)):
        with pytest.raises(TypeError, match="argument must be a"):
            convert(wrong)


@pytest.mark.parametrize("start", [to_torch, from_torch])
def test_a_pass_of_either_library(start: Any) -> None:
    loss = residual(X, W)
    (loss if start is to_torch else from_torch(loss)).backward()
    same(X.grad, expected()[0])
    same(W.grad, expected()[1])


def test_grad_changes_no_leaf() -> None:
    same(torch.autograd.grad(residual(X, W), [X])[0], expected()[0])
    same(mpigrad.autograd.grad(from_torch(residual(X, W)), [W])[0], expected()[1])
    x = from_torch(X)
    same(mpigrad.autograd.grad(x * to_torch(x * 2).pow(2).sum().item(), [x], mpigrad.ones(3))[0], 4 * (X * X).sum().expand(3))
    assert X.grad is None and W.grad is None
    hidden = x * 2
    with pytest.raises(RuntimeError, match="for leaves and for results of from_torch"):
        mpigrad.autograd.grad((hidden * 2).sum(), [hidden])


@pytest.mark.parametrize("library", [torch, mpigrad])
def test_higher_derivatives(library: Any) -> None:
    first = expected(create_graph=True)
    second = torch.autograd.grad(first[0].sum() + first[1].sum(), [X, ALONE])
    loss = residual(X, W)
    if library is torch:
        (found,) = torch.autograd.grad(loss, [X], create_graph=True)
        same(found, first[0])
        same(torch.autograd.grad(found.sum(), [X])[0], torch.autograd.grad(expected(create_graph=True)[0].sum(), [X])[0])
    else:
        x = from_torch(X)
        found, other = mpigrad.autograd.grad(from_torch(residual(to_torch(x), W)), [x, W], create_graph=True)
        (found.sum() + other.sum()).backward()
        same(X.grad, second[0])
        same(W.grad, second[1])


def test_nothing_is_recorded_without_need() -> None:
    assert not from_torch(torch.ones(2)).requires_grad and not to_torch(mpigrad.ones(2)).requires_grad
    for mode in (torch.no_grad, mpigrad.no_grad):
        with mode():
            assert not from_torch(X).requires_grad and not to_torch(W).requires_grad


def test_hooks_and_other_passes() -> None:
    """Hooks of leaves get the whole gradient; other passes over the same nodes do not free what a conversion needs."""
    seen: list[Any] = []
    handle = W.register_hook(lambda grad: seen.append(grad.tolist()))
    h = W * W
    one, two = to_torch(h), to_torch(h * 2)
    h.sum().backward()
    h.register_hook(lambda grad: grad * 10)
    (one + two).sum().backward()
    handle.remove()
    assert seen == [pytest.approx([2 * w for w in W.tolist()]), pytest.approx([60 * w for w in W.tolist()])]
    W.grad = None
    w = mpigrad.nn.Parameter(mpigrad.ones(2))  # gradients do not share memory
    v = mpigrad.nn.Parameter(mpigrad.ones(2))
    to_torch(w + v).sum().backward()
    w.grad.mul_(2)
    assert v.grad.tolist() == [1, 1]


def test_changes_by_torch_are_noticed() -> None:
    """An error if mpigrad needs the old values, as in one library."""

    def changed_result(function: Any) -> Any:
        return torch.relu_(to_torch(function(from_torch(X))))

    def changed_argument(function: Any) -> Any:
        t = X * 1
        made = to_torch(function(from_torch(t)))
        t.detach().mul_(2)
        return made

    for program, function in ((changed_result, mpigrad.exp), (changed_argument, mpigrad.square)):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            program(function).sum().backward()
    changed_result(mpigrad.neg).sum().backward()
    changed_argument(mpigrad.neg).sum().backward()
    assert X.grad.tolist() == [-1, -2, -1]


def test_graphs_are_freed_without_the_garbage_collector() -> None:
    residual(X, W).backward()
    gc.collect()
    gc.disable()
    try:
        residual(X, W).backward()
        from_torch(residual(X, W)).backward()
        assert not gc.collect()
    finally:
        gc.enable()


def test_modules_of_both_libraries() -> None:
    """A module of torch and one of mpigrad, with sparse gradients, learn together."""
    table, layer = mpigrad.nn.Embedding(5, 3, sparse=True), torch.nn.Linear(3, 1)
    optimizers = mpigrad.optim.SGD(table.parameters(), lr=0.1), torch.optim.SGD(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        loss = (layer(to_torch(table(mpigrad.tensor([1, 2, 1])))) - 1).square().mean()
        losses.append(loss.item())
        for each in optimizers:
            each.zero_grad()
        loss.backward()
        assert table.weight.grad.is_sparse
        for each in optimizers:
            each.step()
    assert losses[-1] < 0.1 * losses[0]


def test_a_stage_of_jax_between_modules_of_torch() -> None:
    numpy = pytest.importorskip("jax.numpy")
    stage = jax.stage(lambda x, w: numpy.tanh(x) * w)
    to_torch(stage(from_torch(torch.sin(X)), W)).sum().backward()
    wanted = torch.autograd.grad((torch.tanh(torch.sin(X)) * ALONE).sum(), [X, ALONE])
    same(X.grad, wanted[0])
    same(W.grad, wanted[1])


# -- over workers ------------------------------------------------------------------------------------------------------
def remote(rank: int, function: Any, *args: Any) -> Any:
    return rpc.rpc_sync(f"worker{rank}", function, args=args)


def mpigrad_stage(m: Any, w: Any) -> Any:
    return mpigrad.tanh(m) * w


def mixed_stage(x: Any, w: Any) -> Any:
    """Gets torch's and mpigrad's tensors, and returns both."""
    h = torch.sin(x)
    m = from_torch(h) * w
    return to_torch(m) * h, m + from_torch(h * 2), h


def mixed_alone(x: Any, w: Any) -> Any:
    h = torch.sin(x)
    return h * w * h, h * w + h * 2, h


def test_a_distributed_pass(agents: list[Agent]) -> None:
    for convert in (to_torch, from_torch):
        with dist_autograd.context() as context_id:
            loss = residual(X, W)
            dist_autograd.backward(context_id, [loss if convert is to_torch else from_torch(loss)])
            found = dist_autograd.get_gradients(context_id)
        same(found[X], expected()[0])
        same(found[W], expected()[1])
        assert type(found[W]) is mpigrad.Tensor and X.grad is None and W.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
def test_over_workers(agents: list[Agent], create_graph: bool) -> None:
    def loss_of(x: Any, w: Any, call: Any, enter: Any, leave: Any) -> Any:
        h = torch.exp(x)
        y = leave(call(1, mpigrad_stage if call is remote else lambda m, w: torch.tanh(m) * w, enter(h), w))
        a, b, c = call(2, mixed_stage if call is remote else mixed_alone, y * h, w)
        return (a * y).sum() + leave(b * w).sum() + c.sum()

    def alone(_: int, function: Any, *args: Any) -> Any:
        return function(*args)

    first = torch.autograd.grad(loss_of(X, ALONE, alone, lambda x: x, lambda x: x), [X, ALONE], create_graph=True)
    with dist_autograd.context() as context_id:
        loss = loss_of(X, W, remote, from_torch, to_torch)
        if create_graph:
            found = dist_autograd.grad(context_id, [loss], [X, W], create_graph=True)
            second = torch.autograd.grad(first[0].sum() + first[1].sum(), [X, ALONE])
            total = found[0].sum() + to_torch(found[1].sum())
            for each, wanted in zip(dist_autograd.grad(context_id, [total], [X, W]), second):
                same(each, wanted)
        else:
            dist_autograd.backward(context_id, [loss], retain_graph=True)
            dist_autograd.backward(context_id, [loss])
            gradients = dist_autograd.get_gradients(context_id)
            found = gradients[X] / 2, gradients[W] / 2
    for each, wanted in zip(found, first):
        same(each, wanted)


def test_a_local_pass_says_which_one_is_needed(agents: list[Agent]) -> None:
    with dist_autograd.context():
        y = to_torch(remote(1, mpigrad_stage, W, W))
        with pytest.raises(RuntimeError, match="needs mpigrad.distributed.autograd.backward"):
            y.sum().backward()


@pytest.mark.parametrize("seed", range(12))
def test_random_mixed_graphs_over_random_workers(agents: list[Agent], seed: int) -> None:
    def run(call: Any, values: list[Any], mixed: bool) -> Any:
        chance, values = random.Random(seed), list(values)
        for _ in range(12):
            rank, name = chance.randrange(3), chance.choice(["sin", "tanh", "exp", "add", "mul", "sub"])
            few, ours, far = 1 if name in ("sin", "tanh", "exp") else 2, chance.random() < 0.5, chance.random() < 0.5
            args = [chance.choice(values) for _ in range(few)]
            if mixed:
                args = [as_kind(each, ours) for each in args]
            function = getattr(mpigrad if mixed and ours else torch, name)
            values.append(call(rank, function, *args) if far else function(*args))
        if mixed:
            values = [as_kind(each, False) for each in values]
        return (values[-1] * 0.1 + values[-2] * chance.choice(values) * 0.01).sum()

    def as_kind(value: Any, ours: bool) -> Any:
        if isinstance(value, mpigrad.Tensor):
            return value if ours else to_torch(value)
        return from_torch(value) if ours else value

    x, w = leaves(0.1, 0.2)
    theirs = [x, torch.tensor(w.tolist(), requires_grad=True)]
    wanted = torch.autograd.grad(run(lambda _, function, *args: function(*args), theirs, False), theirs, allow_unused=True)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [run(remote, [x, w], True)])
        found = dist_autograd.get_gradients(context_id)
    for each, gradient in zip((x, w), wanted):
        if gradient is None:
            assert each not in found or not found[each].any()
        else:
            np.testing.assert_allclose(found[each].numpy(), gradient.numpy(), rtol=1e-3, atol=1e-5)
