"""Members of modules: how parameters, submodules, attributes and methods of `self` are lowered."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from mpigrad.nn.modules.container import ModuleList, Sequential

from .._ir.graph import Value
from .._ir.types import BOOL, NONE, TENSOR, Type, optional, qualified, tuple_of, type_of
from .builder import BoundMethod, PythonObject, StaticTuple
from .scope import Scope

_RESULTS = {
    "LSTM": tuple_of(TENSOR, tuple_of(TENSOR, TENSOR)), "GRU": tuple_of(TENSOR, TENSOR), "RNN": tuple_of(TENSOR, TENSOR),
    "LSTMCell": tuple_of(TENSOR, TENSOR), "MultiheadAttention": tuple_of(TENSOR, optional(TENSOR)),
}  # fmt: skip


def is_library(module: Any) -> bool:
    """Whether a module and all its submodules are library modules: then it is called as an operator."""
    return all(f"{type(each).__module__}.".startswith("mpigrad.nn.") for each in module.modules())


class ModuleMembers:
    """The members of the module whose method is lowered, and of the modules inside it."""

    def __init__(self, scripted: Any, original: Any) -> None:
        self.scripted, self.original = scripted, original
        self.type_name = qualified(type(original))
        self.values: dict[int, tuple[Value, Any]] = {}  # values of the graph that are modules

    def knows(self, builder: Any, value: Any) -> bool:
        """Whether a value of the graph is a module."""
        return value is builder.me or id(value) in self.values

    def module_of(self, builder: Any, value: Value) -> Any:
        return self.scripted if value is builder.me else self.values[id(value)][1]

    # -- attributes --------------------------------------------------------------------------------------------------
    def attribute(self, builder: Any, node: ast.Attribute, owner: Value) -> Any:
        module, name = self.module_of(builder, owner), node.attr
        if name in module._modules:
            return self._child(builder, node, owner, module._modules[name], name)
        for tensors in (module._parameters, module._buffers):
            if name in tensors:
                return (
                    self._get(builder, node, owner, name, TENSOR)
                    if tensors[name] is not None
                    else builder.constant(node, None)
                )
        source = self._source(module)
        # looked up in the class: the instance's bound method would be called as Python
        function = getattr(type(source), name, None)
        if inspect.isfunction(function):
            return BoundMethod(owner, name)
        if name == "training":
            return self._get(builder, node, owner, name, BOOL)
        if not hasattr(source, name):
            raise builder.fail(node, f"Module '{type(source).__name__}' has no attribute '{name}'")
        return self._plain(builder, node, owner, source, name)

    def _source(self, module: Any) -> Any:
        return self.original if module is self.scripted else getattr(module, "_original", module)

    def _plain(self, builder: Any, node: ast.Attribute, owner: Value, source: Any, name: str) -> Any:
        value = getattr(source, name)
        hints = {
            key: each
            for cls in reversed(type(source).__mro__)
            for key, each in vars(cls).get("__annotations__", {}).items()
        }
        kind = Scope(type(source).forward).of_argument(hints[name]) if name in hints else type_of(value)
        if kind is None:
            if callable(value):
                return PythonObject(value, name)
            raise builder.fail(
                node, f"Module '{type(source).__name__}' has no attribute '{name}' (This attribute exists on the Python module, "
                f"but we failed to convert Python type: '{type(value).__name__}' to a scripted type)",
            )  # fmt: skip
        return builder.constant(node, None) if kind == NONE else self._get(builder, node, owner, name, kind)

    def _get(self, builder: Any, node: Any, owner: Value, name: str, kind: Type) -> Value:
        return builder.add(node, "prim::GetAttr", [owner], kind, "getattr", name=name)

    def _child(self, builder: Any, node: Any, owner: Value, child: Any, name: str) -> Any:
        value = self._get(builder, node, owner, name, Type(qualified(type(self._source(child)))))
        # the value is stored too, so that its id stays unique
        self.values[id(value)] = (value, child)
        if isinstance(child, ModuleList) or (isinstance(child, Sequential) and not is_library(child)):
            return StaticTuple([self._child(builder, node, value, each, key) for key, each in child._modules.items()])
        return value

    # -- calls -------------------------------------------------------------------------------------------------------
    def call(self, builder: Any, node: ast.Call, owner: Value, name: str) -> Value:
        """Lower a call of a method of a module."""
        args, kwargs = builder.arguments(node)
        return self._invoke(builder, node, owner, self.module_of(builder, owner), name, args, kwargs)

    def call_each(self, builder: Any, node: ast.Call, modules: StaticTuple) -> Value:
        """Lower a call of a Sequential: its modules are called in order."""
        args, kwargs = builder.arguments(node)
        for each in modules.items:
            if isinstance(each, StaticTuple):
                raise builder.refuse(node, "Sequentials of Sequentials of scripted modules aren't supported")
            args = [self._invoke(builder, node, each, self.module_of(builder, each), "forward", args, kwargs)]
            kwargs = {}
        return args[0]

    def _invoke(self, builder: Any, node: Any, owner: Value, module: Any, name: str, args: Any, kwargs: Any) -> Value:
        function = getattr(type(self._source(module)), name)
        mark = getattr(function, "_jit_mark", None)
        if mark == "unused":
            return builder._as_unused(node, function, args, kwargs)
        if mark == "ignore":
            return builder._as_ignored(node, function, [owner, *args], kwargs)
        if module is not self.scripted and is_library(module):
            if name != "forward":
                raise builder.fail(
                    node, f"only forward of {type(module).__name__} can be called in scripted code, not '{name}'"
                )
            kind = _RESULTS.get(type(module).__name__, TENSOR)
            if kwargs:
                raise builder.fail(node, f"{type(module).__name__} takes positional arguments only in scripted code")
            return builder.add(node, "prim::CallMethod", [owner, *args], kind, "callmethod", name="forward")
        method = module._compiled_method(name)
        inputs = builder.bind(node, method.schema, args, kwargs)
        return builder.add(node, "prim::CallMethod", [owner, *inputs], method.returns, "callmethod", name=name)
