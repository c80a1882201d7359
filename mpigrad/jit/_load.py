"""`jit.load`: programs from files. Nothing in a file is executed but operators of graphs, each checked when compiled."""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from typing import Any

import numpy as np

from .._device import device as Device
from .._dtype import dtype as DType
from .._tensor import wrap
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._emit import identifier
from ._function import ScriptFunction
from ._graph import Block, Graph, Node, Value
from ._module import ScriptModule
from ._save import FORMAT, VERSION
from ._schema import Argument, Schema
from ._types import Type


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> Any:
    """Read a scripted function or module that `jit.save` wrote (a path, or an open binary file).

    >>> import mpigrad, io
    >>> file = io.BytesIO()
    >>> mpigrad.jit.save(mpigrad.jit._example(), file)
    >>> _ = file.seek(0)
    >>> mpigrad.jit.load(file).name
    'double_and_add'
    """
    try:
        with zipfile.ZipFile(f) as archive:
            form = json.loads(archive.read("format.json"))
            _check_format(form)
            program = json.loads(archive.read("program.json"))
            names = [name for name in archive.namelist() if name.startswith("arrays/")]
            arrays = {int(name[7:-4]): np.load(io.BytesIO(archive.read(name)), allow_pickle=False) for name in names}
    except (zipfile.BadZipFile, KeyError) as error:
        raise RuntimeError(f"{f!r} is no file of mpigrad.jit.save: {error}") from error
    reader = _Reader(program["functions"], arrays, map_location)
    if program["main"] is not None:
        return reader.function(program["main"])
    return reader.module(program["module"])


def _check_format(form: dict[str, Any]) -> None:
    if form.get("format") != FORMAT:
        raise RuntimeError(f"expected a file of format {FORMAT!r}, got {form.get('format')!r}")
    if form.get("version") != VERSION:
        raise RuntimeError(
            f"the file has version {form.get('version')!r} of the format; this mpigrad reads version {VERSION}"
        )


def unpack_type(given: Any) -> Type:
    """A type from JSON."""
    name, fields = (str(given[2]), tuple(map(identifier, given[3]))) if len(given) > 2 else ("", ())
    return Type(str(given[0]), tuple(unpack_type(each) for each in given[1]), name, fields)


class LoadedModule(ScriptModule):
    """A scripted module read from a file."""

    def _finish_script(self) -> None:
        self.__dict__["_script_methods"] = {}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"the saved module {self._script_type} has no forward")


class _Reader:
    """Rebuilds functions and modules."""

    def __init__(self, functions: dict[str, Any], arrays: dict[int, Any], place: Any) -> None:
        self.packed, self.arrays, self.place = functions, arrays, place
        self.made: dict[str, ScriptFunction] = {}

    def function(self, name: str) -> ScriptFunction:
        if name not in self.made:
            self.made[name] = self.body(self.packed[name], name)
        return self.made[name]

    def body(self, packed: dict[str, Any], name: str) -> ScriptFunction:
        given = packed["schema"]
        arguments = tuple(
            Argument(each[0], unpack_type(each[1]), each[2], each[3], self.value(each[4]))
            for each in given["arguments"]
        )
        graph = Graph(packed["graph"]["name"])
        self.block(packed["graph"], graph, {})
        graph._count = 10**6  # new names never meet the old ones
        made = ScriptFunction(graph, Schema(given["name"], arguments, unpack_type(given["returns"])), None, name)
        made.__name__ = given["name"]
        made._compile()  # whatever is wrong with the file shows now
        return made

    def block(self, packed: dict[str, Any], block: Block, values: dict[int, Value]) -> None:
        def new(given: Any, node: Node | None = None) -> Value:
            values[given[0]] = Value(unpack_type(given[2]), str(given[1]), node)
            return values[given[0]]

        block.inputs = [new(each) for each in packed["inputs"]]
        for each in packed["nodes"]:
            if each["target"] == "python":
                raise RuntimeError("a file must not call Python functions")
            if each["target"] in ("getattr", "setattr", "callmethod") and str(each["attributes"]["name"]).startswith(
                "_"
            ):
                raise RuntimeError(f"a file must not use the attribute {each['attributes']['name']!r}")
            node = Node(each["op"], [values[number] for number in each["inputs"]], each["target"])
            node.where = tuple(each["where"]) if each["where"] else None
            node.keywords = tuple(each["keywords"])
            node.attributes = {name: self.value(value) for name, value in each["attributes"].items()}
            for inner in each["blocks"]:
                node.blocks.append(Block())
                self.block(inner, node.blocks[-1], values)
            node.outputs = [new(output, node) for output in each["outputs"]]
            block.nodes.append(node)
        block.outputs = [values[number] for number in packed["outputs"]]

    def tensor(self, given: dict[str, Any]) -> Any:
        made = wrap(self.arrays[given["tensor"]])
        if self.place is not None:
            made = made.to(self.place)  # type: ignore[attr-defined]
        return made.requires_grad_(given["requires_grad"])

    def value(self, given: Any) -> Any:
        """A constant or attribute from JSON."""
        if not isinstance(given, dict):
            return given
        (kind, inside), *_ = given.items()
        return _VALUES[kind](self, given if kind == "tensor" else inside)

    def module(self, packed: dict[str, Any]) -> Module:
        made = _library_module(packed["class"]) if packed["library"] else LoadedModule()
        made.training = packed["training"]
        for name, each in packed["parameters"].items():
            value = self.value(each)
            made._parameters[name] = None if value is None else Parameter(value.detach(), value.requires_grad)  # type: ignore[assignment]
        made._buffers.update({name: self.value(each) for name, each in packed["buffers"].items()})
        made._modules.update({name: self.module(each) for name, each in packed["modules"].items()})
        made.__dict__.update({_plain_name(name): self.value(each) for name, each in packed["attributes"].items()})
        if isinstance(made, LoadedModule):
            made.__dict__["_script_type"] = packed["class"]
            for name, each in packed["methods"].items():
                made._add_method(_plain_name(name), self.body(each, f"{packed['class']}.{name}"))
        return made


def _plain_name(name: str) -> str:
    if not name.isidentifier() or name.startswith("_"):
        raise RuntimeError(f"a file must not set the attribute {name!r}")
    return name


def _library_module(name: str) -> Any:
    """An empty module of one of the library's classes."""
    cls = getattr(importlib.import_module("mpigrad.nn.modules"), name, None)
    if not (isinstance(cls, type) and issubclass(cls, Module)):
        raise RuntimeError(f"{name!r} is no module of mpigrad.nn")
    made = cls.__new__(cls)
    Module.__init__(made)
    return made


def _dtype(reader: _Reader, name: str) -> DType:
    found = getattr(importlib.import_module("mpigrad._dtype"), "bool_" if name == "bool" else name, None)
    if not isinstance(found, DType):
        raise RuntimeError(f"{name!r} is no element type")
    return found


_VALUES: dict[str, Any] = {
    "tensor": _Reader.tensor,
    "float": lambda reader, given: float.fromhex(given),
    "complex": lambda reader, given: complex(*map(float.fromhex, given)),
    "list": lambda reader, given: [reader.value(each) for each in given],
    "tuple": lambda reader, given: tuple(reader.value(each) for each in given),
    "dict": lambda reader, given: {reader.value(key): reader.value(each) for key, each in given},
    "dtype": _dtype,
    "device": lambda reader, given: Device(given),
    "ellipsis": lambda reader, given: Ellipsis,
    "function": lambda reader, given: reader.function(given),
    "type": lambda reader, given: unpack_type(given),
}
