"""Hooks on tensors and nodes: order, replacement, removal, errors, kept gradients."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
from mpigrad.autograd.graph import register_multi_grad_hook

F64 = mpigrad.float64


def leaf(*values: float) -> mpigrad.Tensor:
    return mpigrad.tensor(values, dtype=F64, requires_grad=True)


def test_order_of_all_kinds() -> None:
    x, order = leaf(1.0), []
    y = x * 2
    y.register_hook(lambda grad: order.append("tensor 1"))
    y.register_hook(lambda grad: order.append("tensor 2"))
    y.grad_fn.register_prehook(lambda grads: order.append("node before"))
    y.grad_fn.register_hook(lambda ins, outs: order.append("node after"))
    x.register_hook(lambda grad: order.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda tensor: order.append(f"leaf has {tensor.grad.item()}"))
    y.backward()
    assert order == ["tensor 1", "tensor 2", "node before", "node after", "leaf", "leaf has 2.0"]


def test_tensor_hooks_replace_in_turn() -> None:
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: grad * 3)
    handle = y.register_hook(lambda grad: grad + 1)
    y.retain_grad()
    y.backward(retain_graph=True)
    assert (y.grad.item(), x.grad.item()) == (4.0, 8.0)
    handle.remove()
    handle.remove()
    x.grad = y.grad = None
    y.backward()
    assert (y.grad.item(), x.grad.item()) == (3.0, 6.0)


def test_node_hooks_replace() -> None:
    x = leaf(1.0)
    y = x * 2
    seen: list[Any] = []
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 5,))
    y.grad_fn.register_hook(lambda ins, outs: seen.append((ins, outs)) or (ins[0] + 1, None))
    y.backward()
    assert x.grad.item() == 11.0
    assert (seen[0][0][0].item(), seen[0][0][1], seen[0][1][0].item()) == (10.0, None, 5.0)


def test_leaf_hooks_outlive_graphs() -> None:
    x = leaf(1.0)
    with x.register_hook(lambda grad: grad * 10):
        (x * 2).backward()
        (x * 2).backward()
        assert x.grad.item() == 40.0
    (x * 2).backward()
    assert x.grad.item() == 42.0


def test_hooks_see_sums() -> None:
    x, seen = leaf(1.0), []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.item()))
    (y * 3 + y * 4).backward()
    assert seen == [7.0]


def test_hooks_run_for_grad_too() -> None:
    x = leaf(1.0)
    x.register_hook(lambda grad: grad * 2)
    y = x * 2
    y.retain_grad()
    gx, gy = mpigrad.autograd.grad(y * 3, [x, y])
    assert (gx.item(), gy.item(), y.grad.item()) == (12.0, 3.0, 3.0)
    assert x.grad is None


def test_hooks_with_create_graph() -> None:
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda grad: grad * x)
    y.backward(create_graph=True)
    assert x.grad.item() == 8.0
    (second,) = mpigrad.autograd.grad(x.grad, x)
    assert second.item() == 8.0  # d/dx 2 x**2


def test_in_place_change_moves_the_kept_gradient_and_leaves_hooks() -> None:
    x, seen = leaf(1.0), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: seen.append(grad.item()))
    y.mul_(3)
    y.backward()
    assert seen == [3.0] and y.grad.item() == 1.0


def test_kept_gradients_do_not_keep_the_tensor() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    z = y * 3
    del y
    z.backward()
    assert x.grad.item() == 6.0


@pytest.mark.parametrize("name", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_need_a_gradient(name: str) -> None:
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        getattr(mpigrad.ones(1), name)(print)


def test_wrong_places() -> None:
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        mpigrad.ones(1).retain_grad()
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)


@pytest.mark.parametrize(
    ("returned", "kind", "error"),
    [
        (3, TypeError, "expected Variable, but hook returned 'int'"),
        (mpigrad.ones(2, dtype=F64), RuntimeError, "hook '<lambda>' has changed the size of value"),
        (mpigrad.ones(1), RuntimeError, "hook '<lambda>' has changed the type of value"),
    ],
)
def test_bad_tensor_hooks(returned: Any, kind: type[Exception], error: str) -> None:
    y = leaf(1.0) * 2
    y.register_hook(lambda grad: returned)
    with pytest.raises(kind, match=error):
        y.backward()


@pytest.mark.parametrize(
    ("returned", "kind", "error"),
    [
        (3, TypeError, "expected tuple, but hook returned 'int'"),
        (
            (None,),
            RuntimeError,
            r"hook '<lambda>' has returned an incorrect number of values \(got 1, but expected 2\)",
        ),
    ],
)
def test_bad_node_hooks(returned: Any, kind: type[Exception], error: str) -> None:
    y = leaf(1.0) * 2
    y.grad_fn.register_hook(lambda ins, outs: returned)
    with pytest.raises(kind, match=error):
        y.backward()


def test_metadata_and_names() -> None:
    y = leaf(1.0) * 2
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    assert y.grad_fn.name() == "MulBackward0"
    assert y.grad_fn.next_functions[1] == (None, 0)
    assert isinstance(y.grad_fn, mpigrad.autograd.graph.Node)


def test_multi_grad_hook_all() -> None:
    a, b, c, seen = leaf(1.0), leaf(2.0), leaf(3.0), []
    handle = register_multi_grad_hook([a, b, c], lambda grads: seen.append([g and g.item() for g in grads]))
    (a * b).backward()
    (a * b * c).backward()
    assert seen == [[2.0, 1.0, None], [6.0, 3.0, 2.0]]
    handle.remove()
    (a * b).backward()
    assert len(seen) == 2


def test_multi_grad_hook_any() -> None:
    a, b, seen = leaf(1.0), leaf(2.0), []
    register_multi_grad_hook([a, b], lambda grad: seen.append(grad), mode="any")
    (a * b).backward()
    (a * b).backward()
    assert len(seen) == 2
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        register_multi_grad_hook([a], print, mode="some")
