"""Programs run twice, with PyTorch and with mpigrad: the same numbers, the same names, the same complaints."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")

PROGRAMS: list[Callable[[Any], Any]] = []


def program(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(fn)
    return fn


def leaf(t: Any, *values: float) -> Any:
    return t.tensor(values, dtype=t.float64, requires_grad=True)


def attempt(fn: Callable[[], Any]) -> Any:
    try:
        return fn()
    except Exception as error:
        return type(error).__name__, str(error)


def plain(t: Any, value: Any) -> Any:
    """A result without objects of either library."""
    if isinstance(value, t.Tensor):
        return (
            "tensor",
            str(value.dtype).split(".")[-1],
            tuple(value.shape),
            value.requires_grad,
            value.detach().tolist(),
        )
    if isinstance(value, (list, tuple)):
        return [plain(t, each) for each in value]
    if isinstance(value, dict):
        return {key: plain(t, each) for key, each in value.items()}
    if isinstance(value, str):
        return re.sub(r"0x[0-9a-f]+", "0x", value).replace("torch", "mpigrad")
    return value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return bool(np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))
    return bool(a == b)


# -- hooks and gradients
# ------------------------------------------------------------------------------------------------
@program
def tensor_hooks(t: Any) -> Any:
    x, seen = leaf(t, 1, 2), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    y.register_hook(lambda grad: seen.append(grad))
    z = y * y
    z.sum().backward()
    return x.grad, y.grad, seen, y.grad_fn.name(), z.grad_fn.name(), y.is_leaf, y.retains_grad


@program
def node_hooks(t: Any) -> Any:
    x, seen = leaf(t, 1, 2), []
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: seen.append(list(grads)) or (grads[0] * 3,))
    y.grad_fn.register_hook(lambda ins, outs: seen.append([ins, outs]) or (ins[0] + 1, None))
    y.sum().backward()
    return x.grad, seen


@program
def bad_hooks(t: Any) -> Any:
    found = []
    for returned in (3, (1,)):
        y = leaf(t, 1) * 2
        y.register_hook(lambda grad, returned=returned: returned)
        found.append(attempt(y.sum().backward))
        y = leaf(t, 1) * 2
        y.grad_fn.register_hook(lambda ins, outs, returned=returned: returned)
        found.append(attempt(y.sum().backward))
    return found


@program
def hooks_where_none_can_be(t: Any) -> Any:
    plain_one = t.ones(1)
    return [
        attempt(lambda: plain_one.register_hook(print)),
        attempt(plain_one.retain_grad),
        attempt(lambda: plain_one.register_post_accumulate_grad_hook(print)),
        attempt(lambda: (leaf(t, 1) * 2).register_post_accumulate_grad_hook(print)),
    ]


@program
def hooks_and_in_place(t: Any) -> Any:
    x, seen = leaf(t, 1, 2), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: seen.append(grad))
    y.mul_(3)
    y.sum().backward()
    return x.grad, y.grad, seen, y._version, y.grad_fn.name()


@program
def inputs_of_backward(t: Any) -> Any:
    x, w, posts = leaf(t, 1, 2), leaf(t, 3, 4), []
    x.register_post_accumulate_grad_hook(lambda p: posts.append(p.grad.clone()))
    y = x * w
    (y * y).sum().backward(inputs=[x, y], retain_graph=True)
    first = [x.grad.clone(), w.grad, y.grad.clone()]
    (y * y).sum().backward(inputs=[w, w])
    return first, x.grad, w.grad, posts


@program
def complaints_of_backward(t: Any) -> Any:
    x, n = leaf(t, 1, 2), t.ones(2)
    y = x * 2
    z = (x * x).sum()
    z.backward()
    return [
        attempt(fn)
        for fn in (
            lambda: y.backward(),
            lambda: y.backward(t.ones(3)),
            lambda: y.backward(3),
            lambda: n.sum().backward(),
            lambda: t.autograd.backward([y, y], [t.ones(2)]),
            lambda: y.sum().backward(inputs=[]),
            lambda: y.sum().backward(inputs=[n]),
            lambda: y.sum().backward(inputs=[3]),
            lambda: t.autograd.grad(y.sum(), []),
            lambda: t.autograd.grad(y.sum(), n),
            lambda: t.autograd.grad(y.sum(), leaf(t, 1)),
            lambda: t.autograd.grad(y.sum(), [x, leaf(t, 1)]),
            lambda: t.autograd.grad(y.sum(), x, allow_unused=False, materialize_grads=True),
            lambda: z.backward(),
            lambda: x.add_(1),
            lambda: x[0].add_(1),
            lambda: (t.ones(0, requires_grad=True) * 2).backward(),
            lambda: (t.ones((), dtype=t.complex64, requires_grad=True) * 2).backward(),
            lambda: x.requires_grad_(False) is x and y.requires_grad_(False),
            lambda: t.ones(2, dtype=t.int64).requires_grad_(),
        )
    ]


@program
def complaints_of_changed_tensors(t: Any) -> Any:
    found = []
    for make in (lambda x: x.exp(), lambda x: x * 1, lambda x: x.sigmoid()):
        x = leaf(t, 1, 2)
        y = make(x)
        z = y * y
        y.add_(1)
        found.append(attempt(z.sum().backward))
        y = make(x)
        with t.no_grad():
            y.mul_(2)
        found.append(attempt(y.sum().backward))
    return found


@program
def higher_orders(t: Any) -> Any:
    x = leaf(t, 0.3, -0.7)
    y = (x.exp() * x.sin() * x).sum()
    grads = []
    for _ in range(4):
        (y,) = t.autograd.grad(y.sum(), x, create_graph=True)
        grads.append(y.detach())
    return grads


@program
def grad_with_create_graph_into_leaves(t: Any) -> Any:
    x = leaf(t, 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x * x * x).sum().backward(create_graph=True)
    first = x.grad
    (first * first).sum().backward()
    return first.detach(), x.grad is first


@program
def accumulating(t: Any) -> Any:
    x = leaf(t, 1, 2)
    (x * 2).sum().backward()
    kept = x.grad
    (x * 3).sum().backward()
    return x.grad, kept is x.grad, kept._version if t is mpigrad else 1


@program
def names_of_nodes(t: Any) -> Any:
    x = leaf(t, 1, 2)
    made = [
        x + 1,
        x - x,
        x * x,
        x / x,
        -x,
        x.exp(),
        x.sum(),
        x.mean(),
        x[0],
        x.reshape(2, 1),
        x.clone(),
        x.expand(3, 2),
        x.unsqueeze(0),
    ]
    return [each.grad_fn.name() for each in made], made[2].grad_fn.next_functions[0][0].name(), repr(made[2].grad_fn)


# -- functions
# -------------------------------------------------------------------------------------------------------------
def function(t: Any, forward: Any, backward: Any) -> Any:
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (t.autograd.Function,), body)


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


# -- the rest of the package
# -----------------------------------------------------------------------------------------------
@program
def derivatives_of_functions(t: Any) -> Any:
    f = t.autograd.functional
    x, y = t.tensor([0.5, 1.5], dtype=t.float64), t.tensor([2.0, -1.0], dtype=t.float64)

    def scalar(a: Any, b: Any) -> Any:
        return (a * a * b.exp()).sum()

    def many(a: Any, b: Any) -> Any:
        return a * b, (a.exp() * b).sum()

    return [
        f.jacobian(many, (x, y)),
        f.jacobian(lambda a: a.exp().sum(), x),
        f.jacobian(lambda a: a * a, x, create_graph=True),
        f.hessian(scalar, (x, y)),
        f.vjp(many, (x, y), (x, t.tensor(2.0, dtype=t.float64))),
        f.jvp(many, (x, y), (x, y)),
        f.hvp(scalar, (x, y), (y, x)),
        f.vhp(scalar, (x, y), (y, x)),
        attempt(lambda: f.vjp(many, (x, y))),
        attempt(lambda: f.vjp(lambda a: a, x, t.ones(3))),
        attempt(lambda: f.hessian(lambda a: a, x)),
        attempt(lambda: f.jacobian(lambda a: t.ones(2), x, strict=True)),
    ]


@program
def checks(t: Any) -> Any:
    check, second = t.autograd.gradcheck, t.autograd.gradgradcheck
    z = t.tensor([1 + 2j, -0.5 + 0.3j], dtype=t.complex128, requires_grad=True)
    bad = function(t, lambda ctx, x: x * x, lambda ctx, grad: grad)
    return [
        check(lambda x: x * x, leaf(t, 1, 2)),
        second(lambda x: x * x, leaf(t, 1, 2)),
        check(lambda z: z * z, z),
        second(lambda z: z * z.conj(), z),
        check(bad.apply, leaf(t, 1, 2), raise_exception=False),
        attempt(lambda: check(bad.apply, leaf(t, 1, 2)))[0],
        attempt(lambda: check(lambda x: x, t.ones(1))),
        attempt(lambda: check(lambda x: x.detach() * 2, leaf(t, 1))),
    ]


@program
def packed_saved_tensors(t: Any) -> Any:
    packed: list[Any] = []
    x = leaf(t, 2, 3)
    with t.autograd.graph.saved_tensors_hooks(lambda each: packed.append(each.detach()) or each, lambda each: each * 2):
        y = x * x
    y.sum().backward()
    return packed, x.grad


@program
def anomalies(t: Any) -> Any:
    x = t.tensor([-1.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with t.autograd.detect_anomaly():
            return attempt(x.sqrt().backward)


@program
def modes(t: Any) -> Any:
    x, seen = t.ones(1, requires_grad=True), []

    @t.no_grad()
    def unrecorded() -> bool:
        return (x * 2).requires_grad

    @t.no_grad()
    def generator() -> Any:
        for _ in range(2):
            yield t.is_grad_enabled()

    with t.no_grad():
        seen.append((x * 2).requires_grad)
        with t.enable_grad():
            seen.append((x * 2).requires_grad)
        with t.set_grad_enabled(True):
            seen.append(t.is_grad_enabled())
        seen.append(t.is_grad_enabled())
    seen += [unrecorded(), t.is_grad_enabled(), list(generator())]
    with t.inference_mode():
        y = x * 2
        seen += [y.is_inference(), t.is_inference_mode_enabled(), y.requires_grad]
    seen.append(attempt(lambda: y * x))
    seen.append(attempt(lambda: y.add_(1))[1][:70])
    t.set_grad_enabled(False)
    seen.append(t.is_grad_enabled())
    t.set_grad_enabled(True)
    return seen


@pytest.mark.parametrize("fn", PROGRAMS, ids=[fn.__name__ for fn in PROGRAMS])
@pytest.mark.filterwarnings("ignore")
def test_program_does_the_same(fn: Callable[[Any], Any]) -> None:
    expected, found = plain(torch, fn(torch)), plain(mpigrad, fn(mpigrad))
    assert same(expected, found), f"\nPyTorch: {expected}\nmpigrad: {found}"
