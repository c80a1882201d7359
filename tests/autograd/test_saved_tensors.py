"""Packing of saved tensors: `saved_tensors_hooks`, `save_on_cpu` and `disable_saved_tensors_hooks`."""

from __future__ import annotations

import pytest

import mpigrad
from mpigrad._graph.grad_mode import TRACING
from mpigrad.autograd import graph

F64 = mpigrad.float64


class Square(mpigrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * 2 * x + 0 * y


def leaf(*values: float) -> mpigrad.Tensor:
    return mpigrad.tensor(values, dtype=F64, requires_grad=True)


@pytest.mark.parametrize(
    "op", [lambda x: x * x, lambda x: x.exp(), lambda x: x.sin(), Square.apply], ids=["mul", "exp", "sin", "fn"]
)
def test_gradients_through_packed_tensors(op: object) -> None:
    packed = []

    def pack(tensor: mpigrad.Tensor) -> list[float]:
        packed.append(tensor.tolist())
        return tensor.tolist()

    def packing(x: mpigrad.Tensor) -> mpigrad.Tensor:
        with graph.saved_tensors_hooks(pack, lambda values: mpigrad.tensor(values, dtype=F64)):
            return op(x)

    x = leaf(0.5, -1.5)
    assert mpigrad.autograd.gradcheck(packing, x)
    assert mpigrad.autograd.gradgradcheck(packing, x)
    assert packed and not TRACING.on


def test_the_graph_goes_on_through_packed_inputs() -> None:
    x = leaf(2.0)
    y = x * 3
    with graph.saved_tensors_hooks(lambda tensor: tensor.detach().clone(), lambda tensor: tensor):
        z = y * y
    (g,) = mpigrad.autograd.grad(z, x, create_graph=True)
    (h,) = mpigrad.autograd.grad(g, x)
    assert (g.item(), h.item()) == (36.0, 18.0)


def test_innermost_hooks_count_and_end() -> None:
    order = []
    x = leaf(1.0)
    with graph.saved_tensors_hooks(lambda tensor: order.append("outer") or tensor, lambda tensor: tensor):
        with graph.saved_tensors_hooks(lambda tensor: order.append("inner") or tensor, lambda tensor: tensor):
            x.exp()
        x.exp()
    x.exp()
    assert order == ["inner", "outer"]


def test_save_on_cpu() -> None:
    x = leaf(3.0)
    with graph.save_on_cpu():
        y = x * x
    y.backward()
    assert x.grad.item() == 6.0


def test_disabled() -> None:
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def test_unpacking_must_give_a_tensor() -> None:
    x = leaf(1.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x * x
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor but got"):
        y.backward()


def test_counting_changes_by_hand() -> None:
    x = leaf(1.0)
    y = x * 2
    z = y * y
    graph.increment_version([y])
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.backward()


def test_what_was_saved_has_names() -> None:
    x = mpigrad.tensor([1.0, 2.0], requires_grad=True)
    product, power = x * x, x.exp()
    assert product.grad_fn._saved_self is x and "_saved_other" in dir(product.grad_fn)
    assert power.grad_fn._saved_result.tolist() == power.tolist()
    with pytest.raises(AttributeError, match="'ExpBackward0' object has no attribute '_saved_self'"):
        power.grad_fn._saved_self
    product.sum().backward()
    with pytest.raises(RuntimeError, match="access saved tensors after they have already been freed"):
        product.grad_fn._saved_self
