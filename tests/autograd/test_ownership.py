"""Gradients never share memory: changing one in place changes no other, nor what the user or the graph holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mpigrad
from mpigrad._core import objects

COMPILED = not objects.__file__.endswith(".py")  # plain Python does not know who holds an array, and copies
F64 = mpigrad.float64


def fresh(*values: float) -> mpigrad.Tensor:
    return mpigrad.tensor(values, dtype=F64, requires_grad=True)


def memories(tensors: list[mpigrad.Tensor]) -> list[np.ndarray]:
    return [tensor._array for tensor in tensors]


def assert_apart(arrays: list[np.ndarray]) -> None:
    for i, one in enumerate(arrays):
        for other in arrays[i + 1 :]:
            assert not np.shares_memory(one, other)


def test_one_gradient_for_two_leaves() -> None:
    x, y, given_grad = fresh(1.0, 2.0), fresh(3.0, 4.0), mpigrad.ones(2, dtype=F64)
    (x + y).backward(given_grad)
    assert_apart(memories([x.grad, y.grad, given_grad]))
    x.grad.mul_(5)
    assert y.grad.tolist() == given_grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_twice_the_same_leaf_and_another(create_graph: bool) -> None:
    x, y = fresh(1.0), fresh(2.0)
    (x + y + x).backward(create_graph=create_graph)
    assert x.grad is not y.grad
    assert_apart(memories([x.grad, y.grad]))


def test_views_of_one_gradient() -> None:
    x, y = fresh(1.0, 2.0, 3.0), fresh(4.0, 5.0, 6.0)
    whole = mpigrad.cat([x, y])
    seed = mpigrad.ones(6, dtype=F64)
    whole.backward(seed)
    assert_apart(memories([x.grad, y.grad, seed]))
    assert getattr(x.grad._array.flags, "writeable", True) and x.grad.is_contiguous()


def test_expanded_gradients_become_real_memory() -> None:
    x = fresh(1.0, 2.0)
    x.sum().backward()
    assert x.grad._array.strides == (8,)
    x.grad[0] = 7.0
    assert x.grad.tolist() == [7.0, 1.0]


def test_hooks_that_keep_gradients() -> None:
    x, kept = fresh(1.0, 2.0), []
    x.register_hook(lambda grad: kept.append(grad))
    y = x * 1.0
    y.register_hook(lambda grad: kept.append(grad))
    y.retain_grad()
    (y + 0.0).backward(mpigrad.ones(2, dtype=F64))
    x.grad.zero_()
    assert [grad.tolist() for grad in kept] == [[1.0, 1.0], [1.0, 1.0]]
    y.grad.zero_()
    assert [grad.tolist() for grad in kept] == [[1.0, 1.0], [1.0, 1.0]]


def test_a_function_that_keeps_or_returns_what_it_should_not() -> None:
    kept = []

    class Keeps(mpigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            kept.append(grad)
            ctx.mine = grad * 3
            kept.append(ctx.mine)
            return grad, ctx.mine

    x, y = fresh(1.0), fresh(2.0)
    Keeps.apply(x, y).backward()
    x.grad.zero_()
    y.grad.zero_()
    assert [each.item() for each in kept] == [1.0, 3.0]


def test_gradients_are_added_in_place_and_keep_their_tensor() -> None:
    x = fresh(1.0, 2.0)
    (x * 2).sum().backward()
    grad, array = x.grad, x.grad._array
    (x * 3).sum().backward()
    assert x.grad is grad and x.grad._array is array
    assert grad.tolist() == [5.0, 5.0]


def test_the_engine_takes_over_what_only_it_holds() -> None:
    """Copies would be right too, but cost time and memory: this is what the counting is for."""
    made = []

    class Makes(mpigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            out = grad * 2
            made.append(out.data_ptr())
            return out

    x = fresh(*range(100))
    Makes.apply(x).sum().backward()
    assert (x.grad.data_ptr() == made[0]) is COMPILED


OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a + 1.0,
    lambda a, b: -a,
    lambda a, b: a.reshape(3, 2).reshape(6),
    lambda a, b: mpigrad.cat([a[:3], b[3:]]),
    lambda a, b: a.reshape(2, 3).t().reshape(6),
    lambda a, b: a.sum().expand(6),
    lambda a, b: mpigrad.stack([a, b]).sum(0),
    lambda a, b: a.clone(),
    lambda a, b: (a - b) * (b + 1.0),
    lambda a, b: (a * b) * (a - b),
    lambda a, b: (a * 0.5) * (a.detach() * 0.5),
]
PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(OPERATIONS) - 1), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12
)


@settings(max_examples=150, deadline=None)
@given(PROGRAMS, st.integers(0, 3), st.booleans())
def test_random_programs_share_nothing(program: list[tuple[int, int, int]], leaves: int, twice: bool) -> None:
    pool = [fresh(*np.arange(1.0, 7.0) * (i + 1)) for i in range(leaves + 2)]
    roots, seen = list(pool), []
    values = list(pool)
    for which, i, j in program:
        made = OPERATIONS[which](values[i % len(values)], values[j % len(values)])
        made.register_hook(seen.append)
        values.append(made)
    seeds = [mpigrad.ones(6, dtype=F64) for _ in (0, 1)]
    tops = [values[-1], values[-1 - len(program) // 2]]
    before = [leaf._array.copy() for leaf in roots]
    mpigrad.autograd.backward(tops, seeds, retain_graph=True)
    if twice:
        mpigrad.autograd.backward(tops, seeds)
    grads = [leaf.grad for leaf in roots if leaf.grad is not None]
    snapshots = [grad._array.copy() for grad in seen]
    assert_apart([*memories(grads), *memories(roots)])
    assert_apart([*memories(grads)[:1], *memories(seeds)])
    for grad in grads:
        others = [other for other in grads if other is not grad]
        values_before = [other.tolist() for other in others]
        grad.fill_(123.0)
        assert [other.tolist() for other in others] == values_before
    assert all((a == b).all() for a, b in zip(before, memories(roots)))
    assert all((seed._array == 1).all() for seed in seeds)
    assert all(np.array_equal(shot, grad._array) for shot, grad in zip(snapshots, seen))


def gradients(program: list[tuple[int, int, int]], hooked: set[int], large: int) -> list[list[float]]:
    """The gradients of a program's leaves, with sums in place (and views that repeat numbers) from so many elements on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mpigrad._core.engine._LARGE", large)
        patch.setattr("mpigrad._ops.reduce.sums._LARGE", large)
        patch.setattr("mpigrad._ops.elementwise.arithmetic._LARGE", large)
        leaves = [fresh(*np.arange(1.0, 7.0) * (i + 1)) for i in range(3)]
        values, seen = list(leaves), []
        for nth, (which, i, j) in enumerate(program):
            values.append(OPERATIONS[which](values[i % len(values)], values[j % len(values)]))
            if nth in hooked:
                values[-1].register_hook(lambda grad: seen.append((grad, grad.tolist())))
        seed = mpigrad.ones(6, dtype=F64)
        total = sum(((each * each).sum() for each in values[3:]), mpigrad.zeros((), dtype=F64))
        mpigrad.autograd.backward([values[-1], total], [seed, None], retain_graph=True)
        saved = [each.tolist() for each in values]
        mpigrad.autograd.backward([values[-1], total], [seed, None])
        assert [each.tolist() for each in values] == saved and seed.tolist() == [1.0] * 6
        assert all(grad.tolist() == before for grad, before in seen)
        return [[] if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]


