"""`jit.load`: reads programs from files. Only operators of graphs are executed, and each is checked when it is compiled."""

from __future__ import annotations

import importlib
import inspect
import io
from functools import partial
from typing import Any, TypeVar

from mpigrad._array.device import device as Device
from mpigrad._array.device import move
from mpigrad._array.dtype import dtype as DType
from mpigrad._core.tensor import wrap
from mpigrad._ops.tensor.serialize import saved_place
from mpigrad._tensor import Tensor
from mpigrad.nn.modules.module import Module
from mpigrad.nn.parameter import Parameter

from .._codegen.emit import identifier
from .._frontend.function import ScriptFunction
from .._frontend.module import ScriptModule
from .._ir.graph import Block, Graph, Node, Value, Where
from .._ir.operators import operator, rref_files
from .._ir.schema import Argument, Schema
from .._ir.types import Type
from .archive import Refused, read, refusing
from .save import is_kept, save
from .verify import Members, verify


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> Any:
    """Read a scripted function or module that `jit.save` wrote; `f` is a path, or a file open for reading bytes.

    `map_location`: the device for all tensors; by default those from which they were saved. `_extra_files` has no
    effect.

    Files run no Python code; damaged or invalid ones raise a RuntimeError.

    >>> import mpigrad, io
    >>> @mpigrad.jit.script
    ... def double_and_add(x):
    ...     return x * 2 + x
    >>> file = io.BytesIO()
    >>> mpigrad.jit.save(double_and_add, file)
    >>> _ = file.seek(0)
    >>> mpigrad.jit.load(file).name
    'double_and_add'
    """
    if map_location is not None and not isinstance(map_location, (str, Device)):
        raise ValueError(f"map_location should be either None, string or mpigrad.device, but got type: {type(map_location)}")
    content = read(f)
    with refusing(f):
        reader = _Reader(_object(content.program.get("functions")), content.arrays, map_location)
        if content.program.get("main") is not None:
            return reader.function(content.program["main"]).call
        return reader.module(_object(content.program.get("module")))


def unpack_type(given: Any) -> Type:
    """Decode a type from JSON."""
    kind, args, *rest = given
    name, fields = (str(rest[0]), tuple(map(identifier, rest[1]))) if rest else ("", ())
    made = Type(_text(kind), tuple(unpack_type(each) for each in args), name, fields)
    if made.kind in _ARITY and len(made.args) != _ARITY[made.kind]:
        raise Refused(f"the type {made.kind} cannot have {len(made.args)} type argument(s)")
    if made.kind == "Enum" or (fields and (made.kind != "Tuple" or len(fields) != len(made.args))):
        raise Refused(f"the type {made.kind} cannot have the fields {fields}")
    return made


_Part = TypeVar("_Part")
_WORDS = {str: "a text", dict: "an object", bool: "true or false"}


def _part(kind: type[_Part], given: Any) -> _Part:
    """A part of the file's JSON; raises an error unless it has the expected type."""
    if not isinstance(given, kind):
        raise Refused(f"expected {_WORDS[kind]}, got {given!r:.100}")
    return given


_text, _object, _flag = partial(_part, str), partial(_part, dict), partial(_part, bool)


class LoadedModule(ScriptModule):
    """A scripted module read from a file."""

    def _finish_script(self) -> None:
        self.__dict__["_script_methods"] = {}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"the saved module {self._script_type} has no forward")


