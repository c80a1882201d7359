"""Compiles a graph to a Python function."""

from __future__ import annotations

import keyword
import math
import string
from typing import Any

from mpigrad._ops.tensor.serialize import save

from .._ir.convert import NO, convert
from .._ir.errors import Error
from .._ir.graph import Graph, Node, Value
from .._ir.operators import (
    BLOCKS,
    RPC_CALLS,
    distributed,
    is_tensor_attribute,
    is_tensor_method,
    operator,
    profiler_operator,
)
from .._ir.pure import is_pure
from .._ir.python_builtins import BUILTINS, MATH, METHODS
from .._ir.types import TENSOR, class_of, script_classes
from .direct import Direct, direct_function, direct_method, direct_shape, direct_sign
from .emit import Writer, identifier
from .fork import fork

_BINARY = {"+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "in", "not in",
           "is", "is not"}  # fmt: skip


class Runner(Writer):
    """Generates the code that runs a graph."""

    def __init__(self, graph: Graph, namespace: dict[str, Any], reserved: set[str]) -> None:
        """`namespace` receives the objects that the code uses; `reserved` are names that variables must not have."""
        super().__init__(graph)
        self.namespace, self.reserved = namespace, reserved
        self.variables: dict[int, str] = {}
        # the object is stored too: an id is unique only while its object exists
        self.globals: dict[int, tuple[Any, str]] = {}  # objects and their names, by id
        self.count = 0

    def name(self, value: Value) -> str:
        # a cast or a loop result is another name for an existing variable
        while id(value) in self.aliases:
            value = self.aliases[id(value)]
        found = self.variables.get(id(value))
        if found is None:
            found = self.variables[id(value)] = self.new_variable()
        return found

    def new_variable(self) -> str:
        """The name of a new variable."""
        while True:
            self.count += 1
            if f"v{self.count}" not in self.reserved:
                return f"v{self.count}"

    def global_name(self, obj: Any) -> str:
        """A name in the generated code for an object that it uses."""
        if id(obj) not in self.globals:
            number, title = len(self.namespace), getattr(obj, "__name__", None)
            ending = f"_{title}" if isinstance(title, str) and title.isascii() and title.isidentifier() else ""
            while f"g{number}{ending}" in self.namespace or f"g{number}{ending}" in self.reserved:
                number += 1
            self.namespace[f"g{number}{ending}"] = obj
            self.globals[id(obj)] = (obj, f"g{number}{ending}")
        return self.globals[id(obj)][1]

    def constant(self, node: Node) -> str:
        value: Any = node.attributes.get("value")
        if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
            # in parentheses, as `-1 ** 2` and `-1 .real` bind differently; inf and nan have no literal
            return f"({value!r})" if type(value) in (int, float) and value < 0 else repr(value)
        return self.global_name(value)

    def counting(self, turns: str) -> str:
        return f"{self.global_name(range)}({turns})"

    def element(self, node: Node) -> Node | None:
        body, turns = node.blocks[0], node.inputs[0].node
        first, index = next((each for each in body.nodes if each.op != "prim::Constant"), None), body.inputs[0]
        if first is None or first.op != "aten::__getitem__" or turns is None or turns.op != "aten::len":
            return None
        held = first.inputs[0]
        # `for i in range(len(items)): x = items[i]`, with `i` used for nothing else, becomes `for x in items`
        if first.inputs[1] is not index or self.uses[id(index)] != 1 or turns.inputs[0] is not held or held.type.kind != "List":
            return None
        if self.uses[id(first.output)] == 0 or any(held is each for each in body.inputs):
            return None
        # a body that changes the list would see other elements than the original loop, which evaluates len() once
        return first if all(each is first or is_pure(each) for each in body.walk()) else None

    def mode(self, node: Node) -> str:
        given = ", ".join(map(self.text, node.inputs))
        return f"{self.global_name(BLOCKS[node.attributes['name']])}({given})"

    def raising(self, node: Node, message: str) -> str:
        return f"raise {self.global_name(_error)}({node.attributes['name']!r}, {message})"

    def call(self, node: Node, args: list[str]) -> str:
        kind, _, rest = node.target.partition(":")
        run = getattr(self, f"_call_{kind}", None)
        if run is None:
            raise ValueError(f"the node {node.op} has an unknown target: {node.target!r}")
        return run(node, rest, args)

    def _on(self, found: Direct, args: list[str]) -> str:
        return f"{self.global_name(found.function)}({', '.join(args[place] for place in found.places)})"

    def _with_keywords(self, node: Node, args: list[str]) -> str:
        plain = len(args) - len(node.keywords)
        for each in node.keywords:
            if keyword.iskeyword(identifier(each)):
                raise ValueError(f"{each!r} is not a valid name of an argument")
        return ", ".join([*args[:plain], *(f"{name}={text}" for name, text in zip(node.keywords, args[plain:]))])

    def _call_op(self, node: Node, sign: str, args: list[str]) -> str:
        if sign not in _BINARY:
            raise ValueError(f"unknown operator {sign!r}")
        found = direct_sign(sign, node)
        if found is not None:
            return self._on(found, args)
        return f"({args[0]} {sign} {args[1]})"

    def _call_uop(self, node: Node, sign: str, args: list[str]) -> str:
        if sign not in ("-", "~", "+", "not "):
            raise ValueError(f"unknown operator {sign!r}")
        return f"({sign}{args[0]})"

    def _call_method(self, node: Node, name: str, args: list[str]) -> str:
        if not is_tensor_method(name) and name not in METHODS:
            raise ValueError(f"{name!r} is not a method that a graph may call")
        if name == "format":
            return self._formatting(node, args)
        # Graphs come from files too. These checks keep a loaded graph from running code other than operators.
        if name == "sort" and "key" in node.keywords:
            raise ValueError("list.sort() takes no key in a graph, because a key function is not an operator")
        shaped = direct_shape(name, node)
        if shaped is not None:
            return f"{self.global_name(shaped)}({args[0]})"
        found = direct_method(name, node)
        if found is not None:
            return self._on(found, args)
        return f"{args[0]}.{identifier(name)}({self._with_keywords(node, args[1:])})"

    def _formatting(self, node: Node, args: list[str]) -> str:
        text = node.inputs[0].constant
        if not isinstance(text, str):
            return f"{self.global_name(_format)}({self._with_keywords(node, args)})"
        _check_fields(text)
        return f"{args[0]}.format({self._with_keywords(node, args[1:])})"

    def _call_attr(self, node: Node, name: str, args: list[str]) -> str:
        if not is_tensor_attribute(name) and name not in ("type", "index", "name", "value"):
            raise ValueError(f"{name!r} is not an attribute that a graph may read")
        return f"{args[0]}.{identifier(name)}"

    def _call_getattr(self, node: Node, rest: str, args: list[str]) -> str:
        name = node.attributes["name"]
        if not name.isidentifier() and name.isdigit():
            return f"{args[0]}._modules[{name!r}]"
        owner, kind = args[0], node.output.type
        table = "_parameters" if kind == TENSOR else "_modules" if kind.kind.startswith("__mpigrad__") else ""
        plain = f"{owner}.{identifier(name)}"
        if not table or not owner.isidentifier():
            return plain
        return f"({owner}.{table}[{name!r}] if {name!r} in {owner}.{table} else {plain})"  # `__getattr__` is slower

    def _call_field(self, node: Node, rest: str, args: list[str]) -> str:
        return f"{args[0]}.{identifier(node.attributes['name'])}"

    def _call_new(self, node: Node, rest: str, args: list[str]) -> str:
        cls = script_classes[node.output.type.kind].cls
        return f"{self.global_name(cls.__new__)}({self.global_name(cls)})"

    def _call_fn(self, node: Node, rest: str, args: list[str]) -> str:
        module, _, name = rest.partition(":")
        function = operator(module, name)
        found = direct_function(function, node)
        return f"{self.global_name(function)}({self._with_keywords(node, args)})" if found is None else self._on(found, args)

    def _call_builtin(self, node: Node, name: str, args: list[str]) -> str:
        return f"{self.global_name(BUILTINS[name])}({', '.join(args)})"

    def _call_math(self, node: Node, name: str, args: list[str]) -> str:
        if name not in MATH:
            raise ValueError(f"unknown function math.{name}")
        return f"{self.global_name(getattr(math, name))}({', '.join(args)})"

    def _call_prim(self, node: Node, name: str, args: list[str]) -> str:
        if name == "listed":
            which = {"keys": "keys", "values": "values", "items": "items"}[node.attributes["name"]]
            return f"{self.global_name(list)}({args[0]}.{which}())"
        if name == "range_length":
            return f"{self.global_name(len)}({self.global_name(range)}({', '.join(args)}))"
        if name == "float_pow":
            return f"{self.global_name(float)}({args[0]} ** {args[1]})"
        return {"derive_index": "({1} + {0} * {2})"}[name].format(*args)

    def _call_index(self, node: Node, rest: str, args: list[str]) -> str:
        return f"{args[0]}[{args[1]}]"

    def _call_list(self, node: Node, rest: str, args: list[str]) -> str:
        return f"[{', '.join(args)}]"

    def _call_tuple(self, node: Node, rest: str, args: list[str]) -> str:
        return f"({', '.join(args)}{',' if len(args) == 1 else ''})"

    def _call_named(self, node: Node, rest: str, args: list[str]) -> str:
        return f"{self.global_name(class_of(node.output.type))}({', '.join(args)})"

    def _call_dict(self, node: Node, rest: str, args: list[str]) -> str:
        return "{" + ", ".join(f"{k}: {v}" for k, v in zip(args[::2], args[1::2])) + "}"

    def _call_call(self, node: Node, rest: str, args: list[str]) -> str:
        return f"{self.global_name(node.attributes['function'].inner())}({', '.join(args)})"

    def _call_python(self, node: Node, rest: str, args: list[str]) -> str:
        return f"{self.global_name(node.attributes['function'])}({self._with_keywords(node, args)})"

    def _call_callmethod(self, node: Node, rest: str, args: list[str]) -> str:
        name = identifier(node.attributes["name"])
        return f"{args[0]}{'' if name == 'forward' else f'._script_method({name!r})'}({', '.join(args[1:])})"

    def _call_fork(self, node: Node, rest: str, args: list[str]) -> str:
        return f"{self.global_name(fork)}({', '.join([self.global_name(node.attributes['function'].call), *args])})"

    def _call_dist(self, node: Node, name: str, args: list[str]) -> str:
        function = self.global_name(distributed(name))
        if name in RPC_CALLS:
            args[1] = self.global_name(node.attributes["function"].call)  # in the graph it is a name
        return f"{function}({self._with_keywords(node, args)})"

    def _call_profiler(self, node: Node, name: str, args: list[str]) -> str:
        return f"{self.global_name(profiler_operator(name))}({', '.join(args)})"

    def _call_save(self, node: Node, rest: str, args: list[str]) -> str:
        return f"{self.global_name(refuse_rref if node.attributes['refused'] else save)}({', '.join(args)})"

    def _call_isinstance(self, node: Node, rest: str, args: list[str]) -> str:
        return f"{self.global_name(_instance)}({args[0]}, {self.global_name(node.attributes['types'])})"

    def _call_fused(self, node: Node, rest: str, args: list[str]) -> str:
        return f"{self.global_name(node.attributes['kernel'].fast)}({', '.join(args)})"


