"""`ScriptFunction`: the graph of a scripted function, its compiled code, its schema, and its name for pickling and RPC.

Users call plain bound methods, because the interpreter calls these faster than objects with `__call__`: `jit.script(f)` returns
the entry point of a `ScriptFunction` bound to its `PickleProxy`; a method of a scripted module is its entry point bound to the
module. A bound method has the attributes of its function, so `fn.graph` and others are stored there. An entry point is compiled
on its first call; the compiled code then replaces the code that started the compiler.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import threading
from types import FunctionType, MethodType
from typing import Any

from .._codegen.entry_points import compile_entry, compile_inner
from .._codegen.passes import optimised
from .._codegen.python_print import code_of
from .._codegen.tracebacks import register_code
from .._ir.errors import Source
from .._ir.graph import Graph
from .._ir.schema import Schema

by_name: dict[str, ScriptFunction] = {}  # qualified name -> the function, for calls from other workers
_compiling = threading.RLock()  # reentrant: compiling a function compiles those that it calls


def is_script(obj: Any) -> bool:
    """Whether an object is a callable that `jit.script` returned."""
    return type(obj) is MethodType and type(obj.__self__) is PickleProxy


class _Kind(type):
    """Makes `isinstance(jit.script(f), ScriptFunction)` true."""

    def __instancecheck__(cls, obj: Any) -> bool:
        return type.__instancecheck__(cls, obj) or is_script(obj)


class ScriptFunction(metaclass=_Kind):
    """A scripted function, created by `jit.script`: its `graph`, source (`code`), `schema` and compiled code.

    >>> import mpigrad
    >>> @mpigrad.jit.script
    ... def double_and_add(x):
    ...     return x * 2 + x
    >>> double_and_add.schema
    double_and_add(Tensor x) -> Tensor
    >>> isinstance(double_and_add, mpigrad.jit.ScriptFunction)
    True
    """

    _jit_mark = "script"

    def __init__(
        self, graph: Graph, schema: Schema, source: Source | None, qualified_name: str, original: Any = None
    ) -> None:
        self.graph, self.schema, self._source = graph, schema, source
        self.name, self.qualified_name = schema.name, qualified_name
        self.returns = schema.returns
        self.namespace: dict[str, Any] = {"_start": self._start}  # the globals of the compiled code
        self._optimised: Graph | None = None
        self._text = ""
        self._inner: Any = None
        self.entry = new_entry(self, original)
        self.call = MethodType(self.entry, PickleProxy(self))

    def attributes(self) -> dict[str, Any]:
        """The attributes of the callable that `jit.script` returns, such as `graph` and `code`."""
        return {
            "_record": self, "_jit_mark": "script", "_travels_by_name": True,  # see _core.rpc.calls
            "_check_call": self.check_call,
            "graph": self.graph, "inlined_graph": self.graph, "graph_for": self.graph_for, "schema": self.schema,
            "code": code_of(self.graph, self.schema), "save": self.save, "name": self.name,
            "qualified_name": self.qualified_name, "returns": self.returns,
        }  # fmt: skip

    @property
    def code(self) -> str:
        """The graph as Python text."""
        return code_of(self.graph, self.schema)

    @property
    def inlined_graph(self) -> Graph:
        """The same as `graph`: unlike in PyTorch, the graphs of called functions are not put in the place of the calls."""
        return self.graph

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph: with folded constants, common subexpressions computed once, and fused elementwise chains."""
        self._compile()
        assert self._optimised is not None
        return self._optimised

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def _start(self, me: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compile the function; runs in its first call."""
        self._compile()
        return self.entry(me, *args, **kwargs)

    def check_call(self, args: Any, kwargs: dict[str, Any]) -> None:
        """Raise the error of a wrong argument, before a call of this function is sent to another worker."""
        if len(self.graph.inputs) > len(self.schema.arguments):
            raise TypeError(f"cannot pickle 'ScriptMethod' object '{self.name}': call methods through an RRef to the module")
        self.schema.check_call(tuple(args), kwargs)

    def _compile(self) -> None:
        with _compiling:
            if self._optimised is None:
                graph = optimised(self.graph)
                made, self._text, places = compile_entry(graph, self.schema, self.name, self.namespace)
                register_code(made.__code__, self, places)
                replace_code(self.entry, made)
                self._optimised = graph

    def inner(self) -> Any:
        """Return the compiled function that other scripted functions call."""
        return self._inner or self._compile_inner()

    def _compile_inner(self) -> Any:
        with _compiling:
            if self._inner is None:
                made, _, places = compile_inner(self.graph_for(), self.schema, self.name, self.namespace)
                register_code(made.__code__, self, places)
                self._inner = made
        return self._inner

    def save(self, f: Any, **kwargs: Any) -> None:
        """Write the function to the file `f`; see `mpigrad.jit.save`."""
        from .._files.save import save  # imported late: `_files` imports this module

        save(self, f)

    def __reduce__(self) -> Any:
        return find, (self.qualified_name,)

    def __deepcopy__(self, memo: Any) -> ScriptFunction:
        return self  # immutable

    def __repr__(self) -> str:
        return f"<mpigrad.jit.ScriptFunction {self.schema}>"


class PickleProxy:
    """The `__self__` of the callable of a scripted function. Pickle stores the callable as an attribute of it."""

    __slots__ = ("_script",)

    def __init__(self, script: ScriptFunction) -> None:
        self._script = script

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._script.call

    def __reduce__(self) -> Any:
        return anchor, (self._script.qualified_name,)

    def __deepcopy__(self, memo: Any) -> PickleProxy:
        return self

    def __repr__(self) -> str:
        return repr(self._script)


def anchor(qualified_name: str) -> PickleProxy:
    """The `PickleProxy` of the scripted function with this name in this process."""
    found: Any = find(qualified_name).call.__self__
    return found


# Code of entry points that are not compiled yet; `_start` is among the names of each.
def _first(self, *args, **kwargs):  # type: ignore[no-untyped-def]
    return _start(self, args, kwargs)  # type: ignore[name-defined]  # noqa: F821


def new_entry(script: ScriptFunction, original: Any) -> FunctionType:
    """A function that compiles itself on its first call, with the name and docstring of the original."""
    made = FunctionType(_first.__code__, script.namespace, script.name)
    if original is not None:
        made.__module__, made.__qualname__, made.__doc__ = original.__module__, original.__qualname__, original.__doc__
        made.__signature__ = _signature(script, original)  # type: ignore[attr-defined]
    made.__dict__.update(script.attributes())
    return made


def _signature(script: ScriptFunction, original: Any) -> inspect.Signature:
    """The signature for `inspect`: the bound parameter, then the parameters of the original."""
    found = inspect.signature(original)
    if len(script.graph.inputs) > len(script.schema.arguments):
        return found  # a method: `self` is already included
    bound = inspect.Parameter("_".join(("", *found.parameters)) or "_", inspect.Parameter.POSITIONAL_ONLY)  # unique
    return found.replace(parameters=[bound, *found.parameters.values()])


def replace_code(entry: FunctionType, compiled: FunctionType) -> None:
    """Make an entry run its compiled code. The code is set last, because other threads may call the entry at any time."""
    entry.__defaults__ = compiled.__defaults__
    entry.__code__ = compiled.__code__


def record_of(obj: Any) -> ScriptFunction:
    """The ScriptFunction of a callable from `jit.script`."""
    return obj._record if is_script(obj) else obj


def find(qualified_name: str) -> ScriptFunction:
    """The scripted function with this name in this process."""
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
            f"attempted to get undefined function {qualified_name.rpartition('.')[2]}: '{qualified_name}' is not defined on this "
            "worker. Functions decorated with @mpigrad.jit.script "
            "travel by name: they must be defined on both caller and callee."
        )
    return found
