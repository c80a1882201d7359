"""The engine: every node once, when all of its gradients are there; any depth, any shape of graph."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad._core.engine import count_dependencies, needed_for


def leaf(*values: float) -> mpigrad.Tensor:
    return mpigrad.tensor(values, dtype=mpigrad.float64, requires_grad=True)


def test_dependencies_are_counted_per_edge() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    z = y + y * x
    counts = count_dependencies([z.grad_fn])
    accumulate = y.grad_fn.next_functions[0][0]
    assert counts[z.grad_fn] == 0
    assert counts[y.grad_fn] == 2
    assert counts[accumulate] == 3
    assert len(counts) == 4


def test_only_the_way_to_the_targets_is_needed() -> None:
    x, y = leaf(1.0), leaf(2.0)
    a, b = x * 2, y * 3
    z = a * b
    accumulate = a.grad_fn.next_functions[0][0]
    assert needed_for([z.grad_fn], {accumulate}) == {z.grad_fn, a.grad_fn}
    assert needed_for([z.grad_fn], {a.grad_fn}) == {z.grad_fn}
    assert needed_for([z.grad_fn], {z.grad_fn}) == set()


@pytest.mark.host  # about the engine: 100,000 launches would say nothing more
@pytest.mark.parametrize("create_graph", [False, True])
def test_long_chain_runs_and_is_freed(create_graph: bool) -> None:
    x = leaf(1.0, 2.0)
    y = x
    for _ in range(100_000 if not create_graph else 20_000):
        y = y + 1.0
    y.sum().backward(create_graph=create_graph)
    assert x.grad.tolist() == [1.0, 1.0]
    first = weakref.ref(y.grad_fn)
    x.grad = None
    del y
    gc.collect()
    assert first() is None


@pytest.mark.host
def test_long_chain_is_freed_without_a_pass() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    del y
    assert x.grad is None


def test_diamonds_run_each_node_once() -> None:
    x = leaf(1.0)
    y, calls = x, []
    for depth in range(60):  # 2**60 paths
        y = y + y
        y.grad_fn.register_hook(lambda ins, outs, depth=depth: calls.append(depth))
    y.sum().backward()
    assert x.grad.item() == 2.0**60
    assert calls == list(range(59, -1, -1))


def test_wide_graph() -> None:
    x = leaf(1.0, 2.0)
    parts = [x * float(i) for i in range(1000)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    total.sum().backward()
    assert x.grad.tolist() == [499500.0, 499500.0]


def test_second_pass_needs_retain_graph() -> None:
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12.0
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    z = (x + 1).sum()  # saved nothing: may be run again
    z.backward()
    z.backward()
    assert x.grad.item() == 14.0


def test_a_failed_pass_leaves_the_mode_as_it_was() -> None:
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()
    assert mpigrad.is_grad_enabled()
    (x * 2).sum().backward()
    assert x.grad.item() == 8.0


def test_inputs_only() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    y.sum().backward(inputs=[x], retain_graph=True)
    assert x.grad.tolist() == [3.0, 4.0]
    assert w.grad is None
    y.sum().backward(inputs=w)
    assert w.grad.tolist() == [1.0, 2.0]


def test_inputs_that_are_not_leaves_and_do_not_run_further() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    z = (y * y).sum()
    z.backward(inputs=[y, y])
    assert y.grad.tolist() == [6.0, 12.0] and y.retains_grad
    assert x.grad is None


def test_inputs_call_post_accumulate_hooks() -> None:
    x, seen = leaf(1.0), []
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.grad.item()))
    (x * 2).backward(inputs=[x])
    (x * 2).backward(inputs=[x])
    assert seen == [2.0, 4.0]


def test_grad_leaves_every_grad_alone() -> None:
    x, w = leaf(1.0), leaf(5.0)
    y = x * w
    gx, gy, gw = mpigrad.autograd.grad(y * 2, [x, y, w])
    assert (gx.item(), gy.item(), gw.item()) == (10.0, 2.0, 2.0)
    assert x.grad is None and w.grad is None


def test_grad_of_unused_inputs() -> None:
    x, other = leaf(1.0), leaf(2.0)
    with pytest.raises(
        RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used in the graph"
    ):
        mpigrad.autograd.grad(x * 2, [x, other])
    gx, none = mpigrad.autograd.grad(x * 2, [x, other], allow_unused=True)
    assert gx.item() == 2.0 and none is None
    _, zeros = mpigrad.autograd.grad(x * 2, [x, other], materialize_grads=True)
    assert zeros.tolist() == [0.0]


def test_batched_gradients() -> None:
    x = leaf(1.0, 2.0, 3.0)
    rows = mpigrad.eye(3, dtype=mpigrad.float64)
    (jacobian,) = mpigrad.autograd.grad(x * x, x, rows, is_grads_batched=True)
    assert jacobian.tolist() == [[2.0, 0, 0], [0, 4.0, 0], [0, 0, 6.0]]


def test_roots_that_depend_on_each_other() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * 3
    mpigrad.autograd.backward([y, z, y])
    assert x.grad.item() == 4.0 * 2 + 12.0


def test_a_leaf_can_be_a_root() -> None:
    x = leaf(2.0)
    x.backward()
    assert x.grad.tolist() == [1.0]


def test_third_order() -> None:
    x = leaf(2.0)
    y = x * x * x * x
    (g1,) = mpigrad.autograd.grad(y, x, create_graph=True)
    (g2,) = mpigrad.autograd.grad(g1, x, create_graph=True)
    (g3,) = mpigrad.autograd.grad(g2, x, create_graph=True)
    (g4,) = mpigrad.autograd.grad(g3, x)
    assert (g1.item(), g2.item(), g3.item(), g4.item()) == (32.0, 48.0, 48.0, 24.0)
    assert not g4.requires_grad


def test_create_graph_with_backward_adds_recorded_gradients() -> None:
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    assert x.grad.requires_grad
    (g,) = mpigrad.autograd.grad(x.grad, x)
    assert g.item() == 12.0


def test_integer_results_take_no_part() -> None:
    x = leaf(1.5, -2.5)
    y = x.long()
    assert not y.requires_grad and y.grad_fn is None
    (x * y).sum().backward()
    assert x.grad.tolist() == [1.0, -2.0]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: (x * 2).backward(), "grad can be implicitly created only for scalar outputs"),
        (
            lambda x: x.detach().sum().backward(),
            "element 0 of tensors does not require grad and does not have a grad_fn",
        ),
        (
            lambda x: (x * 2).backward(mpigrad.ones(3)),
            r"Mismatch in shape: grad_output\[0\] has a shape of mpigrad.Size\(\[3\]\)",
        ),
        (lambda x: mpigrad.autograd.backward([x], [None, None]), "got 1 tensors and 2 gradients"),
        (lambda x: x.sum().backward(inputs=[]), r"`inputs` argument to `backward\(\)` cannot be empty."),
        (lambda x: mpigrad.autograd.grad(x.sum(), []), r"`inputs` argument to `grad\(\)` cannot be empty."),
        (
            lambda x: mpigrad.autograd.grad(x.sum(), x.detach()),
            "One of the differentiated Tensors does not require grad",
        ),
        (lambda x: x.sum().backward(inputs=[3]), "all inputs have to be Tensors or GradientEdges, but got int"),
    ],
)
def test_bad_calls(call: object, error: str) -> None:
    with pytest.raises(RuntimeError, match=error):
        call(leaf(1.0, 2.0))


def test_gradient_edges_stand_for_tensors() -> None:
    x = leaf(3.0)
    y = x * x
    edge = mpigrad.autograd.graph.get_gradient_edge(y)
    z = y * 2
    (g,) = mpigrad.autograd.grad(z, edge, retain_graph=True)
    assert g.item() == 2.0
    del y
    (g,) = mpigrad.autograd.grad(edge, x, mpigrad.ones(1, dtype=mpigrad.float64))
    assert g.item() == 6.0


def test_saved_tensors_are_freed_as_the_pass_goes() -> None:
    x = leaf(*range(1, 5))
    arrays, alive, y = [], [], x
    for _ in range(5):
        y = y * y
        arrays.append(weakref.ref(y._array))
        y.grad_fn.register_prehook(lambda grads: alive.append(sum(ref() is not None for ref in arrays)))
    out = y.sum()
    del y
    out.backward()
    assert alive == [4, 3, 2, 1, 0]


def test_a_pass_over_an_unused_branch_does_not_wait_for_it() -> None:
    x = leaf(2.0)
    y = x * x
    unused = y * 5  # never reaches the root, must not be counted
    (y * 3).backward()
    assert x.grad.item() == 12.0
    assert unused.requires_grad


def test_modified_saved_tensors_are_noticed() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(
        RuntimeError, match=r"\[mpigrad.DoubleTensor \[2\]\], which is output 0 of Add, is at version 1; expected"
    ):
        z.sum().backward()
    w = x.exp()
    with mpigrad.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match="which is output 0 of Exp, is at version 1; expected version 0 instead"):
        w.sum().backward()


def test_float_gradient_of_another_width_is_cast() -> None:
    x = mpigrad.ones(2, requires_grad=True)
    (x * 2).backward(mpigrad.ones(2, dtype=mpigrad.float64))
    assert x.grad.dtype is mpigrad.float32


def test_empty_and_zero_dimensional() -> None:
    x = mpigrad.ones(0, 3, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.shape == (0, 3)
    s = mpigrad.tensor(2.0, requires_grad=True)
    (s * s * 3).backward()
    assert s.grad.shape == () and isinstance(s.grad._array, type(s._array))


class Noted(mpigrad.autograd.Function):
    """The identity; its backward notes a name."""

    @staticmethod
    def forward(ctx: Any, x: mpigrad.Tensor, name: str, names: list[str]) -> mpigrad.Tensor:
        ctx.note = name, names
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: mpigrad.Tensor) -> tuple[Any, ...]:
        name, names = ctx.note
        names.append(name)
        return grad, None, None


@pytest.mark.host
@pytest.mark.parametrize("crossed", [False, True])
def test_of_the_ready_nodes_the_last_made_runs_first(crossed: bool) -> None:
    """Two branches with a noted operation each: the order of their use in the sum must not matter."""
    x, names = leaf(1.0), []
    a = Noted.apply(x, "a", names)
    b = Noted.apply(x, "b", names)
    c = Noted.apply(a * 2, "c", names)
    d = Noted.apply(b * 2, "d", names)
    (d + c if crossed else c + d).sum().backward()
    assert names == ["d", "c", "b", "a"]


@pytest.mark.host
def test_many_nodes_run_in_reverse_order_of_the_forward() -> None:
    x, names, random = leaf(1.0), [], np.random.default_rng(0)
    made = [x]
    for step in range(300):
        before = made[int(random.integers(len(made)))]
        made.append(Noted.apply(before * 1.0, str(step), names))
    order = random.permutation(len(made))
    mpigrad.stack([made[int(place)] for place in order]).sum().backward()
    assert names == [str(step) for step in reversed(range(300))]


@pytest.mark.host
def test_sequence_numbers_grow() -> None:
    x = leaf(1.0)
    y = x * 2
    z = Noted.apply(y, "", [])
    w = z + y
    assert y.grad_fn._sequence_nr() < z.grad_fn._sequence_nr() < w.grad_fn._sequence_nr()
