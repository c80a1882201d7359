"""Expressions: constants, names, attributes, arithmetic, comparisons, items and slices, lists, tuples, dicts."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from typing import Any

from .._ir.graph import Value
from .._ir.operators import is_tensor_attribute, is_tensor_method
from .._ir.types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    LAYOUT,
    NUMBER,
    NUMERIC,
    SIZES,
    STR,
    TENSOR,
    Type,
    fits,
    list_of,
    script_classes,
    unify,
)  # fmt: skip
from .branches import Branches, Undefined
from .builder import BoundMethod, PythonObject, StaticTuple
from .loops import Loops

BINARY: dict[type, tuple[str, str]] = {
    ast.Add: ("add", "+"), ast.Sub: ("sub", "-"), ast.Mult: ("mul", "*"), ast.Div: ("div", "/"),
    ast.FloorDiv: ("floordiv", "//"), ast.Mod: ("remainder", "%"), ast.Pow: ("pow", "**"), ast.MatMult: ("matmul", "@"),
    ast.BitAnd: ("__and__", "&"), ast.BitOr: ("__or__", "|"), ast.BitXor: ("__xor__", "^"),
    ast.LShift: ("__lshift__", "<<"), ast.RShift: ("__rshift__", ">>"),
}  # fmt: skip
INPLACE: dict[type, str] = {
    ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_", ast.Mod: "remainder_", ast.Pow: "pow_",
    ast.FloorDiv: "floor_divide_",
}  # fmt: skip
COMPARE: dict[type, tuple[str, str]] = {
    ast.Eq: ("eq", "=="), ast.NotEq: ("ne", "!="), ast.Lt: ("lt", "<"), ast.LtE: ("le", "<="), ast.Gt: ("gt", ">"),
    ast.GtE: ("ge", ">="), ast.In: ("__contains__", "in"), ast.NotIn: ("__not_contains__", "not in"),
}  # fmt: skip
_ATTRIBUTES = {
    "shape": SIZES, "dtype": Type("dtype"), "device": DEVICE, "layout": LAYOUT, "ndim": INT, "requires_grad": BOOL,
    "is_leaf": BOOL, "is_sparse": BOOL, "is_cuda": BOOL, "grad": Type("Optional", (TENSOR,)),
}  # fmt: skip
_MAGIC = {  # methods of script classes
    **{sign: f"__{word}__" for sign, word in (
        ("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "truediv"), ("//", "floordiv"), ("%", "mod"), ("**", "pow"),
        ("@", "matmul"), ("&", "and"), ("|", "or"), ("^", "xor"), ("<<", "lshift"), (">>", "rshift"), ("==", "eq"), ("!=", "ne"),
        ("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"))},
}  # fmt: skip
_RANK = [BOOL, INT, FLOAT, COMPLEX]


class Expressions(Branches, Loops):
    """The part of lowering that handles expressions."""

    class_method: Callable[..., Any]  # see `Calls`

    def expression(self, node: ast.expr, hint: Type | None = None) -> Any:
        """Lower an expression to a value of the graph or a compile-time object. `hint` is the expected type."""
        run = getattr(self, f"_{type(node).__name__}_value", None)
        if run is None:
            raise self.unsupported(node, type(node).__name__)
        return run(node, hint)

    def _Constant_value(self, node: ast.Constant, hint: Any) -> Any:
        if node.value is Ellipsis:
            return PythonObject(Ellipsis, "...")
        if isinstance(node.value, bytes):
            raise self.unsupported(node, "bytes")
        return self.constant(node, node.value)

    def _Name_value(self, node: ast.Name, hint: Any) -> Any:
        found = self.env.get(node.id)
        if isinstance(found, Undefined):
            raise self.fail(node, found.why)
        if found is not None:
            return found
        found = self.scope.find(node.id)
        if found is None:
            raise self.fail(node, f"undefined value {node.id}")
        return found

    def _IfExp_value(self, node: ast.IfExp, hint: Any) -> Any:
        return self.lower_choice(node)

    def _ListComp_value(self, node: ast.ListComp, hint: Any) -> Any:
        return self.lower_comprehension(node)

    def _BoolOp_value(self, node: ast.BoolOp, hint: Any) -> Any:
        return self.condition(node)[0]

    # -- attributes ------------------------------------------------------------------------------------------------
    def _Attribute_value(self, node: ast.Attribute, hint: Any) -> Any:
        owner = self.expression(node.value)
        if isinstance(owner, PythonObject) and isinstance(owner.obj, enum.Enum):
            owner = self.value(node, owner)
        if isinstance(owner, PythonObject):
            return self.scope.attribute(self, node, owner)
        if isinstance(owner, (BoundMethod, StaticTuple)):
            raise self.fail(node, f"attribute lookup is not defined on '{ast.unparse(node.value)}'")
        if self.module is not None and self.module.knows(self, owner):
            return self.module.attribute(self, node, owner)
        return self._value_attribute(node, owner)

    def _value_attribute(self, node: ast.Attribute, owner: Value) -> Any:
        kind, name = owner.type, node.attr
        if kind == TENSOR and is_tensor_attribute(name):
            return self.add(node, f"prim::{name}", [owner], _ATTRIBUTES.get(name, TENSOR), f"attr:{name}")
        if kind == TENSOR and not is_tensor_method(name):
            raise self.fail(node, f"'Tensor' object has no attribute or method '{name}'.")
        if name in kind.fields:
            place = self.constant(node, kind.fields.index(name))
            return self.add(node, "prim::TupleIndex", [owner, place], kind.args[kind.fields.index(name)], "index")
        if kind.kind == "Enum" and name in ("name", "value"):
            inside = STR if name == "name" else kind.args[0]
            return self.add(node, f"prim::Enum{name.capitalize()}", [owner], inside, f"attr:{name}")
        record = script_classes.get(kind.kind)
        if record is not None and name in record.attributes:
            return self.add(node, "prim::GetAttr", [owner], record.attributes[name], "field", name=name)
        if record is not None and isinstance(record.static(name), property):
            return self.class_method(node, owner, name, [])
        if kind == DEVICE and name in ("type", "index"):
            return self.add(node, f"prim::{name}", [owner], STR if name == "type" else INT, f"attr:{name}")
        if kind.kind == "Optional":
            raise self.fail(
                node,
                f"'{kind.python()}' object has no attribute or method '{name}'. Did you forget to test it against None?",
            )
        return BoundMethod(owner, name)

    # -- arithmetic ------------------------------------------------------------------------------------------------
    def _BinOp_value(self, node: ast.BinOp, hint: Any) -> Any:
        left = self.value(node.left, self.expression(node.left))
        return self.binary(node, node.op, left, self.value(node.right, self.expression(node.right)))

    def binary(self, at: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        """Lower an operator with two operands."""
        if type(op) not in BINARY:
            raise self.unsupported(at, type(op).__name__)
        name, sign = BINARY[type(op)]
        made = self.class_method(at, left, _MAGIC[sign], [right])
        if made is not None:
            return made
        kind = self._result(at, sign, left.type, right.type)
        if sign == "**" and kind == INT:
            return self.add(at, "aten::pow", [left, right], FLOAT, "prim:float_pow")
        if sign == "//" and kind == TENSOR:
            name = "floor_divide"
        return self.add(at, f"aten::{name}", [left, right], kind, f"op:{sign}")

    def _result(self, at: ast.AST, sign: str, a: Type, b: Type) -> Type:
        if TENSOR in (a, b) and {a, b} <= {TENSOR, *NUMERIC}:
            return TENSOR
        if a in NUMERIC and b in NUMERIC and sign != "@":
            if NUMBER in (a, b):
                return NUMBER
            top = _RANK[max(_RANK.index(a), _RANK.index(b))]
            return FLOAT if sign == "/" and top in (BOOL, INT) else INT if top == BOOL and sign not in "&|^" else top
        if sign == "+" and a.kind == "Tuple" and b.kind == "Tuple":
            return Type("Tuple", a.args + b.args)
        if (sign == "+" and a == b and a.kind in ("str", "List")) or (
            sign == "*" and a.kind in ("str", "List") and b == INT
        ):
            return a
        if sign == "%" and a == STR:
            return STR
        raise self.fail(
            at,
            f"Arguments for call are not valid.\nThe operator '{sign}' is not defined for types '{a.python()}' and "
            f"'{b.python()}'",
        )

    def _UnaryOp_value(self, node: ast.UnaryOp, hint: Any) -> Any:
        if isinstance(node.op, ast.Not):
            return self.condition(node)[0]
        value = self.value(node, self.expression(node.operand))
        known = self.static(value)
        if isinstance(node.op, ast.USub) and isinstance(known, (int, float, complex)):
            return self.constant(node, -known)
        name, sign = {ast.USub: ("neg", "-"), ast.Invert: ("bitwise_not", "~"), ast.UAdd: ("positive", "+")}[
            type(node.op)
        ]
        made = self.class_method(node, value, "__neg__" if sign == "-" else "", [])
        if made is not None:
            return made
        if value.type not in NUMERIC and value.type != TENSOR:
            raise self.fail(node, f"bad operand type for unary {sign}: '{value.type.python()}'")
        return self.add(node, f"aten::{name}", [value], value.type, f"uop:{sign}")

    def _Compare_value(self, node: ast.Compare, hint: Any) -> Any:
        if len(node.ops) > 1:  # a < b < c is a < b and b < c
            operands = [node.left, *node.comparators]
            pairs = [
                ast.copy_location(ast.Compare(operands[n], [op], [operands[n + 1]]), node)
                for n, op in enumerate(node.ops)
            ]
            return self.condition(ast.copy_location(ast.BoolOp(ast.And(), pairs), node))[0]  # type: ignore[arg-type]
        op = node.ops[0]
        if isinstance(op, (ast.Is, ast.IsNot)):
            return self.condition(node)[0]
        left, right = (self.value(each, self.expression(each)) for each in (node.left, node.comparators[0]))
        name, sign = COMPARE[type(op)]
        made = self.class_method(node, right, "__contains__", [left]) if sign == "in" else (
            self.class_method(node, left, _MAGIC.get(sign, ""), [right]))  # fmt: skip
        if made is not None:
            return made
        if isinstance(op, (ast.In, ast.NotIn)):
            return self.add(node, f"aten::{name}", [left, right], BOOL, f"op:{sign}")
        tensor = TENSOR in (left.type, right.type)
        if not tensor and not (left.type in NUMERIC and right.type in NUMERIC) and unify(left.type, right.type) is None:
            raise self.fail(
                node, f"Arguments for call are not valid.\nThe operator '{sign}' is not defined for types "
                f"'{left.type.python()}' and '{right.type.python()}'",
            )  # fmt: skip
        return self.add(node, f"aten::{name}", [left, right], TENSOR if tensor else BOOL, f"op:{sign}")

    # -- items -----------------------------------------------------------------------------------------------------
    def _Subscript_value(self, node: ast.Subscript, hint: Any) -> Any:
        owner = self.expression(node.value)
        if isinstance(owner, PythonObject):
            return self.scope.subscript(self, node, owner)
        if isinstance(owner, StaticTuple):
            return self._member(node, owner)
        owner = self.value(node.value, owner)
        kind = owner.type
        if kind.kind == "Tuple":
            return self._tuple_item(node, owner)
        if kind.kind in script_classes:
            made = self.class_method(node, owner, "__getitem__", [self.key(node.slice, owner)])
            if made is not None:
                return made
        if kind.kind not in ("Tensor", "List", "Dict", "str"):
            raise self.fail(node, f"'{kind.python()}' object is not subscriptable")
        key = self.key(node.slice, owner)
        if kind == TENSOR:
            op = "aten::select" if key.type == INT else "aten::slice" if key.type == ANY else "aten::index"
            return self.add(node, op, [owner, key], TENSOR, "index")
        if isinstance(node.slice, ast.Slice):
            return self.add(node, "aten::slice", [owner, key], kind, "index")
        inside = STR if kind == STR else kind.args[-1]
        return self.add(node, "aten::__getitem__", [owner, key], inside, "index")

    def _member(self, node: ast.Subscript, owner: StaticTuple) -> Any:
        found = self.static(self.value(node, self.expression(node.slice)))  # type: ignore[arg-type]
        if not isinstance(found, int) or not -len(owner.items) <= found < len(owner.items):
            raise self.fail(node, "the index into a ModuleList must be an integer literal within its length")
        return owner.items[found]

    def _tuple_item(self, node: ast.Subscript, owner: Value) -> Value:
        if isinstance(node.slice, ast.Slice):
            bounds = [None if each is None else self.static(self.expression(each)) for each in
                      (node.slice.lower, node.slice.upper, node.slice.step)]  # fmt: skip
            if ... in bounds:
                raise self.fail(node, "the bounds of a slice of a tuple must be integer literals")
            kinds = owner.type.args[slice(*bounds)]
            return self.add(
                node, "prim::TupleSlice", [owner, self.key(node.slice, owner)], Type("Tuple", kinds), "index"
            )
        key = self.value(node.slice, self.expression(node.slice))
        known = self.static(key)
        if not isinstance(known, int):
            raise self.fail(node, "tuple index must be a compile time constant")
        if not -len(owner.type.args) <= known < len(owner.type.args):
            raise self.fail(node, f"Tuple index out of range: {known} of a tuple of {len(owner.type.args)}")
        return self.add(node, "prim::TupleIndex", [owner, key], owner.type.args[known], "index")

    def key(self, node: ast.expr, owner: Value) -> Value:
        """Lower the expression between the brackets of `x[...]`."""
        if isinstance(node, ast.Slice):
            parts = [self.constant(node, None) if each is None else self.value(each, self.expression(each)) for each in
                     (node.lower, node.upper, node.step)]  # fmt: skip
            return self.add(node, "prim::slice", parts, ANY, "builtin:slice")
        if isinstance(node, ast.Tuple):
            return self.pack(node, [self.key(each, owner) for each in node.elts])
        found = self.expression(node)
        if isinstance(found, PythonObject) and found.obj is Ellipsis:
            return self.add(node, "prim::Constant", [], ANY, "constant", value=Ellipsis)
        key = self.value(node, found)
        if owner.type.kind == "List" and key.type == TENSOR:
            return self.cast(node, key, INT, "")
        if owner.type.kind == "List" and key.type not in (INT, NUMBER, BOOL):
            raise self.fail(node, f"list indices must be int, not {key.type.python()}")
        return key

    # -- containers ------------------------------------------------------------------------------------------------
    def _Tuple_value(self, node: ast.Tuple, hint: Any) -> Any:
        hints = hint.args if hint is not None and hint.kind == "Tuple" and len(hint.args) == len(node.elts) else None
        found = [self.expression(each, hints[n] if hints else None) for n, each in enumerate(node.elts)]
        return self.pack(node, [self.value(each, item) for each, item in zip(node.elts, found)])

    def _List_value(self, node: ast.List, hint: Any) -> Any:
        inside = hint.args[0] if hint is not None and hint.kind == "List" else None
        items = [self.value(each, self.expression(each, inside)) for each in node.elts]
        kind = inside or (items[0].type if items else TENSOR)
        for each, item in zip(node.elts, items):
            joint = kind if inside is not None and fits(item.type, inside) else unify(kind, item.type)
            if joint is None or (inside is not None and joint != inside):
                raise self.fail(
                    each,
                    f"Expected all elements of a list to be of one type: {kind.python()} and {item.type.python()} differ",
                )
            kind = joint
        return self.add(node, "prim::ListConstruct", items, list_of(kind), "list")

    def _Dict_value(self, node: ast.Dict, hint: Any) -> Any:
        if any(each is None for each in node.keys):
            raise self.refuse(node, "Dictionary unpacking isn't supported")
        pairs = [
            (self.value(node, self.expression(k)), self.value(node, self.expression(v)))
            for k, v in zip(node.keys, node.values)
            if k is not None
        ]
        kind = hint if hint is not None and hint.kind == "Dict" else Type("Dict", (STR, TENSOR))
        if pairs and kind is not hint:
            kind = Type("Dict", (pairs[0][0].type, pairs[0][1].type))
        for key, value in pairs:
            if not fits(key.type, kind.args[0]) or not fits(value.type, kind.args[1]):
                raise self.fail(
                    node, f"Expected all entries of a dict to be of one type, {kind.python()}; one is "
                    f"{key.type.python()}: {value.type.python()}",
                )  # fmt: skip
        return self.add(node, "prim::DictConstruct", [each for pair in pairs for each in pair], kind, "dict")

    def _JoinedStr_value(self, node: ast.JoinedStr, hint: Any) -> Any:
        template, parts = "", []
        for each in node.values:
            if isinstance(each, ast.Constant):
                template += str(each.value).replace("{", "{{").replace("}", "}}")
            elif isinstance(each, ast.FormattedValue) and each.format_spec is None and each.conversion == -1:
                template += "{}"
                parts.append(self.value(each, self.expression(each.value)))
            else:
                raise self.refuse(each, "Format specifications in f-strings aren't supported")
        return self.add(node, "aten::format", [self.constant(node, template), *parts], STR, "method:format")
