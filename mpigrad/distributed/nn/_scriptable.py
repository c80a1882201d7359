"""Remote modules that scripted code can call: a class for each interface, with `forward` and `forward_async` of its signature.

The methods are generated as source code, as in PyTorch, and compiled when the remote module is scripted; in Python they run
uncompiled. The function that runs on the module's worker is scripted, and the worker finds it by name, so `scriptable` is called
there as well.
"""

from __future__ import annotations

import linecache
from functools import cache
from typing import Any

from ...jit import export, script
from ...jit._ir.schema import Schema
from ...jit._ir.types import BOOL, STR, TENSOR, Type, interfaces, optional, qualified
from .. import rpc

_SOURCE = """\
def remote_forward({all}):
    module = module_rref.local_value()
    if device != "cpu":
        pass{moved}
    result = module.forward({names})
    if device != "cpu" and not is_device_map_set:
        return {result}
    return result


def forward_async(self, {names}):
    args = (self.module_rref, self.device, self.is_device_map_set, {names})
    return rpc.rpc_async(self.module_rref.owner(), remote_forward, args)


def forward(self, {names}):
    args = (self.module_rref, self.device, self.is_device_map_set, {names})
    return rpc.rpc_sync(self.module_rref.owner(), remote_forward, args)
"""
_MOVED = {
    TENSOR: "\n        {0} = {0}.to(device)",
    optional(TENSOR): "\n        if {0} is not None:\n            {0} = {0}.to(device)",
}
_OWN = {"module_rref": None, "device": STR, "is_device_map_set": BOOL}


@cache
def scriptable(interface: Any) -> dict[str, Any]:
    """Return the methods of remote modules with this interface, by name, and the types of the attributes that they use.

    ValueError or AssertionError if `interface` is no class decorated with `jit.interface`, or has no `forward`.
    """
    name = qualified(interface) if isinstance(interface, type) else ""
    if name not in interfaces:
        raise ValueError(f"module_interface_cls {interface} must be a type object decorated by @mpigrad.jit.interface")
    schema = interfaces[name].get("forward")
    if schema is None:
        raise AssertionError(f"Expect forward in interface methods, while it has {list(interfaces[name])}")
    made = _written(name, schema)
    kinds = {**_OWN, "module_rref": Type("RRef", (Type(name),))}
    arguments = {each.name: each.type for each in schema.arguments}
    defaults = tuple(each.default for each in schema.arguments if each.has_default)
    for function, hints in (
        (made["remote_forward"], {**kinds, **arguments, "return": schema.returns}),
        (made["forward"], {**arguments, "return": schema.returns}),
        (made["forward_async"], {**arguments, "return": Type("Future", (schema.returns,))}),
    ):
        function.__annotations__, function.__defaults__ = hints, defaults
    made["remote_forward"] = script(made["remote_forward"])
    return {"forward": made["forward"], "forward_async": export(made["forward_async"]), "__annotations__": kinds}


def _written(name: str, schema: Schema) -> dict[str, Any]:
    """Write the source of the functions for an interface's `forward` (its schema), compile it, and return them by name."""
    names = [each.name for each in schema.arguments]
    moved = "".join(_MOVED[each.type].format(each.name) for each in schema.arguments if each.type in _MOVED)
    text = _SOURCE.format(
        all=", ".join([*_OWN, *names]), names=", ".join(names), moved=moved, result=_on_host("result", schema.returns)
    )
    module = f"_remote_module_{name.replace('.', '_')}"
    file = f"<{module}>"
    # `script` reads the source of a function by `inspect`, which looks here for files that do not exist.
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    space: dict[str, Any] = {"__name__": module, "rpc": rpc}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    return space


def _on_host(value: str, kind: Type) -> str:
    """Return the source of an expression that moves the tensors of a result to the CPU; `kind` is its type."""
    if kind == TENSOR:
        return f"{value}.cpu()"
    if kind.kind == "Tuple" and not kind.fields and kind.args:
        return f"({', '.join(_on_host(f'{value}[{place}]', each) for place, each in enumerate(kind.args))},)"
    return value
