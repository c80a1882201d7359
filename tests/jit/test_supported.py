"""What scripting supports: each function gives the same scripted as run by Python. The table of docs/jit.md names them."""

# ruff: noqa: UP006, UP035, UP045, UP032 (what is scripted here is the test)

from __future__ import annotations

import math
import threading
from typing import Dict, List, Optional, Tuple

import pytest

import mpigrad
import mpigrad.nn.functional as F
from mpigrad import Tensor
from mpigrad.testing import FileCheck, assert_close


def arithmetic(x, n: int, s: float):
    return (x * 2 + n) / s - x ** 2 + (-x) % 3


def comparisons(x, n: int) -> bool:
    return 0 < n <= 3 and not n == 2 or bool((x > 100).any())


def branches(x, n: int):
    if n > 2:
        y = x + 1
    elif n > 1:
        y = x * 2
    else:
        y = x
    return y


def early_return(x, n: int):
    if n > 2:
        return x + 1
    x = x * 3
    if n == 2:
        return x
    return -x


def for_range(x, n: int):
    for i in range(n):
        x = x + i
    for i in range(1, n + 3, 2):
        x = x * i
    return x


def while_loop(x, n: int):
    while n > 0 and bool(x.sum() < 1000):
        x = x * 2
        n -= 1
    return x, n


def break_and_continue(x, n: int):
    total = 0
    for i in range(10):
        if i == 2:
            continue
        if i > n:
            break
        total += i
        x = x + total
    while True:
        total += 1
        if total > 20:
            break
        if total % 2 == 0:
            continue
        x = x + 1
    return x, total


def return_in_loop(x, n: int) -> int:
    for i in range(10):
        if i * i > n:
            return i
    return -1


def lists(x, n: int):
    made: List[int] = []
    for i in range(n):
        made.append(i)
    made += [7, 8]
    made[0] = 5
    tensors = [x, x + 1]
    tensors.append(x * 2)
    return made, mpigrad.stack(tensors), len(made), made[-1], made[1:3], [each * 2 for each in made]


def dicts(x, n: int) -> Dict[str, Tensor]:
    found: Dict[str, Tensor] = {}
    found["a"] = x
    found["b"] = x * n
    if "a" in found:
        found["c"] = found["a"] + found["b"]
    for key in found.keys():
        found[key] = found[key] + 1
    return found


def tuples(x, n: int) -> Tuple[Tensor, int]:
    pair = (x + 1, n)
    a, b = pair
    b, c = b + 1, a
    return c + pair[0], b


def optional(x, y: Optional[Tensor] = None, scale: Optional[float] = None):
    if y is None:
        y = x * 2
    if scale is not None and scale > 1.0:
        x = x * scale
    return x + y


def loops_over(x, n: int):
    total = x.sum()
    for row in x:
        total = total + row.max()
    for i, each in enumerate([1, 2, n]):
        total = total + i * each
    for a, b in zip([1, 2], [3, 4]):
        total = total * a + b
    return total


def choice(x, n: int):
    return x if n > 1 else x + 1


def items(x, n: int):
    return x[0], x[1:], x[:, 0], x[-1, 1], x[..., None], x[x > 0].sum(), x[None]


def set_items(x, n: int):
    y = x.clone()
    y[0] = 5
    y[1, 0] = n
    y += 1
    y[:, 1] *= 2
    return y


def methods(x, n: int):
    values, places = x.max(dim=0)
    return x.sum(0, keepdim=True), values, places, x.view(-1), x.shape[0] + n, x.size(1), x.dim(), x.t().contiguous()


def functions(x, n: int):
    return F.relu(x), mpigrad.softmax(x, dim=1), mpigrad.cat([x, x], 0), F.linear(x, x), mpigrad.zeros(n, 2), mpigrad.ones_like(x)


def built_ins(x, n: int):
    return (
        len(x), int(x.sum()), float(n), min(n, 3), max([1, n]), abs(-n), math.sqrt(float(n)), math.floor(2.5), str(n), round(2.6),
        sum([1, 2]), sorted([3, 1, 2]),
    )


def strings(x, n: int) -> str:
    text = "a" + "b" * 2
    return f"{text.upper()}-{n}" + ",".join(["x", "y"]) + "{}!".format(n)


def asserts(x, n: int):
    assert n > 0, "n must be positive"
    return x


def modes(x, n: int):
    y = x * 2
    with mpigrad.no_grad():
        z = y * 3
    return y + z


def helper(x, factor: float = 2.0):
    return x * factor


def calls(x, n: int):
    return helper(x) + helper(x, 3.0) + helper(factor=1.0, x=x)


def scripting(x, n: int):
    if mpigrad.jit.is_scripting():
        return x + 1
    return x + 1.0


def annotated(x, n: int):
    made = mpigrad.jit.annotate(List[float], [])
    made.append(1.5)
    return made


def dtypes(x, n: int):
    return x.to(mpigrad.float64), mpigrad.ones(2, dtype=mpigrad.int64, device=x.device), mpigrad.zeros_like(x, dtype=x.dtype)


def deletes(x, n: int):
    y = x + 1
    del y
    found = {"a": 1, "b": n}
    del found["a"]
    return len(found)


def isinstances(x, y: Optional[Tensor] = None):
    if isinstance(y, Tensor):
        return x + y
    return x


