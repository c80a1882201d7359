"""`autograd.Function`: contexts, all that `forward` may return and `backward` may give, and the errors."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import mpigrad
from mpigrad.autograd import Function
from mpigrad.autograd.function import once_differentiable

F64 = mpigrad.float64


def leaf(*values: float) -> mpigrad.Tensor:
    return mpigrad.tensor(values, dtype=F64, requires_grad=True)


def make(forward: Any, backward: Any) -> type[Function]:
    class Made(Function):
        pass

    Made.forward, Made.backward = staticmethod(forward), staticmethod(backward)  # type: ignore[method-assign]
    return Made


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y


class Scale(Function):
    @staticmethod
    def forward(ctx, factor, x, label=None):
        ctx.factor, ctx.label = factor, label
        ctx.save_for_backward(x)
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return None, grad * ctx.factor, None


def test_the_context_is_the_node() -> None:
    x, seen = leaf(1.0), []
    fn = make(lambda ctx, x: (seen.append(ctx), x * 2)[1], lambda ctx, grad: (seen.append(ctx), grad * 2)[1])
    y = fn.apply(x)
    assert y.grad_fn.name() == "MadeBackward" and type(y.grad_fn).__name__ == "MadeBackward"
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert repr(y.grad_fn).startswith("<mpigrad.autograd.function.MadeBackward object at 0x")
    y.backward()
    assert seen == [y.grad_fn, y.grad_fn]


def test_arguments_that_are_no_tensors() -> None:
    x = leaf(1.0, 2.0)
    y = Scale.apply(3.0, x, "name")
    assert y.grad_fn.label == "name" and y.grad_fn.needs_input_grad == (False, True, False)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    z = Scale.apply(2.0, x=x, label="kw")
    assert z.grad_fn.needs_input_grad == (False, True, False)


@pytest.mark.parametrize(
    "fn", [Exp, make(lambda ctx, x: (ctx.save_for_backward(x), x * x)[1], lambda ctx, g: 2 * g * ctx.saved_tensors[0])]
)
def test_double_backward(fn: type[Function]) -> None:
    x = leaf(0.3, -0.7)
    assert mpigrad.autograd.gradcheck(fn.apply, x)
    assert mpigrad.autograd.gradgradcheck(fn.apply, x)


def test_saved_results_make_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(leaf(1.0))
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_several_outputs_and_missing_gradients() -> None:
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "text", x * 3, None

        @staticmethod
        def backward(ctx, *grads):
            seen.append([None if grad is None else grad.tolist() for grad in grads])
            return grads[0] * 2 + grads[2] * 3

    x = leaf(1.0)
    a, text, b, none = Two.apply(x)
    assert (text, none) == ("text", None) and (a.output_nr, b.output_nr) == (0, 2)
    b.backward()
    assert seen == [[[0.0], None, [1.0], None]] and x.grad.item() == 3.0


def test_without_materialized_gradients() -> None:
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b.item()))

    x = leaf(1.0)
    Two.apply(x)[1].backward()
    assert seen == [(None, 1.0)] and x.grad is None


def test_backward_runs_on_zeros_when_nothing_arrives() -> None:
    seen = []
    below = make(lambda ctx, x: x * 1, lambda ctx, grad: (seen.append(grad.tolist()), grad)[1])
    above = make(lambda ctx, x: x * 1, lambda ctx, grad: None)
    x = leaf(1.0)
    above.apply(below.apply(x)).backward()
    assert seen == [[0.0]] and x.grad.tolist() == [0.0]


def test_setup_context() -> None:
    class Power(Function):
        @staticmethod
        def forward(x, exponent=2):
            return x**exponent

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.exponent = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def vjp(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.exponent * x ** (ctx.exponent - 1), None

    x = leaf(3.0)
    Power.apply(x).backward()
    assert x.grad.item() == 6.0
    assert mpigrad.autograd.gradgradcheck(lambda x: Power.apply(x, 3), x)


def test_forward_is_not_recorded_and_modes() -> None:
    modes = []
    fn = make(
        lambda ctx, x: (modes.append(mpigrad.is_grad_enabled()), x * 2)[1],
        lambda ctx, g: (modes.append(mpigrad.is_grad_enabled()), g)[1],
    )
    x = leaf(1.0)
    fn.apply(x).backward()
    mpigrad.autograd.grad(fn.apply(x), x, create_graph=True)
    assert modes == [False, False, False, True]
    with mpigrad.no_grad():
        assert not fn.apply(x).requires_grad
    assert not fn.apply(x.detach()).requires_grad


def test_input_returned_as_it_is() -> None:
    fn = make(lambda ctx, x: x, lambda ctx, grad: grad * 7)
    x = leaf(1.0)
    y = fn.apply(x)
    assert y is not x and y._base is x and y.grad_fn.name() == "MadeBackward"
    with pytest.raises(
        RuntimeError, match="Output 0 of Made is a view and is being modified inplace. This view was created inside"
    ):
        y.mul_(2)
    y.backward()
    assert x.grad.item() == 7.0


def test_dirty_inputs() -> None:
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    fn = make(forward, lambda ctx, grad: grad * 2)
    x = leaf(1.0)
    y = x * 3
    z = fn.apply(y)
    assert z is y and y.grad_fn.name() == "MadeBackward" and y.item() == 6.0
    y.backward()
    assert x.grad.item() == 6.0
    with pytest.raises(
        RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation."
    ):
        fn.apply(leaf(1.0))


def test_dirty_view_of_a_base() -> None:
    def forward(ctx, factor, x):
        x.mul_(factor)
        ctx.mark_dirty(x)
        ctx.factor = factor
        return x

    fn = make(forward, lambda ctx, grad: (None, grad * ctx.factor))
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1.0
    fn.apply(5.0, base[1:])
    assert base.tolist() == [1.0, 10.0, 15.0]
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 5.0, 5.0]


def test_dirty_must_be_returned() -> None:
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2

    with pytest.raises(
        RuntimeError, match="Some elements marked as dirty during the forward method were not returned as output"
    ):
        make(forward, None).apply(leaf(1.0) * 1)


def test_outputs_without_gradient() -> None:
    def forward(ctx, x):
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y, x * 3, (x * 10).long()

    fn = make(forward, lambda ctx, a, b, c: b * 3)
    x = leaf(1.5)
    a, b, c = fn.apply(x)
    assert (a.requires_grad, b.requires_grad, c.requires_grad) == (False, True, False)
    b.backward()
    assert x.grad.item() == 3.0


def test_once_differentiable() -> None:
    fn = make(lambda ctx, x: x * 2, once_differentiable(lambda ctx, grad: grad * 2))
    x, seed = leaf(1.0), leaf(1.0)
    (g,) = mpigrad.autograd.grad(fn.apply(x), x, seed, create_graph=True)
    assert g.requires_grad
    with pytest.raises(
        RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"
    ):
        g.backward()
    (g,) = mpigrad.autograd.grad(fn.apply(x), x, create_graph=True)
    assert not g.requires_grad


@pytest.mark.parametrize(
    ("returned", "kind", "error"),
    [
        (
            lambda: (mpigrad.ones(3), mpigrad.ones(3)),
            RuntimeError,
            r"returned an incorrect number of gradients \(expected 1, got 2\)",
        ),
        (
            lambda: (),
            RuntimeError,
            r"function MadeBackward returned an incorrect number of gradients \(expected 1, got 0\)",
        ),
        (
            lambda: mpigrad.ones(2),
            RuntimeError,
            r"Function MadeBackward returned an invalid gradient at index 0 - got \[2\] but expected shape",
        ),
        (lambda: mpigrad.ones(1), RuntimeError, r"got \[1\] but expected shape compatible with \[3\]"),
        (lambda: 3, RuntimeError, r"expected Variable or None \(got int\)"),
        (lambda: [mpigrad.ones(3)], RuntimeError, r"expected Variable or None \(got list\)"),
        (
            lambda: mpigrad.ones(3, dtype=mpigrad.complex64),
            RuntimeError,
            "a complex one, mpigrad.complex64, for a real input",
        ),
    ],
)
def test_bad_gradients(returned: Any, kind: type[Exception], error: str) -> None:
    x = mpigrad.ones(3, requires_grad=True)
    with pytest.raises(kind, match=error):
        make(lambda ctx, x: x * 2, lambda ctx, grad: returned()).apply(x).sum().backward()


def test_gradients_are_fitted() -> None:
    x = mpigrad.ones(3, requires_grad=True)
    fn = make(lambda ctx, x: x * 2, lambda ctx, grad: (mpigrad.ones(2, 3, dtype=F64), None))
    fn.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0] and x.grad.dtype is mpigrad.float32


def test_a_gradient_for_what_is_no_tensor() -> None:
    fn = make(lambda ctx, x, k: x * k, lambda ctx, grad: (grad, grad))
    with pytest.raises(RuntimeError, match="returned a gradient different from None at position 2"):
        fn.apply(leaf(1.0), 3).backward()


@pytest.mark.parametrize("saved", [3, [1], "x"])
def test_only_tensors_are_saved(saved: Any) -> None:
    with pytest.raises(
        TypeError, match=f"save_for_backward can only save variables, but argument 1 is of type {type(saved).__name__}"
    ):
        make(lambda ctx, x: (ctx.save_for_backward(None, saved), x * 2)[1], None).apply(leaf(1.0))


def test_saved_tensors_afterwards_and_changed() -> None:
    x = leaf(1.0)
    y = Exp.apply(x)
    assert y.grad_fn.saved_tensors[0].item() == y.item()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        _ = y.grad_fn.saved_tensors
    z = Exp.apply(x)
    with mpigrad.no_grad():
        z.mul_(2)
    with pytest.raises(RuntimeError, match="which is output 0 of Exp, is at version 1; expected version 0 instead"):
        z.backward()


def test_incomplete_functions() -> None:
    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class NoForward(Function):
        pass

    class Both(NoBackward):
        @staticmethod
        def vjp(ctx, grad):
            return grad

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        NoBackward.apply(leaf(1.0)).backward()
    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        NoForward.apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(leaf(1.0)).backward()
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = NoBackward()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        instance(leaf(1.0))


def test_names_of_the_engine_are_refused_and_others_are_free() -> None:
    def forward(ctx, x):
        ctx.edges = 3
        return x

    with pytest.raises(AttributeError, match="ctx.edges is used by the engine; give the attribute another name"):
        make(forward, None).apply(leaf(1.0))


def test_backward_inside_backward() -> None:
    class Checkpoint(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with mpigrad.enable_grad():
                y = x * x * x
            y.backward(grad)
            return x.grad

    x = leaf(2.0)
    Checkpoint.apply(Checkpoint.apply(x)).backward()
    assert x.grad.item() == 9 * 2.0**8


@pytest.mark.deadline(60)
def test_deeply_nested_backward() -> None:
    class Nested(Function):
        depth = 0

        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            Nested.depth += 1
            if Nested.depth < 60:
                inner = leaf(1.0)
                with mpigrad.enable_grad():
                    Nested.apply(inner).backward()
                return grad + inner.grad
            return grad

    x = leaf(1.0)
    Nested.apply(x).backward()
    assert x.grad.item() == 60.0 and mpigrad.is_grad_enabled()


def test_what_the_engine_needs_of_a_context_stays() -> None:
    class Forgetful(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.note = 1
            del ctx.note
            del ctx.edges
            return x * 2

    with pytest.raises(AttributeError, match="ctx.edges is used by the engine and cannot be deleted"):
        Forgetful.apply(mpigrad.ones(2, requires_grad=True))


def test_a_node_that_nobody_filled_leads_nowhere() -> None:
    class Own(mpigrad.autograd.graph.Node):
        def run(self, F, grad):
            return ()

    node = Own()
    assert node.next_functions == ()
    mpigrad.autograd.backward(mpigrad.autograd.graph.GradientEdge(node, 0), mpigrad.ones(2))
