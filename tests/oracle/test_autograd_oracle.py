"""Hooks, gradients and complaints of backward: programs run twice, with PyTorch and with mpigrad."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import mpigrad
from tests.oracle.programs import Program, attempt, compare, leaf

torch = pytest.importorskip("torch")

PROGRAMS: list[Program] = []


def program(fn: Program) -> Program:
    PROGRAMS.append(fn)
    return fn


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


@pytest.mark.parametrize("fn", PROGRAMS, ids=[fn.__name__ for fn in PROGRAMS])
@pytest.mark.filterwarnings("ignore")
def test_program_does_the_same(fn: Program) -> None:
    compare(fn, torch)
