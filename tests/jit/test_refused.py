"""What scripting refuses: at once, with the kind of error, the reason, the file, the line and the function's name."""

# ruff: noqa: F841, B007, C416, F401 (what is scripted here is the test)

from __future__ import annotations

import pytest

import mpigrad
from mpigrad import Tensor
from mpigrad.jit.frontend import NotSupportedError, UnsupportedNodeError

GLOBAL = 3


class Thing:
    y = 3


thing = Thing()


def yields(x):
    yield x


def imports(x):
    import os
    return x


def tries(x):
    try:
        return x
    except ValueError:
        return x


def makes_lambda(x):
    return lambda y: x


def sets(x):
    return {1, 2}


def set_comprehension(x):
    return {i for i in [1]}


def declares_global(x):
    global GLOBAL
    GLOBAL = x


def defines(x):
    def inner(y):
        return y
    return inner(x)


def defines_class(x):
    class Inner:
        pass
    return x


def changes_outer():
    n = 1

    def inner(x):
        nonlocal n
        n = 2
        return x
    return inner


async def awaits(x):
    return await x


def keyword_only(x, *, n: int = 2):
    return x


def union(x, n: int | str):
    return x


def makes_thing(x):
    return Thing()


def hooks(x):
    x.register_hook(print)
    return x


def spread(x, pairs: dict[str, int]):
    return {**pairs}


def opens(x):
    with open("file") as file:
        pass
    return x


def filters(x):
    return [i for i in [1, 2] if i > 1]


def star_arguments(x, *args):
    return x


def keyword_arguments(x, **kwargs):
    return x


def undefined(x):
    return nothing_of_this_name(x)  # noqa: F821


def no_method(x):
    return x.nosuch()


def no_function(x):
    return mpigrad.nosuch(x)


def half_defined(x, n: int):
    if n > 0:
        y = x
    return y


def two_types(x, n: int):
    if n > 0:
        y = x
    else:
        y = 3
    return y


def wrong_return(x) -> str:
    return x


def no_return(x, n: int):
    if n > 0:
        return x


def bad_sum(x, n: int):
    return n + "a"


def uses_global(x):
    return x + GLOBAL


def uses_object(x):
    return x + thing.y


def unchecked_optional(x, y: Tensor | None = None):
    return x + y


def changes_type(x, n: int):
    for _ in range(n):
        x = 1
    return x


def mixed_list(x):
    return [1, "a"]


def calls_itself(x, n: int):
    if n == 0:
        return x
    return calls_itself(x, n - 1)


def to_numpy(x):
    return x.numpy()


def unknown_type(x, y: Thing):
    return x


def breaks(x, n: int):
    for part in (x, x):
        if n > 1:
            break
    return x


