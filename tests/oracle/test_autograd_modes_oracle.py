"""Derivatives of functions, checks, saved tensors, anomalies, modes: programs run twice, with PyTorch and with mpigrad."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.oracle.programs import Program, attempt, compare, function, leaf

torch = pytest.importorskip("torch")

PROGRAMS: list[Program] = []


def program(fn: Program) -> Program:
    PROGRAMS.append(fn)
    return fn


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
def test_program_does_the_same(fn: Program) -> None:
    compare(fn, torch)
