"""Optimizers: updates in place without new memory, groups, state, hooks, large parameters, sparse gradients."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad import optim
from mpigrad.optim.optimizer import BLOCK, register_optimizer_step_post_hook

KINDS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1},
    "Adam": {"amsgrad": True, "weight_decay": 0.1},
    "AdamW": {},
    "Adagrad": {},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Adadelta": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "ASGD": {"t0": 2},
    "Rprop": {},
}


def leaf(*shape: int, seed: int = 0) -> Any:
    return mpigrad.tensor(np.random.default_rng(seed).standard_normal(shape).astype("f4"), requires_grad=True)


def steps(kind: str, w: Any, count: int = 4) -> Any:
    optimizer = getattr(optim, kind)([w], **KINDS[kind])
    for seed in range(count):
        w.grad = leaf(*w.shape, seed=seed + 1).detach()
        optimizer.step()
    return optimizer


@pytest.mark.host
@pytest.mark.parametrize("kind", KINDS)
def test_large_parameters_are_updated_like_small_ones(kind: str) -> None:
    rows = 2 * BLOCK // 64 + 3
    whole, turned = leaf(rows, 64), leaf(rows, 64)
    turned._array = np.asfortranarray(turned._array)  # not cut into blocks
    steps(kind, whole)
    steps(kind, turned)
    np.testing.assert_array_equal(whole.detach().numpy(), turned.detach().numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_steps_change_the_memory_in_place_and_make_no_more(kind: str) -> None:
    w = leaf(64, 64)
    before = w._array
    optimizer = steps(kind, w, 2)
    grad = w.grad.numpy().copy()
    tracemalloc.start()
    for _ in range(5):
        optimizer.step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert w._array is before
    np.testing.assert_array_equal(w.grad.numpy(), grad)
    assert peak < (30_000 if kind == "Rprop" else 8_000)  # a parameter has 16 KiB; Rprop makes masks of 4 KiB


def test_a_step_is_noticed_by_graphs_that_saved_the_parameter() -> None:
    w = leaf(2)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_groups_have_settings_of_their_own() -> None:
    a, b = leaf(2), leaf(2)
    optimizer = optim.SGD([{"params": a, "lr": 1.0}, {"params": [b]}], lr=0.5)
    optimizer.add_param_group({"params": leaf(3), "momentum": 0.1})
    assert [group["lr"] for group in optimizer.param_groups] == [1.0, 0.5, 0.5]
    first = [each.detach().numpy().copy() for each in (a, b)]
    a.grad = b.grad = mpigrad.ones(2)
    optimizer.step()
    np.testing.assert_allclose(first[0] - a.detach().numpy(), 1.0, rtol=1e-6)
    np.testing.assert_allclose(first[1] - b.detach().numpy(), 0.5, rtol=1e-6)


def test_closure_is_run_with_gradients_and_its_loss_given_back() -> None:
    w = leaf(2)
    optimizer = optim.SGD([w], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with mpigrad.no_grad():
        first, second = optimizer.step(closure), optimizer.step(closure)
    assert second.item() < first.item()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["state_dict", "pickle", "deepcopy"])
def test_state_goes_on_where_it_was(kind: str, way: str) -> None:
    a = leaf(3)
    first = steps(kind, a)
    if way == "state_dict":
        b = a.detach().clone().requires_grad_()
        second = getattr(optim, kind)([b], **KINDS[kind])
        second.load_state_dict(first.state_dict())
    else:
        second = pickle.loads(pickle.dumps(first)) if way == "pickle" else copy.deepcopy(first)
        b = second.param_groups[0]["params"][0]
    for w, optimizer in ((a, first), (b, second)):
        w.grad = leaf(3, seed=9).detach()
        optimizer.step()
    assert b is not a
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_loaded_state_is_a_copy() -> None:
    a, b = leaf(3), leaf(3)
    first, second = steps("Adam", a), optim.Adam([b])
    second.load_state_dict(first.state_dict())
    assert second.state[b]["exp_avg"]._array is not first.state[a]["exp_avg"]._array


def test_step_hooks() -> None:
    w, seen = leaf(2), []
    optimizer = optim.SGD([w], lr=0.1)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("pre"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("post"))
    everyone = register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append("all"))
    optimizer.step()
    handle.remove(), everyone.remove()
    optimizer.step()
    assert seen == ["pre", "post", "all", "pre"]


def test_state_hooks() -> None:
    optimizer = steps("Adam", leaf(2))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "note": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: {key: state[key] for key in ("state", "param_groups")})
    state = optimizer.state_dict()
    assert state["note"] == 1
    optimizer.load_state_dict(state)


def test_users_own_optimizer() -> None:
    class Sign(optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    with mpigrad.no_grad():
                        p.sub_(p.grad.sign() * group["lr"])

    w, seen = mpigrad.ones(2, requires_grad=True), []
    w.grad = mpigrad.tensor([2.0, -3.0])
    optimizer = Sign([w], 0.5)
    optimizer.register_step_post_hook(lambda *_: seen.append(1))
    optimizer.step()
    np.testing.assert_allclose(w.detach().numpy(), [0.5, 1.5])
    assert seen == [1]


def test_zero_grad() -> None:
    w = leaf(2)
    optimizer = steps("SGD", w)
    held = w.grad
    optimizer.zero_grad(set_to_none=False)
    assert w.grad is held and not held.numpy().any()
    optimizer.zero_grad()
    assert w.grad is None


def test_parameters_without_gradients_are_left_alone() -> None:
    w, idle = leaf(2), leaf(2)
    before = idle.detach().numpy().copy()
    optimizer = optim.Adam([w, idle], weight_decay=0.5)
    w.grad = mpigrad.ones(2)
    optimizer.step()
    np.testing.assert_array_equal(idle.detach().numpy(), before)
    assert idle not in optimizer.state


@pytest.mark.parametrize("kind", ["SGD", "Adagrad", "SparseAdam"])
def test_sparse_gradients_touch_only_their_rows(kind: str) -> None:
    table = mpigrad.nn.Embedding(6, 3, sparse=True)
    before = table.weight.detach().numpy().copy()
    optimizer = getattr(optim, kind)(table.parameters(), lr=0.1)
    table(mpigrad.tensor([1, 4, 1])).sum().backward()
    optimizer.step()
    changed = (table.weight.detach().numpy() != before).any(axis=1)
    assert changed.tolist() == [False, True, False, False, True, False]
    if kind == "SGD":
        np.testing.assert_allclose(
            before - table.weight.detach().numpy(), [[0.1 * n] * 3 for n in (0, 2, 0, 0, 1, 0)], atol=1e-6
        )


@pytest.mark.parametrize("kind", ["SGD", "Adagrad", "SparseAdam"])
@pytest.mark.parametrize(("rows", "shape"), [(3, ()), (40, ()), (5000, ()), (40, (2, 3)), (400, (40,)), (40, (0,))])
@pytest.mark.parametrize("columns", [False, True])
def test_sparse_steps_are_those_of_coalesced_gradients(kind: str, rows: int, shape: tuple[int, ...], columns: bool) -> None:
    """Whether places repeat often, now and then or never; in pieces, and for parameters that are laid out otherwise."""
    draw = np.random.default_rng(rows)
    start = draw.standard_normal((rows, *shape)).astype("f4")
    stepped = []
    for coalesced in (False, True):
        held = np.asfortranarray(start.copy()) if columns else start.copy()
        w = mpigrad.from_numpy(held).requires_grad_()
        optimizer = getattr(optim, kind)([w], lr=0.1)
        draws = np.random.default_rng(1)
        for count in (1, 7, 3000):
            at = mpigrad.from_numpy(draws.integers(0, rows, (1, count)))
            values = mpigrad.from_numpy(draws.standard_normal((count, *shape)).astype("f4"))
            grad = mpigrad.sparse_coo_tensor(at, values, w.shape)
            w.grad = grad.coalesce() if coalesced else grad
            optimizer.step()
            np.testing.assert_array_equal(at.numpy(), grad._indices().numpy())
            np.testing.assert_array_equal(values.numpy(), grad._values().numpy())
        stepped.append(w.detach().numpy())
    assert (stepped[0] != start).any() or not start.size
    np.testing.assert_allclose(stepped[0], stepped[1], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Adam", "Adam does not support sparse gradients, please consider SparseAdam instead"),
        ("RMSprop", "RMSprop does not support sparse gradients"),
        ("Rprop", "Rprop does not support sparse gradients"),
    ],
)
def test_others_refuse_sparse_gradients(kind: str, said: str) -> None:
    table = mpigrad.nn.Embedding(6, 3, sparse=True)
    table(mpigrad.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match=said):
        getattr(optim, kind)(table.parameters()).step()


def test_sparse_adam_refuses_dense_gradients_and_decay_refuses_sparse_ones() -> None:
    w = leaf(2)
    w.grad = mpigrad.ones(2)
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        optim.SparseAdam([w]).step()
    table = mpigrad.nn.Embedding(6, 3, sparse=True)
    table(mpigrad.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        optim.Adagrad(table.parameters(), weight_decay=0.1).step()
