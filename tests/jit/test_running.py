"""Running graphs: what is folded, shared, dropped and fused, and that none of it shows in results."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
from mpigrad.testing import FileCheck


def chain(x, y):
    return mpigrad.sigmoid(x * 2 + y) * mpigrad.tanh(y - x) / (x * x + 1.0) + 2 - mpigrad.relu(y)


@pytest.mark.parametrize("shape", [(3,), (7, 5), (0,), (), (300, 301), (600, 601), (263_000,)], ids=str)
@pytest.mark.parametrize("dtype", [mpigrad.float32, mpigrad.float64])
def test_fused_chains_give_the_same_bits(shape, dtype) -> None:
    scripted = mpigrad.jit.script(chain)
    FileCheck().check_count("prim::FusionGroup", 1, exactly=True).check_not("aten::mul").run(scripted.graph_for())
    x, y = mpigrad.randn(*shape, dtype=dtype), mpigrad.randn(*shape, dtype=dtype)
    kept = x.clone(), y.clone()
    assert np.array_equal(scripted(x, y).numpy(), chain(x, y).numpy())
    assert mpigrad.equal(x, kept[0]) and mpigrad.equal(y, kept[1])


@pytest.mark.parametrize("kind", ["broadcast", "ints", "mixed", "transposed", "parameter"])
def test_what_cannot_be_fused_runs_as_written(kind) -> None:
    scripted = mpigrad.jit.script(chain)
    x, y = mpigrad.randn(4, 4), mpigrad.randn(4, 4)
    x, y = {
        "broadcast": (x, y[0]), "ints": (mpigrad.arange(4), mpigrad.arange(4)), "mixed": (x, y.double()),
        "transposed": (mpigrad.randn(600, 600).t(), mpigrad.randn(600, 600)), "parameter": (mpigrad.nn.Parameter(x), y),
    }[kind]  # fmt: skip
    found, wanted = scripted(x, y), chain(x, y)
    assert found.dtype is wanted.dtype and np.array_equal(found.detach().numpy(), wanted.detach().numpy())
    assert found.requires_grad == wanted.requires_grad


def test_gradients_go_through_fused_chains() -> None:
    scripted = mpigrad.jit.script(chain)
    x, y = mpigrad.randn(5, requires_grad=True), mpigrad.randn(5, requires_grad=True)
    first = mpigrad.autograd.grad(chain(x, y).sum(), (x, y))
    second = mpigrad.autograd.grad(scripted(x, y).sum(), (x, y))
    assert all(mpigrad.equal(a, b) for a, b in zip(first, second))
    with mpigrad.no_grad():
        assert not scripted(x, y).requires_grad


def test_common_subexpressions_run_once_and_constants_are_folded() -> None:
    def twice(x, n: int):
        return mpigrad.matmul(x, x).sum() + mpigrad.matmul(x, x).sum() * (2 * 3 + 1)

    scripted = mpigrad.jit.script(twice)
    FileCheck().check_count("aten::matmul", 2, exactly=True).run(scripted.graph)
    FileCheck().check_count("aten::matmul", 1, exactly=True).run(scripted.graph_for())
    FileCheck().check("value=7").run(scripted.graph_for())
    assert scripted(mpigrad.ones(2, 2), 1).item() == twice(mpigrad.ones(2, 2), 1).item()


def test_nothing_is_shared_where_it_could_be_seen() -> None:
    def changed(x):
        a = x + 1
        b = x + 1
        a.add_(5)
        return a, b

    def reread(x):
        first = x + 1
        x.add_(1)
        return first, x + 1

    def returned(x):
        return x + 1, x + 1

    def random(x):
        return mpigrad.rand(3), mpigrad.rand(3)

    for function in (changed, reread):
        scripted = mpigrad.jit.script(function)
        found, wanted = scripted(mpigrad.ones(2)), function(mpigrad.ones(2))
        assert [each.tolist() for each in found] == [each.tolist() for each in wanted]
    a, b = mpigrad.jit.script(returned)(mpigrad.ones(2))
    assert a is not b and a.data_ptr() != b.data_ptr()
    a, b = mpigrad.jit.script(random)(mpigrad.ones(2))
    assert not mpigrad.equal(a, b)


def test_errors_of_unused_operators_stay() -> None:
    def unused(x, y):
        x @ y
        return x

    with pytest.raises(RuntimeError, match="multiplied"):
        mpigrad.jit.script(unused)(mpigrad.ones(2, 3), mpigrad.ones(2, 3))


def squares(xs: list[int]) -> int:
    total = 0
    for x in xs:
        total += x * x
    return total


def growing(xs: list[int]) -> list[int]:
    for x in xs:
        xs.append(x + 1)
    return xs


def replaced(xs: list[int]) -> int:
    total = 0
    for x in xs:
        xs = [x]
        total += x
    return total


def early(xs: list[int]) -> int:
    for x in xs:
        if x > 2:
            return x
    return 0


def test_a_loop_goes_through_the_list_itself_where_nothing_changes_it() -> None:
    scripted = [mpigrad.jit.script(each) for each in (squares, growing, replaced, early)]
    assert [each([1, 2, 3]) for each in scripted] == [14, [1, 2, 3, 2, 3, 4], 6, 3]
    assert "range(" not in scripted[0]._record._text and "range(" in scripted[1]._record._text
    for each in scripted:
        assert "aten::__getitem__" in str(each.graph)  # the graph stays PyTorch's


def test_long_lists_are_checked_and_their_elements_converted() -> None:
    @mpigrad.jit.script
    def total(xs: list[float], by: dict[str, int]) -> float:
        return sum(xs) + by["a"]

    assert total([1.0, 2.0], {"a": 1}) == total([1, 2], {"a": 1}) == total((1.0, 2), {"a": 1}) == 4.0
    for bad in (([1.0, "x"], {"a": 1}), ([1.0], {"a": "x"}), ([1.0], {1: 1}), ([True], {"a": 1})):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            total(*bad)
