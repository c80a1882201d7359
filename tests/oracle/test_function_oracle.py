"""Functions of the user with their own derivatives: programs run twice, with PyTorch and with mpigrad."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.programs import Program, attempt, compare, function, leaf

torch = pytest.importorskip("torch")

PROGRAMS: list[Program] = []


def program(fn: Program) -> Program:
    PROGRAMS.append(fn)
    return fn


@program
def what_forward_may_return(t: Any) -> Any:
    x, found = leaf(t, 1, 2), []
    for out in (
        lambda x: x * 2,
        lambda x: (x * 2,),
        lambda x: (x * 2, 3, None, "a"),
        lambda x: None,
        lambda x: (),
        lambda x: [x * 2],
        lambda x: (x, x * 2),
        lambda x: (x.long(), x * 2),
        lambda x: (x * 2).reshape(2, 1),
    ):
        found.append(function(t, lambda ctx, x, out=out: out(x), lambda ctx, *grads: grads[0]).apply(x))
    return found


@program
def what_backward_may_return(t: Any) -> Any:
    found = []
    for out in (
        lambda: (t.ones(3, dtype=t.float64), None),
        lambda: (t.ones(3), t.ones(3)),
        lambda: (),
        lambda: None,
        lambda: t.ones(3),
        lambda: t.ones(2),
        lambda: t.ones(1),
        lambda: t.ones(2, 3),
        lambda: t.ones(()),
        lambda: t.ones(3, dtype=t.int64),
        lambda: 3,
        lambda: [t.ones(3)],
    ):
        x = t.ones(3, requires_grad=True)
        made = function(t, lambda ctx, x: x * 2, lambda ctx, grad, out=out: out())
        found.append([attempt(made.apply(x).sum().backward), x.grad])
    return found


@program
def contexts(t: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, k: Any = None) -> Any:
        seen.append([ctx.needs_input_grad, t.is_grad_enabled(), ctx.name()])
        ctx.save_for_backward(x, None)
        return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append([ctx.needs_input_grad, t.is_grad_enabled(), ctx.saved_tensors])
        return grad * ctx.saved_tensors[0], None

    made, x = function(t, forward, backward), leaf(t, 1, 2)
    made.apply(x, 3).sum().backward()
    y = made.apply(x, k=3)
    t.autograd.grad(y.sum(), x, create_graph=True)
    with t.no_grad():
        seen.append(made.apply(x, 3))
    seen.append(made.apply(x.detach(), 3))
    seen.append(attempt(lambda: y.grad_fn.saved_tensors[0]))
    return seen, y.grad_fn.name(), type(y.grad_fn).__name__


@program
def freed_contexts(t: Any) -> Any:
    made = function(
        t, lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, grad: grad * ctx.saved_tensors[0]
    )
    y = made.apply(leaf(t, 1))
    y.backward()
    return attempt(y.backward), attempt(lambda: y.grad_fn.saved_tensors)


@program
def missing_gradients(t: Any) -> Any:
    seen: list[Any] = []
    for materialize in (True, False):

        def forward(ctx: Any, x: Any, materialize: bool = materialize) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3, None

        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(grads)
            return None

        two = function(t, lambda ctx, x, f=forward: f(ctx, x), backward)
        x = leaf(t, 1)
        two.apply(two.apply(x)[0])[1].backward()
        seen.append(x.grad)
    return seen


@program
def dirty_inputs(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        x.mul_(2)
        return x

    made, x = function(t, forward, lambda ctx, grad: grad * 2), leaf(t, 1, 2)
    y = x * 1
    z = made.apply(y)
    after = [z is y, y.grad_fn.name(), y._version]
    base = x * 1
    made.apply(base[:1])
    (base.sum() + z.sum()).backward()
    forgets = function(t, lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1], None)
    return after, x.grad, base, attempt(lambda: made.apply(leaf(t, 1))), attempt(lambda: forgets.apply(x * 1))


@program
def outputs_without_gradient(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y, x * 3

    seen: list[Any] = []
    made, x = function(t, forward, lambda ctx, a, b: (seen.append([a, b]), b * 3)[1]), leaf(t, 1)
    a, b = made.apply(x)
    b.backward()
    return a, b, seen, x.grad


@program
def once(t: Any) -> Any:
    wrap = t.autograd.function.once_differentiable
    made, x, seed = function(t, lambda ctx, x: x * 2, wrap(lambda ctx, grad: grad * 2)), leaf(t, 1), leaf(t, 1)
    (g,) = t.autograd.grad(made.apply(x), x, create_graph=True)
    (h,) = t.autograd.grad(made.apply(x), x, seed, create_graph=True)
    return g, h, attempt(h.backward)


@program
def returned_inputs(t: Any) -> Any:
    made, x = function(t, lambda ctx, x: x, lambda ctx, grad: grad * 5), leaf(t, 1)
    y = made.apply(x)
    found = [y is x, y._is_view(), y._base is x, attempt(lambda: y.mul_(2))]
    y.sum().backward()
    return found, x.grad


@program
def incomplete(t: Any) -> Any:
    class NoBackward(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    class NoForward(t.autograd.Function):
        pass

    class Both(NoBackward):
        @staticmethod
        def vjp(ctx: Any, grad: Any) -> Any:
            return grad

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    return [
        attempt(lambda: NoBackward.apply(leaf(t, 1)).backward()),
        attempt(lambda: NoForward.apply(leaf(t, 1))),
        attempt(lambda: Both.apply(leaf(t, 1)).backward()),
        attempt(lambda: function(t, lambda ctx, x: (ctx.save_for_backward(3), x)[1], None).apply(leaf(t, 1))),
    ]


@program
def separate_context(t: Any) -> Any:
    seen: list[Any] = []

    class Power(t.autograd.Function):
        @staticmethod
        def forward(x: Any, k: Any = 3) -> Any:
            return x**k

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            seen.append([inputs, output, t.is_grad_enabled()])
            ctx.k = inputs[1]
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * ctx.k * x ** (ctx.k - 1), None

    x = leaf(t, 2)
    (g,) = t.autograd.grad(Power.apply(x), x, create_graph=True)
    (h,) = t.autograd.grad(g, x)
    return seen, g, h


@pytest.mark.parametrize("fn", PROGRAMS, ids=[fn.__name__ for fn in PROGRAMS])
@pytest.mark.filterwarnings("ignore")
def test_program_does_the_same(fn: Program) -> None:
    compare(fn, torch)
