"""The fast paths of operators record the same nodes as the general path, which runs while a watcher is registered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad._core.node import new_node, record_one, record_two
from mpigrad._graph.saved import hooks_entered, hooks_left
from mpigrad._ops._define.operator import OpNode
from mpigrad._ops.elementwise.arithmetic import MUL

OPERATIONS: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "number": lambda x, y: 3.0 * x,
    "from a number": lambda x, y: 1 - x,
    "input saved": lambda x, y: x.sin(),
    "result saved": lambda x, y: x.exp(),
    "sum": lambda x, y: x.sum(),
    "sum of rows": lambda x, y: x.sum(1),
    "view": lambda x, y: x.view(6),
    "of a view": lambda x, y: x[0] * y[1],
}


def leaves(x_requires: bool, y_requires: bool) -> tuple[Any, Any]:
    numbers = np.random.default_rng(1).uniform(1, 2, (2, 2, 3))
    return mpigrad.tensor(numbers[0], requires_grad=x_requires), mpigrad.tensor(numbers[1], requires_grad=y_requires)


def found(operation: Any, x_requires: bool, y_requires: bool) -> tuple[Any, ...]:
    x, y = leaves(x_requires, y_requires)
    made = operation(x, y)
    node: Any = made.grad_fn
    kept = [None if each is None else each.tolist() for each in node.tensors()]
    made.sum().backward()
    return (
        type(node).__name__, node.needs, kept, [None if g is None else g.tolist() for g in (x.grad, y.grad)], made.tolist()
    )  # fmt: skip


@pytest.mark.parametrize("requires", [(True, False), (True, True), (False, True)])
@pytest.mark.parametrize("name", OPERATIONS)
def test_both_paths_record_the_same(name: str, requires: tuple[bool, bool]) -> None:
    if requires == (False, True) and name not in ("add", "mul", "div", "of a view"):
        requires = (True, True)
    quick = found(OPERATIONS[name], *requires)
    hooks_entered(lambda tensor: tensor, lambda tensor: tensor)
    try:
        general = found(OPERATIONS[name], *requires)
    finally:
        hooks_left()
    assert quick == general


def test_versions_are_those_of_the_moment() -> None:
    x, y = leaves(True, False)
    y.add_(1)
    made = mpigrad.tensor(np.zeros((2, 3)))
    record_two(MUL.operator.node_type, made, x, y, {}, MUL.operator.saves_of_two())
    assert made.requires_grad and made.grad_fn.saved == (None, y) and made.grad_fn.versions == (0, 1)
    y.add_(1)
    with pytest.raises(RuntimeError, match="is at version 2; expected version 1"):
        made.sum().backward()


def test_a_changed_input_that_was_saved_is_noticed() -> None:
    x = leaves(True, False)[0] * 1
    made = x.sin()
    assert made.grad_fn.versions in (0, (0,))  # the quick path notes a number, the general one a tuple
    x.mul_(2)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        made.sum().backward()


def test_all_slots_are_filled() -> None:
    x, _ = leaves(True, False)
    node = new_node(MUL.operator.node_type, (None, None), {"a": 1}, ((2,), None), (x, None), (3, 0))
    assert isinstance(node, OpNode) and (node.edges, node.hooks, node.meta) == ((None, None), None, None)
    assert (node.kw, node.shapes, node.saved, node.versions) == ({"a": 1}, ((2,), None), (x, None), (3, 0))
    record_one(MUL.operator.node_type, x, x, {}, ((2, 3),))
    assert (x.grad_fn.kw, x.grad_fn.shapes, x.grad_fn.saved) == ({}, ((2, 3),), ())


def test_classes_without_the_slots_are_refused() -> None:
    with pytest.raises((TypeError, AttributeError)):
        new_node(object, (), {}, (), (), ())