class _Reader:
    """Rebuilds functions and modules."""

    def __init__(self, functions: dict[str, Any], arrays: dict[int, Any], map_location: Any) -> None:
        self.packed, self.arrays, self.wanted = functions, arrays, map_location
        self.made: dict[str, ScriptFunction | None] = {}
        self.members: dict[int, Members] = {}  # of the modules, by id

    def place(self, saved: str) -> Device:
        """The device for a tensor that was saved from a device."""
        try:
            return saved_place(saved if self.wanted is None else self.wanted, "mpigrad.jit.load")
        except RuntimeError as error:
            raise Refused(str(error)) from error

    def function(self, name: str) -> ScriptFunction:
        if name not in self.made:
            if name not in self.packed:
                raise Refused(f"the function {name!r} is missing")
            self.made[name] = None  # being read
            self.made[name] = self.body(_object(self.packed[name]), name)
        found = self.made[name]
        if found is None:
            raise Refused(f"the function {name!r} calls itself: recursive calls aren't supported")
        return found

    def body(self, packed: dict[str, Any], name: str, me: Any = None) -> ScriptFunction:
        given = packed["schema"]
        arguments = tuple(
            Argument(identifier(each[0]), unpack_type(each[1]), _flag(each[2]), _flag(each[3]), self.value(each[4]))
            for each in given["arguments"]
        )
        graph = Graph(_text(packed["graph"]["name"]))
        self.block(packed["graph"], graph, {})
        graph._count = 10**6  # new names cannot collide with those of the file
        schema = Schema(identifier(given["name"]), arguments, unpack_type(given["returns"]))
        verify(graph, schema, me, self.members)
        made = ScriptFunction(graph, schema, None, name)
        made._compile()  # compile now, to detect further errors of the file at load
        return made

    def block(self, packed: dict[str, Any], block: Block, around: dict[int, Value]) -> None:
        """Read a block; its nodes can use earlier values and those of enclosing blocks."""
        values = dict(around)

        def new(given: Any, node: Node | None = None) -> Value:
            number, name, kind = given
            if type(number) is not int or number in values:
                raise Refused(f"the value {number!r} is defined twice, or is not a number")
            values[number] = Value(unpack_type(kind), _text(name), node)
            return values[number]

        def old(number: Any) -> Value:
            if type(number) is not int or number not in values:
                raise Refused(f"the value {number!r} is used but not defined there")
            return values[number]

        block.inputs = [new(each) for each in packed["inputs"]]
        for each in packed["nodes"]:
            node = Node(_text(each["op"]), list(map(old, each["inputs"])), _text(each["target"]))
            node.where = _where(each["where"])
            node.keywords = tuple(map(_text, each["keywords"]))
            node.attributes = {name: self.value(value) for name, value in _object(each["attributes"]).items()}
            for inner in each["blocks"]:
                node.blocks.append(Block())
                self.block(inner, node.blocks[-1], values)
            node.outputs = [new(output, node) for output in each["outputs"]]
            block.nodes.append(node)
        block.outputs = list(map(old, packed["outputs"]))

    def tensor(self, given: dict[str, Any]) -> Any:
        number = given["tensor"]
        if type(number) is not int or number not in self.arrays:
            raise Refused(f"the array {number!r} is missing")
        made = wrap(move(self.arrays[number], self.place(_text(given.get("device", "cpu")))))
        return made.requires_grad_(_flag(given["requires_grad"]))  # type: ignore[attr-defined]

    def value(self, given: Any) -> Any:
        """Decode a constant or an attribute from JSON."""
        if given is None or isinstance(given, (bool, int, str)):
            return given
        kind = next(iter(_object(given)), None)
        if kind not in _VALUES:
            raise Refused(f"values of kind {kind!r} are unknown")
        return _VALUES[kind](self, given if kind == "tensor" else given[kind])

    def tensors(self, packed: Any) -> dict[str, Any]:
        made = {_part_name(name): self.value(each) for name, each in _object(packed).items()}
        for name, each in made.items():
            if each is not None and not isinstance(each, Tensor):
                raise Refused(f"{name!r} is a {type(each).__name__}, expected a tensor")
        return made

    def module(self, packed: dict[str, Any]) -> Module:
        kind = _text(packed["class"])
        made = _library_module(kind) if _flag(packed["library"]) else LoadedModule()
        made.training = _flag(packed["training"])
        for name, value in self.tensors(packed["parameters"]).items():
            made._parameters[name] = None if value is None else Parameter(value.detach(), value.requires_grad)  # type: ignore[assignment]
        made._buffers.update(self.tensors(packed["buffers"]))
        inside = _object(packed["modules"]).items()
        made._modules.update({_part_name(name): self.module(_object(each)) for name, each in inside})
        attributes = {name: self.value(each) for name, each in _object(packed["attributes"]).items()}
        _check_attributes(type(made), attributes, packed["library"])
        made.__dict__.update({name: getattr(each, "call", each) if isinstance(each, ScriptFunction) else each
                              for name, each in attributes.items()})  # fmt: skip
        methods = {_plain_name(name): _object(each) for name, each in _object(packed["methods"]).items()}
        data = {"training", *made._parameters, *made._buffers, *attributes}
        self.members[id(made)] = Members(frozenset(data - methods.keys()), frozenset(methods))
        if isinstance(made, LoadedModule):
            made.__dict__["_script_type"] = kind
            for name, each in methods.items():
                made._add_method(name, self.body(each, f"{kind}.{name}", made))
        elif methods:
            raise Refused(f"{kind!r} is a library module, but the file gives it the methods {sorted(methods)}")
        return made


