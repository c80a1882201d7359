"""Arguments of scripted functions: a fast path if they match, PyTorch's errors if they do not."""

from __future__ import annotations

import threading
from typing import Dict, List  # noqa: UP035

import pytest

import mpigrad
from mpigrad import Tensor
from mpigrad.jit._frontend.compile_function import compile_function
from mpigrad.jit._lower.scope import Scope


def total(xs: List[int]) -> int:  # noqa: UP006
    t = 0
    for x in xs:
        t = t + x
    return t


def halves(xs: List[float]) -> List[float]:  # noqa: UP006
    return [x / 2 for x in xs]


def first(xs: List[Tensor]) -> Tensor:  # noqa: UP006
    return xs[0]


def looked_up(table: Dict[str, int], key: str) -> int:  # noqa: UP006
    return table[key]


class Numbers(list):
    """A list of another class."""


@pytest.mark.parametrize("given", [[], [1, 2, 3], (1, 2), Numbers([4, 5]), [True, 2]])
def test_lists_that_fit(given) -> None:
    assert mpigrad.jit.script(total)(given) == sum(given)


@pytest.mark.parametrize("given", [[1, "a"], ["a"], [1, None], [1.5], {1: 2}, 3, None, mpigrad.ones(2)])
def test_lists_that_do_not_fit(given) -> None:
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'List\[int\]' for argument 'xs'"):
        mpigrad.jit.script(total)(given)


def test_ints_among_floats_become_floats_and_parameters_are_tensors() -> None:
    made = mpigrad.jit.script(halves)([1, 3.0])
    assert made == [0.5, 1.5] and mpigrad.jit.script(halves)([]) == []
    weight = mpigrad.nn.Parameter(mpigrad.ones(2))
    assert mpigrad.jit.script(first)([weight, mpigrad.ones(1)]) is weight
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'List\[Tensor\]'"):
        mpigrad.jit.script(first)([weight, 1])


@pytest.mark.parametrize("given", [{"a": "b"}, {1: 1}, {"a": 1, "b": None}, [("a", 1)], None])
def test_dicts_that_do_not_fit(given) -> None:
    scripted = mpigrad.jit.script(looked_up)
    assert scripted({"a": 1}, "a") == scripted(key="a", table={"a": 1}) == 1
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'Dict\[str, int\]' for argument 'table'"):
        scripted(given, "a")


def grown(xs: List[int], n: int = 1) -> int:  # noqa: UP006
    xs.append(n)
    return xs[len(xs) * 2]


def test_a_failing_call_runs_once_whatever_its_number_of_arguments() -> None:
    scripted = mpigrad.jit.script(grown)
    for more in ((), (5,)):
        xs = [1, 2]
        with pytest.raises(IndexError):
            scripted(xs, *more)
        assert len(xs) == 3
    xs = [1, 2]
    with pytest.raises(RuntimeError, match=r"expected at most 2 argument\(s\) but received 3"):
        scripted(xs, 1, 2)
    with pytest.raises(RuntimeError, match="missing value for argument 'xs'"):
        scripted()
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'm'"):
        scripted(xs, m=3)
    assert xs == [1, 2]


def rolled(n: int) -> List[int]:  # noqa: UP006
    a, b, seen = 0, 1, 0
    last = 0
    for i in range(n):
        c = a + b
        seen = seen + c
        a, b = b, c
        if i > 2:
            last = c
        else:
            last = c - last
    return [a, b, seen, last]


def test_values_of_loops_that_are_used_twice() -> None:
    scripted = mpigrad.jit.script(rolled)
    for n in range(8):
        assert scripted(n) == rolled(n)


def test_a_loop_over_a_list_makes_its_result_in_place() -> None:
    scripted = mpigrad.jit.script(total)
    assert scripted([1, 2]) == 3
    body = scripted._record._text.split("for ")[-1].splitlines()
    assert body[0].endswith(" in xs:") and "+" in body[1] and "return" in body[2], body  # no copy of the sum


def test_threads_that_call_a_function_first_at_once() -> None:
    for _ in range(20):
        scripted, results, gate = compile_function(rolled, Scope(rolled)).call, [], threading.Barrier(4)

        def call(scripted=scripted, results=results, gate=gate) -> None:
            gate.wait()
            results.append(scripted(5))

        threads = [threading.Thread(target=call) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert results == [rolled(5)] * 4
