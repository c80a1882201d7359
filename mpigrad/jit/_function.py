"""ScriptFunction: what `jit.script` gives: called like the function, with a graph, code, a schema, and a name to travel by."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ._code import code_of
from ._compile import compile_graph
from ._errors import Error, Source
from ._graph import Graph
from ._schema import Schema

by_name: dict[str, ScriptFunction] = {}  # qualified name -> the function, for calls from other workers
_by_code: dict[Any, ScriptFunction] = {}  # compiled code -> the function, to explain errors
_HEAD = "The following operation failed in the mpigrad.jit interpreter.\nTraceback of scripted code (most recent call last):\n"
_REBUILT = (RuntimeError, ValueError, TypeError, IndexError, KeyError, ZeroDivisionError, AssertionError, NotImplementedError,
            AttributeError, Error)  # fmt: skip


class ScriptFunction:
    """A scripted function.

    >>> import mpigrad
    >>> fn = mpigrad.jit._example()
    >>> fn(mpigrad.ones(2)).tolist()
    [3.0, 3.0]
    >>> fn.schema
    double_and_add(Tensor x) -> Tensor
    """

    __name__: str
    __qualname__: str
    _travels_by_name = True  # see distributed.rpc._functions

    def __init__(self, graph: Graph, schema: Schema, source: Source | None, qualified_name: str) -> None:
        self.graph, self._schema, self._source = graph, schema, source
        self.name, self.qualified_name = schema.name, qualified_name
        self.returns = schema.returns
        self._arity = len(schema.arguments)
        self._run: Any = self.run  # until it is compiled
        self._places: list[Any] = []
        self._optimised: Graph | None = None

    @property
    def schema(self) -> Any:
        """Arguments and result: prints like `f(Tensor x, int n) -> Tensor`."""
        return _Shown(self._schema)

    @property
    def code(self) -> str:
        """The graph as Python text."""
        return code_of(self.graph, self._schema)

    @property
    def inlined_graph(self) -> Graph:
        """The graph (calls stay calls)."""
        return self.graph

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that runs: constants folded, common subexpressions once, elementwise chains fused."""
        self._compile()
        assert self._optimised is not None
        return self._optimised

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return self._call_bound(self._schema.bind(args, kwargs))
        try:
            return self._run(*args)
        except Exception as error:
            raised = explained(error) if len(args) == self._arity else None
        if raised is None:  # another number of arguments: nothing has run
            return self._call_bound(self._schema.bind(args, kwargs))
        raise raised from raised.__cause__

    def _call_bound(self, args: list[Any]) -> Any:
        try:
            return self._run(*args)
        except Exception as error:
            raised = explained(error)
        raise raised from raised.__cause__

    def run(self, *args: Any) -> Any:
        """The compiled function, for calls from other graphs; replaced once it has been compiled."""
        return (self._compile() if self._optimised is None else self._run)(*args)

    def _compile(self) -> Any:
        from ._passes import optimised

        graph = optimised(self.graph)
        run, self._text, self._places = compile_graph(graph, self._schema, self.name)
        _by_code[run.__code__] = self
        self.run = self._run = run  # type: ignore[method-assign]
        self._optimised = graph  # last: other threads take it as a sign
        return run

    def save(self, f: Any, **kwargs: Any) -> None:
        """Write the function to a file; see `mpigrad.jit.save`."""
        from ._save import save

        save(self, f)

    def __reduce__(self) -> Any:
        return find, (self.qualified_name,)

    def __repr__(self) -> str:
        return f"<mpigrad.jit.ScriptFunction {self.schema}>"


class _Shown:
    """A schema that prints like PyTorch's."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def __getattr__(self, name: str) -> Any:
        return getattr(self._schema, name)

    def __repr__(self) -> str:
        return str(self._schema)

    __str__ = __repr__


def find(qualified_name: str) -> ScriptFunction:
    """The scripted function that this process knows by a name."""
    found = by_name.get(qualified_name)
    if found is None:
        module = qualified_name.removeprefix("__mpigrad__.").rpartition(".")[0]
        while module and module not in sys.modules:
            try:
                importlib.import_module(module)
                break
            except ImportError:
                module = module.rpartition(".")[0]
        found = by_name.get(qualified_name)
    if found is None:
        raise RuntimeError(
            f"Script function '{qualified_name}' is not defined on this worker. Functions decorated with @mpigrad.jit.script "
            "travel by name: they must be defined on both caller and callee."
        )
    return found


def explained(error: Exception) -> Exception:
    """The error with the places in scripted code that it went through; of the same type where that can be built."""
    text = str(error)
    if type(error) not in _REBUILT or text.startswith(_HEAD):
        return error
    frames = []
    trace = error.__traceback__
    while trace is not None:
        function = _by_code.get(trace.tb_frame.f_code)
        if function is not None and function._source is not None:
            frames.append(_frame(function, trace.tb_lineno))
        trace = trace.tb_next
    if not any(frames):
        return error  # about the arguments: nothing has run
    last = "" if type(error) is Error else f"{type(error).__name__}: "
    made = type(error)(f"{_HEAD}{''.join(each for each in frames if each)}{last}{text}\n")
    made.__cause__ = error
    return made


def _frame(function: ScriptFunction, line: int) -> str:
    places, source = function._places, function._source
    where = next((each for each in (places[line - 1 :: -1] if line <= len(places) else places[::-1]) if each), None)
    if where is None or source is None:
        return ""
    file, number, column = where
    return f'  File "{file}", line {number}, in {function.name}\n{source.excerpt(number, column)}\n'