CASES = {
    function.__name__: (function, arguments)
    for function, arguments in [
        (arithmetic, [(3, 2.0)]), (comparisons, [(1,), (2,), (5,)]), (branches, [(1,), (2,), (3,)]),
        (early_return, [(1,), (2,), (3,)]), (for_range, [(0,), (4,)]), (while_loop, [(0,), (3,), (50,)]),
        (break_and_continue, [(4,), (20,)]), (return_in_loop, [(10,), (1000,)]), (lists, [(3,)]), (dicts, [(2,)]),
        (tuples, [(2,)]), (optional, [(), (mpigrad.ones(2, 3),), (None, 2.0)]), (loops_over, [(3,)]), (choice, [(1,), (2,)]),
        (items, [(1,)]), (set_items, [(3,)]), (methods, [(1,)]), (functions, [(2,)]), (built_ins, [(4,)]), (strings, [(3,)]),
        (asserts, [(1,)]), (modes, [(1,)]), (calls, [(1,)]), (scripting, [(1,)]), (annotated, [(1,)]), (dtypes, [(1,)]),
        (deletes, [(1,)]), (isinstances, [(), (mpigrad.ones(2, 3),)]),
    ]
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_scripted_gives_the_same(name: str) -> None:
    function, calls = CASES[name]
    scripted = mpigrad.jit.script(function)
    x = mpigrad.tensor([[1.0, -2.0, 3.0], [0.5, 5.0, -6.0]])
    for arguments in calls:
        assert_close(scripted(x.clone(), *arguments), function(x.clone(), *arguments))
    assert "graph(" in str(scripted.graph) and scripted.code.startswith(f"def {name}(")


@pytest.mark.parametrize("name", ["arithmetic", "branches", "for_range", "optional", "modes", "calls", "items", "methods"])
def test_gradients_are_the_same(name: str) -> None:
    function, calls = CASES[name]
    scripted = mpigrad.jit.script(function)
    for arguments in calls:
        grads = []
        for each in (function, scripted):
            x = mpigrad.tensor([[1.0, -2.0, 3.0], [0.5, 5.0, -6.0]], requires_grad=True)
            out = each(x, *arguments)
            out = out if isinstance(out, Tensor) else next(each for each in out if each.requires_grad)
            out.sum().backward()
            grads.append(x.grad)
        assert_close(grads[0], grads[1])


def test_calls_with_keywords_and_defaults() -> None:
    scripted = mpigrad.jit.script(helper)
    x = mpigrad.ones(2)
    assert scripted(factor=3.0, x=x).tolist() == [3.0, 3.0]
    assert scripted(x).tolist() == [2.0, 2.0]
    assert scripted(x, 3).tolist() == [3.0, 3.0]  # an int where a float is wanted
    assert str(scripted.schema) == "helper(Tensor x, float factor=2.) -> Tensor"
    assert scripted.qualified_name == "__mpigrad__.tests.jit.test_supported.helper"


def test_graphs_read_like_pytorch_ones() -> None:
    graph = mpigrad.jit.script(branches).graph
    FileCheck().check("graph(%x").check("aten::gt").check("prim::If").check_next("block0").check("aten::add").check("return").run(graph)
    FileCheck().check_count("prim::Loop", 2, exactly=True).run(mpigrad.jit.script(for_range).graph)
    assert [node.kind() for node in graph.findAllNodes("aten::mul")] == ["aten::mul"]


def test_forks_run_beside_and_bring_errors() -> None:
    def slow(x):
        return x + 1

    slow = mpigrad.jit.script(slow)

    def both(x):
        first = mpigrad.jit.fork(slow, x)
        second = mpigrad.jit._fork(slow, x * 2)
        return mpigrad.jit.wait(first) + mpigrad.jit._wait(second)

    scripted = mpigrad.jit.script(both)
    FileCheck().check_count("prim::fork", 2).check_count("aten::wait", 2).run(scripted.graph)
    assert scripted(mpigrad.ones(2)).tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        mpigrad.jit.wait(mpigrad.jit.fork(mpigrad.matmul, mpigrad.ones(2, 3), mpigrad.ones(2, 3)))


def test_without_rpc_a_fork_has_a_thread_of_its_own() -> None:
    def where() -> tuple[str, bool]:
        return threading.current_thread().name, mpigrad.is_grad_enabled()

    with mpigrad.no_grad():
        fut = mpigrad.jit.fork(where)
    assert fut.wait() == ("jit-fork-where", False)


@pytest.mark.parametrize("decorator", [mpigrad.jit.ignore, mpigrad.jit.unused, mpigrad.jit.export])
def test_properties_cannot_be_marked(decorator) -> None:
    with pytest.raises(TypeError, match="is for functions and methods, not properties"):
        decorator(property(len))


def test_ignored_and_unused_functions() -> None:
    seen = []

    @mpigrad.jit.ignore
    def note(x: Tensor) -> Tensor:
        seen.append(x)
        return x

    @mpigrad.jit.unused
    def never(x: Tensor) -> Tensor:
        raise AssertionError

    @mpigrad.jit.script
    def use(x, n: int):
        if n > 5:
            return never(x)
        return note(x) + 1

    assert use(mpigrad.ones(1), 1).item() == 2.0 and len(seen) == 1
    with pytest.raises(mpigrad.jit.Error, match="unused"):
        use(mpigrad.ones(1), 9)


def test_isinstance_of_containers() -> None:
    assert mpigrad.jit.isinstance([1, 2], List[int]) and not mpigrad.jit.isinstance([1, "2"], List[int])
    assert mpigrad.jit.isinstance((1, 2.0), Tuple[int, float]) and mpigrad.jit.isinstance(None, Optional[int])