def refuse_rref(*args: Any) -> None:
    """Raises the error for saving an RRef."""
    raise RuntimeError("RRef jit pickling is only allowed inside RPC calls.")


def _error(name: str, message: str) -> Exception:
    text = f"builtins.{name}: {message}" if message else f"builtins.{name}"
    return Error(text)


def _format(text: str, *args: Any, **kwargs: Any) -> str:
    """`text.format(...)` that raises an error if the format accesses attributes or items of its arguments."""
    _check_fields(text)
    return text.format(*args, **kwargs)


def _check_fields(text: str) -> None:
    # "{0.__class__}" would read any attribute of an argument, and so reach Python objects that scripts may not use
    for _, field, spec, _ in string.Formatter().parse(text):
        if field and not field.isalnum() or spec and "{" in spec:
            raise ValueError(f"the format field {field!r} reads attributes or items of its argument, which scripted code may not")


def _instance(value: Any, kinds: Any) -> bool:
    return any(convert(each, value) is not NO for each in kinds)


def compile_plain(graph: Graph, head: str = "", **uses: Any) -> Any:
    """The function that runs a graph, without checks; `head` is a statement before it, of the graph's inputs as `{given}`."""
    writer = Runner(graph, dict(uses), set())
    given = ", ".join(writer.name(each) for each in graph.inputs)
    writer.finish()
    first = [f"def run({given}):", *([f"    {head.format(given=given)}"] if head else [])]
    # The text contains only names made here and checked identifiers; objects are in the namespace.
    exec("\n".join([*first, *writer.lines]), writer.namespace)
    return writer.namespace.pop("run")
