"""`jit.save` and the file format.

A file is a zip archive:

- `format.json`: `{"format": "mpigrad.jit", "version": 1}`;
- `program.json`: `main` (a function's name, or null), `module` (or null), `functions` by qualified name;
- `arrays/<n>.npy`: parameters, buffers and constant tensors, without pickles.

Members are stored, not compressed.

A function is its schema and its graph; a graph has inputs, nodes and outputs; values are numbers. A node has `op`, `target`,
`inputs`, `outputs`, `keywords`, `attributes`, `blocks`, `where`. Nothing in a file is Python code.
"""

from __future__ import annotations

import enum
import io
import json
import zipfile
from types import FunctionType
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, device_of
from mpigrad._array.device import device as Device
from mpigrad._array.dtype import dtype as DType
from mpigrad._tensor import Tensor
from mpigrad.nn.modules.module import Module

from .._frontend.function import ScriptFunction, record_of
from .._frontend.module import ScriptModule, class_values
from .._ir.graph import Block, Graph, Value
from .._ir.operators import is_operator, operator_name, rref_files
from .._ir.schema import Schema
from .._ir.types import Type, is_rref
from .archive import FORMAT, VERSION


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Write the scripted function or module `m` to a file; `f` is a path, or a file open for writing bytes.

    TypeError if `m` was not compiled by `jit.script`. `_extra_files` has no effect.

    >>> import mpigrad, io
    >>> @mpigrad.jit.script
    ... def double_and_add(x):
    ...     return x * 2 + x
    >>> file = io.BytesIO()
    >>> mpigrad.jit.save(double_and_add, file)
    >>> _ = file.seek(0)
    >>> mpigrad.jit.load(file)(mpigrad.ones(1)).item()
    3.0
    """
    if not isinstance(m, (ScriptFunction, ScriptModule)):
        raise TypeError(f"jit.save takes scripted functions and modules, not {type(m).__name__}; use jit.script first")
    packer = _Packer()
    if isinstance(m, ScriptFunction):
        program: dict[str, Any] = {"main": packer.function(record_of(m)), "module": None}
    else:
        program = {"main": None, "module": packer.module(m)}
    program["functions"] = packer.functions
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("format.json", json.dumps({"format": FORMAT, "version": VERSION}))
        archive.writestr("program.json", json.dumps(program))
        for number, array in enumerate(packer.arrays):
            data = io.BytesIO()
            np.save(data, array, allow_pickle=False)
            archive.writestr(f"arrays/{number}.npy", data.getvalue())


_INTERNAL = frozenset(vars(Module())) | {
    "_script_methods", "_original", "_original_module", "_script_type", "_description", "_compiling", "_finish_script", "_begin",
    "_compiled_method", "_add_method", "_script_method", "_is_script_module",
}  # fmt: skip


class _Unsavable(RuntimeError):
    """Raised for objects that cannot be saved."""


class _Packer:
    """Collects the functions, modules and arrays of a program."""

    def __init__(self) -> None:
        self.functions: dict[str, Any] = {}
        self.arrays: list[Any] = []

    def tensor(self, tensor: Tensor) -> dict[str, Any]:
        self.arrays.append(np.ascontiguousarray(tensor.detach().cpu().numpy()))  # type: ignore[attr-defined]
        made = {"tensor": len(self.arrays) - 1, "requires_grad": bool(tensor._requires)}
        place = device_of(tensor._array)
        return made if place is CPU else made | {"device": str(place)}

    def function(self, function: ScriptFunction) -> str:
        name = function.qualified_name
        if name not in self.functions:
            self.functions[name] = None  # being packed
            self.functions[name] = self.body(function)
        return name

    def body(self, function: ScriptFunction) -> dict[str, Any]:
        return {"schema": self.schema(function.schema), "graph": _GraphPacker(self).graph(function.graph)}

    def schema(self, schema: Schema) -> dict[str, Any]:
        arguments = [
            [each.name, pack_type(each.type), each.inferred, each.has_default, self.value(each.default)]
            for each in schema.arguments
        ]
        return {"name": schema.name, "arguments": arguments, "returns": pack_type(schema.returns)}

    def value(self, value: Any) -> Any:
        """Encode a constant or an attribute as JSON."""
        if isinstance(value, enum.Enum):
            raise _Unsavable(f"Could not save {value!r}: a file holds graphs and plain values only")
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return {"float": value.hex()}
        if isinstance(value, complex):
            return {"complex": [value.real.hex(), value.imag.hex()]}
        if isinstance(value, Tensor):
            return self.tensor(value)
        if is_rref(value):
            return {"rref": list(rref_files().pack(value))}
        if isinstance(value, (list, tuple)):
            return {type(value).__name__ if type(value) is list else "tuple": [self.value(each) for each in value]}
        if isinstance(value, dict):
            return {"dict": [[self.value(key), self.value(each)] for key, each in value.items()]}
        if isinstance(value, DType):
            return {"dtype": str(value).rpartition(".")[2]}
        if isinstance(value, Device):
            return {"device": str(value)}
        if value is Ellipsis:
            return {"ellipsis": True}
        if isinstance(value, ScriptFunction):
            return {"function": self.function(record_of(value))}
        if isinstance(value, Type):
            return {"type": pack_type(value)}
        if isinstance(value, FunctionType) and is_operator(value):
            return {"operator": operator_name(value)[1].split(":")[1:]}
        raise _Unsavable(
            f"Could not save {value!r} of type {type(value).__name__}: a file holds graphs and plain values only"
        )

    def module(self, module: Any) -> dict[str, Any]:
        """Encode a module: library modules by the name of their class, scripted ones with the graphs of their methods."""
        scripted = getattr(module, "_script_methods", None)
        made: dict[str, Any] = {
            "class": module._script_type if scripted is not None else type(module).__name__,
            "library": scripted is None,
            "training": module.training,
            "parameters": {name: self.value(each) for name, each in module._parameters.items()},
            "buffers": {name: self.value(each) for name, each in module._buffers.items()},
            "modules": {name: self.module(each) for name, each in module._modules.items() if each is not None},
            "attributes": {},
            "methods": {name: self.body(each) for name, each in (scripted or {}).items()},
        }
        for name, each in {**class_values(type(module)), **vars(module)}.items():
            if is_kept(name) and name not in ("training", *made["methods"]):
                try:
                    made["attributes"][name] = self.value(each)
                except _Unsavable:
                    continue  # a Python object that scripted code cannot use
        return made


def is_kept(name: str) -> bool:
    """Whether an attribute or method of a module is saved; those of every module are not."""
    if not name.startswith("_"):
        return name.isidentifier()
    return name.isidentifier() and not name.startswith("__") and name not in _INTERNAL and not hasattr(Module, name)


class _GraphPacker:
    """Encodes one graph as JSON; its values are numbered."""

    def __init__(self, packer: _Packer) -> None:
        self.packer = packer
        self.numbers: dict[int, int] = {}

    def new(self, value: Value) -> list[Any]:
        self.numbers[id(value)] = len(self.numbers)
        return [self.numbers[id(value)], value.name, pack_type(value.type)]

    def graph(self, graph: Graph) -> dict[str, Any]:
        return {"name": graph.name, **self.block(graph)}

    def block(self, block: Block) -> dict[str, Any]:
        inputs = [self.new(each) for each in block.inputs]
        nodes = [self.node(each) for each in block.nodes]
        return {"inputs": inputs, "nodes": nodes, "outputs": [self.numbers[id(each)] for each in block.outputs]}

    def node(self, node: Any) -> dict[str, Any]:
        if node.target == "python":
            raise RuntimeError(
                f"Could not save: the graph calls the Python function '{node.op[1:]}', which is marked @mpigrad.jit.ignore. "
                "Mark it @mpigrad.jit.unused if the saved program does not need it."
            )
        if node.target in ("save", "new", "field"):
            raise RuntimeError(f"Could not save: the graph has {node.op}, which files do not have: see docs/jit.md, Files")
        return {
            "op": node.op, "target": node.target, "inputs": [self.numbers[id(each)] for each in node.inputs],
            "keywords": list(node.keywords), "where": node.where,
            "attributes": {name: self.packer.value(each) for name, each in node.attributes.items()},
            "blocks": [self.block(each) for each in node.blocks], "outputs": [self.new(each) for each in node.outputs],
        }  # fmt: skip


def pack_type(kind: Type) -> list[Any]:
    """Encode a type as JSON."""
    if kind.kind == "Enum":
        raise RuntimeError(f"Could not save the enum {kind.python()}: a file holds graphs and plain values only")
    named = [kind.name, list(kind.fields)] if kind.fields else []
    return [kind.kind, [pack_type(each) for each in kind.args], *named]