@settings(max_examples=150, deadline=None)
@given(PROGRAMS, st.sets(st.integers(0, 11)))
def test_sums_in_place_are_the_same_sums(program: list[tuple[int, int, int]], hooked: set[int]) -> None:
    assert gradients(program, hooked, large=1) == gradients(program, hooked, large=1 << 60)


@pytest.mark.host
def test_a_large_sum_takes_no_memory_of_its_own() -> None:
    """A copy would be right too: this is what the counting is for."""
    x = mpigrad.ones(1 << 14, requires_grad=True)
    made = []

    class Makes(mpigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            out = grad * 2
            made.append(out.data_ptr())
            return out

    y = x * 1.0
    (Makes.apply(y) * Makes.apply(y)).sum().backward()
    assert len(made) == 2 and x.grad.tolist()[:2] == [8.0, 8.0]
    arrived = []
    y = x * 1.0
    y.register_hook(lambda grad: arrived.append(grad.data_ptr()))
    made.clear()
    (Makes.apply(y) * Makes.apply(y)).sum().backward()
    assert (arrived[0] in made) is COMPILED


@pytest.mark.host
def test_a_large_product_writes_over_factors_that_only_it_holds() -> None:
    x = mpigrad.ones(1 << 14, requires_grad=True)
    first, second = x * 2.0, x * 3.0
    places, gone, kept = [first.data_ptr(), second.data_ptr()], [], second
    arrived = []
    for factor in (first, second):
        factor.grad_fn.register_prehook(lambda grads: arrived.append(grads[0].data_ptr()))
    product = (first * second).sum()
    gone.append(first)
    del first, factor, gone
    product.backward()
    assert (places[0] in arrived) is COMPILED and places[1] not in arrived
    assert kept.tolist()[:2] == [3.0, 3.0] and x.grad.tolist()[:2] == [12.0, 12.0]


@pytest.mark.parametrize("holder", ["view", "array", "graph", "saved"])
def test_factors_that_somebody_holds_stay_as_they_are(holder: str) -> None:
    x = mpigrad.ones(1 << 14, requires_grad=True)
    factor = x + 1.0
    held = {"view": factor[1:], "array": factor.detach().numpy(), "graph": factor.exp(), "saved": factor * factor}[holder]
    product = (factor * (x + 2.0)).sum()
    del factor
    product.backward()
    if holder in ("graph", "saved"):
        x.grad = None
        held.sum().backward()
        np.testing.assert_allclose(x.grad.numpy()[:2], 4.0 if holder == "saved" else np.exp(2.0), rtol=1e-6)
    else:
        assert held.tolist()[:2] == [2.0, 2.0]


def test_a_changed_factor_is_found_before_anything_is_written_over() -> None:
    x = mpigrad.ones(1 << 14, requires_grad=True)
    changed, seed = x * 2.0, mpigrad.ones(1 << 14)
    product = changed * (x * 3.0)
    changed.add_(1.0)
    for _ in (0, 1):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward(seed)
    assert changed.tolist()[:2] == [3.0, 3.0] and x.grad is None
    product = (x * 2.0) * (x * 3.0)
    product.backward(seed)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        product.backward(seed)


def test_large_gradients_that_repeat_one_number_are_memory_to_users() -> None:
    x, kept = mpigrad.ones(1 << 14, requires_grad=True), []
    y = x * 3.0
    (found,) = mpigrad.autograd.grad(y.sum(), y, retain_graph=True)
    y.register_hook(kept.append)
    y.retain_grad()
    y.sum().backward()
    for grad in (found, y.grad, *kept):
        grad[0] = 7.0
        assert grad.tolist()[:2] == [7.0, 1.0]
    assert x.grad.tolist()[:2] == [3.0, 3.0]


def test_gradients_stay_apart_after_a_pass_under_a_watcher() -> None:
    with mpigrad.autograd.set_detect_anomaly(True):
        (fresh(1.0) * 2).sum().backward()
    test_one_gradient_for_two_leaves()
    test_hooks_that_keep_gradients()