REFUSED = [
    (yields, UnsupportedNodeError, "Yield"), (imports, UnsupportedNodeError, "import statements"),
    (tries, UnsupportedNodeError, "try blocks"), (makes_lambda, UnsupportedNodeError, "Lambda"),
    (sets, UnsupportedNodeError, "Set"), (set_comprehension, UnsupportedNodeError, "SetComp"),
    (declares_global, UnsupportedNodeError, "global variables"), (defines, UnsupportedNodeError, "function definitions"),
    (defines_class, UnsupportedNodeError, "class definitions"), (changes_outer(), UnsupportedNodeError, "nonlocal variables"),
    (awaits, NotSupportedError, "AsyncFunctionDef cannot be scripted"),
    (keyword_only, NotSupportedError, "keyword-only arguments with defaults"),
    (union, NotSupportedError, r"of unions only Optional\[T\] is supported"),
    (makes_thing, RuntimeError, "the class 'Thing' cannot be made or called"),
    (hooks, RuntimeError, "no attribute or method 'register_hook'"), (spread, NotSupportedError, "Dictionary unpacking"),
    (opens, NotSupportedError, "with statements"), (filters, NotSupportedError, "Comprehension ifs"),
    (star_arguments, NotSupportedError, "variable number of arguments"),
    (keyword_arguments, NotSupportedError, "variable number of arguments"),
    (unknown_type, NotSupportedError, "Unknown type annotation: 'Thing'"),
    (undefined, RuntimeError, "undefined value nothing_of_this_name"),
    (no_method, RuntimeError, "no attribute or method 'nosuch'"),
    (no_function, RuntimeError, "has no attribute nosuch"), (half_defined, RuntimeError, "y is not defined in the false branch"),
    (two_types, RuntimeError, "Type mismatch: y is set to type Tensor in the true branch and type int in the false branch"),
    (wrong_return, RuntimeError, "annotated as having type str but is actually of type Tensor"),
    (no_return, RuntimeError, "does not return along all paths"), (bad_sum, RuntimeError, "Arguments for call are not valid"),
    (uses_global, RuntimeError, "python value of type 'int' cannot be used as a value"),
    (uses_object, RuntimeError, "attribute lookup is not defined on python value of type 'Thing'"),
    (unchecked_optional, RuntimeError, r"'Tensor' and 'Optional\[Tensor\]'"),
    (changes_type, RuntimeError, "previously had type Tensor but is now being assigned to a value of type int"),
    (mixed_list, RuntimeError, "elements of a list"), (calls_itself, RuntimeError, "recursive"),
    (to_numpy, RuntimeError, "no attribute or method 'numpy'"), (breaks, Exception, "loop"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "kind", "text"), REFUSED, ids=lambda each: getattr(each, "__name__", ""))
def test_refused_with_file_line_and_name(function, kind, text) -> None:
    with pytest.raises(kind, match=text) as caught:
        mpigrad.jit.script(function)
    message = str(caught.value)
    assert "test_refused.py" in message and f"in {function.__name__}" in message
    first = function.__code__.co_firstlineno
    assert first <= int(message.split(", line ")[1].split(",")[0]) < first + 8


def test_errors_of_called_functions_say_who_called() -> None:
    def outer(x):
        return undefined(x)

    with pytest.raises(RuntimeError, match="'undefined' is being compiled since it was called from 'outer'"):
        mpigrad.jit.script(outer)


def test_traces_are_refused_with_the_way_to_go() -> None:
    with pytest.raises(NotSupportedError, match=r"jit\.trace is not supported \('two_types'\): use mpigrad\.jit\.script"):
        mpigrad.jit.trace(two_types, (mpigrad.ones(1), 1))
    with pytest.raises(NotSupportedError, match=r"jit\.trace is not supported \('Linear'\)"):
        mpigrad.jit.trace_module(mpigrad.nn.Linear(1, 1), {"forward": mpigrad.ones(1)})


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((3, 1), {}, r"f\(\) Expected a value of type 'Tensor \(inferred\)' for argument 'x' but instead found type 'int'"),
        ((mpigrad.ones(1), 2.5), {}, "Expected a value of type 'int' for argument 'n' but instead found type 'float'"),
        ((mpigrad.ones(1),), {}, r"f\(\) is missing value for argument 'n'"),
        ((mpigrad.ones(1), 1, 2, 3), {}, r"f\(\) expected at most 2 argument\(s\) but received 4 argument\(s\)"),
        ((mpigrad.ones(1), 1), {"q": 1}, "Unknown keyword argument 'q' for operator 'f'"),
    ],
)
def test_arguments_are_checked_when_called(args, kwargs, text) -> None:
    def f(x, n: int):
        return x * n

    with pytest.raises(RuntimeError, match=text):
        mpigrad.jit.script(f)(*args, **kwargs)


def test_errors_while_running_name_the_place() -> None:
    def product(a, b):
        return a @ b

    def outer(a, b):
        c = a + 1
        return product(c, b)

    with pytest.raises(RuntimeError, match=r"(?s)in outer.*return product.*in product.*a @ b.*shapes cannot be multiplied"):
        mpigrad.jit.script(outer)(mpigrad.ones(2, 3), mpigrad.ones(2, 3))