def _rref(given: Any) -> Any:
    if not (isinstance(given, list) and len(given) == 4 and all(type(each) is int and each >= 0 for each in given)):
        raise Refused(f"{given!r:.100} is not an RRef")
    return rref_files().unpack(*given)


def _where(given: Any) -> Where | None:
    if not given:
        return None
    file, line, column = given
    return _text(file), int(line), int(column)


def _part_name(name: str) -> str:
    """Check the name of a parameter, buffer or submodule, and return it."""
    if not name or "." in name or (name.isidentifier() and not is_kept(name)):
        raise Refused(f"{name!r} is not a valid name of a parameter, buffer or submodule")
    return name


def _check_attributes(cls: type, attributes: dict[str, Any], library: bool) -> None:
    """Raise an error unless attributes of library modules are values: a file must not override methods or class attributes."""
    for name in attributes:
        if not is_kept(name):
            raise Refused(f"a file must not set the attribute {name!r}")
        found = inspect.getattr_static(cls, name, None) if library else None
        if (library and name == "function") or callable(found) or isinstance(found, (property, classmethod, staticmethod)):
            raise Refused(f"a file must not set the attribute {name!r} of {cls.__name__}")


def _plain_name(name: str) -> str:
    if not is_kept(name):
        raise Refused(f"a file must not set the attribute {name!r}")
    return name


def _library_module(name: str) -> Any:
    """An empty module of one of the library's classes."""
    homes = map(importlib.import_module, ("mpigrad.nn.modules", "mpigrad.nn.modules.attention"))
    cls = next((found for home in homes if (found := getattr(home, name, None)) is not None), None)
    if not (isinstance(cls, type) and issubclass(cls, Module)):
        raise Refused(f"{name!r} is not a module of mpigrad.nn")
    made = cls.__new__(cls)
    Module.__init__(made)
    return made


def _dtype(reader: _Reader, name: str) -> DType:
    found = getattr(importlib.import_module("mpigrad._array.dtype"), "bool_" if name == "bool" else _text(name), None)
    if not isinstance(found, DType):
        raise Refused(f"{name!r} is not an element type")
    return found


_ARITY = {"List": 1, "Optional": 1, "Future": 1, "RRef": 1, "Dict": 2}
_VALUES: dict[str | None, Any] = {
    "tensor": _Reader.tensor,
    "float": lambda reader, given: float.fromhex(given),
    "complex": lambda reader, given: complex(float.fromhex(given[0]), float.fromhex(given[1])),
    "list": lambda reader, given: [reader.value(each) for each in given],
    "tuple": lambda reader, given: tuple(reader.value(each) for each in given),
    "dict": lambda reader, given: {reader.value(key): reader.value(each) for key, each in given},
    "dtype": _dtype,
    "device": lambda reader, given: Device(_text(given)),
    "ellipsis": lambda reader, given: Ellipsis,
    "rref": lambda reader, given: _rref(given),
    "function": lambda reader, given: reader.function(given),
    "operator": lambda reader, given: operator(*map(_text, given)),
    "type": lambda reader, given: unpack_type(given),
}


# -- modules as arguments and results of calls -----------------------------------------------------------------------------
def reduce_in_rpc(module: ScriptModule) -> Any:
    """Encode a scripted module in a message, as `jit.save` does."""
    if "module_rref" in vars(module):
        raise RuntimeError(
            "Passing a script RemoteModule over RPC is not supported. Please create a RemoteModule in the sender, send the "
            "`module_rref` to the receiver, and create a new instance on the receiver end by passing this `module_rref`."
        )
    file = io.BytesIO()
    save(module, file)
    return _received, (file.getvalue(),)


def _received(data: bytes) -> Any:
    return load(io.BytesIO(data))
