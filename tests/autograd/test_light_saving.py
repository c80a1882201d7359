"""Results and inputs that one-operand operators save without a tuple or a counter: in-place changes are still detected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mpigrad as mg

CHANGES: dict[str, Callable[[Any], Any]] = {
    "in place": lambda y: y.add_(1),
    "through a view": lambda y: y[0].zero_(),
    "through a detached alias": lambda y: y.detach().mul_(2),
    "by assignment": lambda y: y.__setitem__(0, 5.0),
    "without recording": lambda y: mg.no_grad()(lambda: y.mul_(2))(),
}
SAVING_RESULTS: list[Callable[[Any], Any]] = [mg.exp, mg.tanh, mg.sigmoid, mg.sqrt, mg.relu]


@pytest.fixture
def x() -> Any:
    return mg.tensor([0.5, 1.5, 2.5], dtype=mg.float64, requires_grad=True)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("operator", SAVING_RESULTS)
def test_a_changed_result_is_noticed(x: Any, operator: Any, change: Any) -> None:
    y = operator(x)
    kept = y * 1
    change(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.sum().backward()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_input_is_noticed(x: Any, change: Any) -> None:
    inner = x * 1
    y = mg.sin(inner)
    change(inner)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.sum().backward()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_result_changed_after_a_recorded_pass_is_noticed_in_the_next(x: Any, change: Any) -> None:
    y = mg.tanh(x)
    (first,) = mg.autograd.grad(y.sum(), x, create_graph=True)
    change(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        first.sum().backward()


def test_a_result_that_is_only_looked_at_is_unchanged(x: Any) -> None:
    y = mg.tanh(x)
    assert y.detach()._version == y[1:]._version == y._version == 0
    y.sum().backward()
    assert mg.allclose(x.grad, 1 - y.detach() ** 2)


def test_an_operation_in_place_saves_the_tensors_own_memory(x: Any) -> None:
    y = x * 1
    y.tanh_()
    y.sum().backward(retain_graph=True)
    assert mg.allclose(x.grad, 1 - mg.tanh(x.detach()) ** 2)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="output 0 of Tanh"):
        y.sum().backward()


@pytest.mark.parametrize("operator", [mg.sin, mg.tanh])
def test_what_was_saved_is_gone_after_the_pass(x: Any, operator: Any) -> None:
    y = operator(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        mg.autograd.grad(y, x, create_graph=True)


def test_inference_in_one_thread_does_not_mark_tensors_of_another(x: Any) -> None:
    import threading

    inside, done = threading.Event(), threading.Event()

    def infer() -> None:
        with mg.inference_mode():
            inside.set()
            assert done.wait(30)

    thread = threading.Thread(target=infer)
    thread.start()
    assert inside.wait(30)
    y = mg.sin(x) * x
    done.set()
    thread.join(30)
    assert y.requires_grad and not y.is_inference() and not mg.sin(x).is_inference()
