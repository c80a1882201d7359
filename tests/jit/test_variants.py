"""Operators of compiled graphs run as variants of their own: with the same results, nodes and errors as the operators."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
from mpigrad import nn
from mpigrad._core.tensor import wrap_as


def plus(x, y):
    return x + y


def minus(x, y):
    return mpigrad.sub(x, y)


def times(x, y):
    return x.mul(y)


def over(x, y):
    return x / y


def product(x, y):
    return x @ y


def shifted(x):
    return 3 + x


def scaled(x):
    return x * 0.1


def divided(x):
    return x / 3


def lessened(x):
    return x - 2


def by(x, n: float):
    return x * n


def by_int(x, n: int):
    return x - n


def rooted(x):
    return mpigrad.sqrt(mpigrad.exp(x))


def rectified(x):
    return mpigrad.relu(x)


def logarithm(x):
    return x.abs().log()


def negated(x):
    return mpigrad.neg(x)


def total(x):
    return x.sum()


def average(x):
    return mpigrad.mean(x)


def first(x):
    return x[0]


def last_of(x, n: int):
    return x[n]


def flat(x):
    return x.view(-1)


def squared(x):
    return x.reshape(4, 4)


def pairs(x):
    return x.reshape(-1, 2)


def refused(x):
    return x.view(3, 5)


TWO, NUMBER, ONE = (plus, minus, times, over, product), ((by, 0.3), (by_int, 4), (last_of, -1), (last_of, 9), (last_of, True)), (
    shifted, scaled, divided, lessened, rooted, rectified, logarithm, negated, total, average,
    first, flat, squared, pairs, refused,
)  # fmt: skip
KINDS = {
    "float32": lambda: mpigrad.randn(4, 4),
    "float64": lambda: mpigrad.randn(4, 4, dtype=mpigrad.float64),
    "half": lambda: mpigrad.randn(4, 4).half(),
    "int": lambda: mpigrad.arange(16).reshape(4, 4) + 1,
    "complex": lambda: mpigrad.complex(mpigrad.randn(4, 4), mpigrad.randn(4, 4)),
    "scalar": lambda: mpigrad.tensor(2.5),
    "empty": lambda: mpigrad.randn(0, 4),
    "transposed": lambda: mpigrad.randn(4, 4).t(),
    "parameter": lambda: nn.Parameter(mpigrad.randn(4, 4)),
    "recorded": lambda: mpigrad.randn(4, 4, requires_grad=True),
    "inside a graph": lambda: mpigrad.randn(4, 4, requires_grad=True).exp(),
    "recorded view": lambda: mpigrad.randn(16, requires_grad=True).exp().view(4, 4),
    "sparse": lambda: mpigrad.eye(4).to_sparse(),
}


def outcome(function, *args):
    """The result as plain values, with its place in the graph; or the error's type and first line."""
    try:
        made = function(*args)
    except Exception as error:
        text = str(error.__cause__ or error)
        return type(error.__cause__ or error), text.splitlines()[0]
    return made.dtype, made.shape, bits(made), made.requires_grad, described(made.grad_fn)


def bits(tensor):
    plain = None if tensor is None else tensor.detach()
    return None if plain is None else (plain.to_dense() if plain.is_sparse else plain).cpu().numpy().tobytes()


def described(node):
    if node is None:
        return None
    titles = [each for each in dir(node) if each.startswith("_saved_")]
    saved = {each: bits(getattr(node, each)) for each in titles}
    return node.name(), saved, [None if edge[0] is None else (edge[0].name(), edge[1]) for edge in node.next_functions]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mode", ["grad", "no_grad", "inference_mode", "profiled"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_operand_gives_what_the_operators_give(kind, mode) -> None:
    around = {"grad": mpigrad.enable_grad, "no_grad": mpigrad.no_grad, "inference_mode": mpigrad.inference_mode,
              "profiled": mpigrad.autograd.profiler.profile}[mode]  # fmt: skip
    x = KINDS[kind]()
    calls = [(each, (x,)) for each in ONE] + [(each, (x, number)) for each, number in NUMBER]
    calls += [(each, (x, KINDS[other]())) for each in TWO for other in KINDS]
    with around():
        for function, args in calls:
            plain, scripted = outcome(function, *args), outcome(mpigrad.jit.script(function), *args)
            assert plain == scripted, (function.__name__, kind, mode)


@pytest.mark.parametrize("dtype", [mpigrad.float32, mpigrad.float64])
@pytest.mark.parametrize("function", [*TWO, *ONE[:-3]], ids=lambda each: each.__name__)
def test_gradients_of_any_order_are_the_operators(function, dtype) -> None:
    scripted = mpigrad.jit.script(function)
    args = [(mpigrad.rand(3, 3, dtype=dtype) + 0.5).requires_grad_() for _ in range(2 if function in TWO else 1)]
    found = []
    for each in (function, scripted):
        first = mpigrad.autograd.grad((each(*args) * 1.5).sum(), args, create_graph=True)
        leads = [one for one in first if one.requires_grad]
        second = mpigrad.autograd.grad(sum((one * one).sum() for one in leads), args, allow_unused=True) if leads else []
        found.append([bits(one) for one in (*first, *second)])
    assert found[0] == found[1]


def test_what_was_saved_is_guarded_against_changes() -> None:
    for function in (times, over):
        x, y = mpigrad.ones(2, requires_grad=True), mpigrad.ones(2)
        out = mpigrad.jit.script(function)(x, y).sum()
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()
    x = mpigrad.ones(2, requires_grad=True)
    made = mpigrad.jit.script(rooted)(x)
    made.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()
    with mpigrad.inference_mode():
        hidden = mpigrad.ones(2)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        mpigrad.jit.script(times)(x, hidden)


def test_constants_stay_what_they_are() -> None:
    scripted = mpigrad.jit.script(scaled)
    x = mpigrad.ones(2, requires_grad=True)
    saved = scripted(x).grad_fn._saved_other
    with pytest.raises((RuntimeError, ValueError, TypeError)):  # a scalar beside arrays of a GPU, a read-only array else
        saved.add_(1)
    assert np.allclose(scripted(x).detach().cpu().numpy(), 0.1)


def test_functions_whose_code_looks_the_same_are_told_apart_in_errors() -> None:
    x, y = mpigrad.ones(2), mpigrad.ones(3)
    for function, text in ((plus, "x + y"), (product, "x @ y"), (over, "x / y"), (plus, "x + y")):
        with pytest.raises(RuntimeError) as caught:
            mpigrad.jit.script(function)(x, y)
        assert f"in {function.__name__}\n" in str(caught.value) and f"return {text}" in str(caught.value)


class Box(mpigrad.Tensor):
    """A tensor of another class, with an operator of its own."""

    def __add__(self, other):
        return mpigrad.add(self, other, alpha=10)


def test_tensors_of_other_classes_go_to_the_operators() -> None:
    x = wrap_as(Box, mpigrad.ones(2)._array)
    for function in (plus, times):
        assert mpigrad.jit.script(function)(x, mpigrad.ones(2)).tolist() == function(x, mpigrad.ones(2)).tolist()
    assert mpigrad.jit.script(scaled)(x).tolist() == scaled(x).tolist()
