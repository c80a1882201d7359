"""Files made to do harm: a clear error, or nothing; never code that is no operator."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import mpigrad
from mpigrad import Tensor

from .forged import ANY, RAN, TENSOR, Op, attribute, call, load, method_of, program, refused, script_body, text


def test_the_tools_of_this_file_make_files_that_load() -> None:
    """So that each refusal below is for what it changes."""
    loaded = load(method_of(attribute(2, 0, "lin"), call(3, 2, 1), result=3))
    assert loaded(mpigrad.ones(2)).shape == (2,)
    assert load(program())(mpigrad.ones(2)).shape == (2,)
    sorts = method_of(text(2, {"list": ["b", "a"]}), Op(3, "method:sort", (2,), silent=True), result=2)
    assert load(sorts)(1) == ["a", "b"]


# -- what graphs can reach ---------------------------------------------------------------------------------------------
def test_builtins_cannot_be_reached_through_the_frame_of_a_generator() -> None:
    nodes = [
        attribute(2, 0, "lin"),
        attribute(3, 2, "parameters"),
        call(4, 3),
        attribute(5, 4, "gi_frame"),
        attribute(6, 5, "f_builtins"),
        text(7, "exec"),
        Op(8, "index", (6, 7)),
        text(9, "import tests.jit.forged as t; t.RAN.append('exec')"),
        call(10, 8, 9),
    ]
    refused(method_of(*nodes, result=10), "'parameters'")
    assert not RAN


@pytest.mark.parametrize("target", ["getattr", "getattr:x"])
@pytest.mark.parametrize(
    "name",
    [
        "_array",
        "numpy",
        "save",
        "__class__",
        "__dict__",
        "_modules",
        "parameters",
        "_script_methods",
        "apply",
        "forward",
        "state_dict",
        "_original",
        "nothing",
        "lin.weight",
        "7",
    ],
)
def test_only_values_of_modules_are_attributes(name: str, target: str) -> None:
    refused(method_of(attribute(2, 0, name, target), result=2), "the node 'prim::GetAttr'")
    refused(method_of(attribute(2, 1, name, target), result=2), "the node 'prim::GetAttr'")


def test_only_modules_are_called() -> None:
    refused(method_of(call(2, 1), result=2), "its first input is not a module")
    refused(method_of(attribute(2, 0, "scale"), call(3, 2, 1), result=3), "its first input is not a module")
    for name in ("state_dict", "apply", "register_forward_hook", "__call__", "__class__", "_call_impl", "other"):
        refused(method_of(call(2, 0, name=name), result=2), "no scripted method")
        refused(method_of(attribute(2, 0, "lin"), call(3, 2, name=name), result=3), "no scripted method")
    refused(method_of(Op(2, "callmethod", (0, 1), {"name": ["forward"]}), result=2), "expected an object")
    refused(method_of(Op(2, "callmethod", (0, 1)), result=2), "as its name")


@pytest.mark.parametrize("name", ["forward", "lin", "__class__", "_modules", "state_dict", "x"])
def test_only_values_of_modules_are_set(name: str) -> None:
    node = Op(2, "setattr", (0, 1), {"name": name}, op="prim::SetAttr", silent=True)
    refused(method_of(node, result=1), "which is no value of the module's")


def test_sorting_and_formatting_run_nothing_and_look_into_nothing() -> None:
    sort = Op(3, "method:sort", (2, 1), {}, ("key",), silent=True)
    refused(method_of(text(2, {"list": ["a"]}), sort, result=2), "takes no key in a graph")
    looks = "{0.__class__.__init__.__globals__}"
    refused(method_of(text(2, looks), Op(3, "method:format", (2, 1)), result=3), "reads attributes or items")
    refused(method_of(text(2, "{:{0.real}}"), Op(3, "method:format", (2, 1)), result=3), "reads attributes or items")
    made_later = method_of(text(2, looks), text(4, ""), Op(5, "op:+", (2, 4)), Op(3, "method:format", (5, 1)), result=3)
    with pytest.raises(ValueError, match="reads attributes or items"):
        load(made_later)(1)
    assert mpigrad.jit.script(script_body)(mpigrad.ones(1), ["b", "a"])[1] == "['a', 'b']"


BAD_TARGETS = [
    "fn:os:system",
    "fn:builtins:eval",
    "fn:mpigrad:load",
    "fn:mpigrad:save",
    "fn:mpigrad:os",
    "fn:mpigrad:Tensor",
    "fn:mpigrad:__builtins__",
    "fn:mpigrad.nn.functional:importlib",
    "fn:mpigrad.nn.functional:np",
    "fn:mpigrad.jit:load",
    "fn:numpy:load",
    "fn:mpigrad.distributed.rpc:rpc_sync",
    "fn:mpigrad:",
    "fn::",
    "fn",
    "method:__reduce__",
    "method:numpy",
    "method:tolist",
    "method:apply_",
    "method:register_hook",
    "method:tofile",
    "method:_array",
    "method:x y",
    "method",
    "method:",
    "attr:__class__",
    "attr:_array",
    "attr:gi_frame",
    "attr:",
    "builtin:eval",
    "builtin:__import__",
    "builtin:open",
    "builtin:getattr",
    "builtin:",
    "math:__loader__",
    "math:",
    "op:if",
    "op:+ __import__('os') +",
    "op:",
    "uop:lambda: ",
    "python",
    "python:x",
    "fused",
    "fused:",
    "call",
    "fork",
    "call:x",
    "dist:rpc_sync",
    "dist:os",
    "dist:__builtins__",
    "dist",
    "prim:listed",
    "prim:eval",
    "prim:{0.__class__}",
    "isinstance",
    "named",
    "exit",
    "with",
    "if",
    "loop",
    "unpack:x",
    "nonsense",
    "",
    ":",
    "_flush",
    "flush",
    "raise:x",
    "constant",
]


@pytest.mark.parametrize("target", BAD_TARGETS)
def test_targets_name_operators_only(target: str) -> None:
    for inputs in ((1,), (1, 1), (1, 1, 1)):
        with pytest.raises(RuntimeError, match="Could not load|was not written by mpigrad.jit.save, or is damaged"):
            load(method_of(Op(2, target, inputs), result=2))


@pytest.mark.parametrize("name", ["rpc_sync", "rpc_async", "remote"])
@pytest.mark.parametrize(
    "function",
    [
        "os.system",
        {"function": "os.system"},
        {"dtype": "float32"},
        None,
        {"operator": ["os", "system"]},
        {"operator": ["mpigrad", "add"]},
    ],
)
def test_calls_of_other_workers_name_scripted_functions_of_the_file(name: str, function) -> None:
    nodes = [
        text(2, "worker1"),
        text(3, "os.system"),
        Op(4, "tuple", (1,)),
        Op(5, f"dist:{name}", (2, 3, 4), {"function": function}),
    ]
    refused(method_of(*nodes, result=5), "function|operator")


@pytest.mark.parametrize(
    "value",
    [
        [1],
        1.5,
        {},
        {"eval": "1"},
        {"tensor": 99, "requires_grad": False},
        {"tensor": "0", "requires_grad": False},
        {"tensor": 0},
        {"float": "1; x"},
        {"float": 3},
        {"complex": ["0x1p0"]},
        {"dtype": "np"},
        {"dtype": "__loader__"},
        {"dtype": ["x"]},
        {"device": "x; y"},
        {"device": 3},
        {"dict": [[{"list": []}, 1]]},
        {"dict": [1]},
        {"list": 5},
        {"function": []},
        {"function": "forward"},
        {"operator": "os"},
        {"operator": ["os", "system"]},
        {"operator": ["mpigrad", "load"]},
        {"type": "Tensor"},
        {"type": ["List", []]},
        {"type": ["Dict", [TENSOR]]},
        {"type": ["Enum", [], "x", []]},
        {"type": ["Tuple", [TENSOR], "x", ["class"]]},
        {"type": ["Tuple", [TENSOR], "x", ["a", "b"]]},
        {"object": "x"},
    ],
)
def test_values_are_plain(value) -> None:
    with pytest.raises(RuntimeError, match="Could not load|was not written by mpigrad.jit.save, or is damaged"):
        load(method_of(text(2, value), Op(3, "named", (1,)) if "type" in str(value) else text(3, 1), result=2))


# -- modules -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", ["os.system", "Linear.__init__", "__builtins__", "Any", "math", "ScriptModule", "", "Tensor", None, 3]
)
def test_library_modules_are_modules_of_the_library(name) -> None:
    made = program()
    made["module"]["modules"]["lin"]["class"] = name
    refused(made, "is not a module of mpigrad.nn|expected a text")


def test_modules_cannot_replace_what_every_module_has() -> None:
    for where in ("attributes", "methods", "parameters", "buffers", "modules"):
        for name in (
            "__class__",
            "_modules",
            "_forward_hooks",
            "_script_methods",
            "__call__",
            "a b" if where == "methods" else "__x",
        ):
            made = program()
            made["module"][where][name] = None if where in ("attributes", "parameters", "buffers") else {}
            refused(made, "Could not load")
    for name in ("forward", "function", "extra_repr", "state_dict"):
        made = program()
        made["module"]["modules"]["act"]["attributes"][name] = "_load"
        refused(made, "must not set the attribute")
    for where, value in (
        ("parameters", 3),
        ("buffers", "x"),
        ("training", 1),
        ("library", "no"),
        ("modules", [1]),
        ("methods", 3),
    ):
        made = program()
        if where in ("parameters", "buffers"):
            made["module"][where]["p"] = value
        else:
            made["module"][where] = value
        refused(made, "expected")


def test_classes_of_a_file_never_take_the_place_of_the_programs_own() -> None:
    class Point(NamedTuple):
        x: Tensor
        y: Tensor

    def point(a):
        return Point(a, a)

    scripted = mpigrad.jit.script(point)
    name = scripted.returns.name
    nodes = method_of(Op(2, "named", (1,)), result=2)
    graph = nodes["module"]["methods"]["forward"]["graph"]
    graph["nodes"][0]["outputs"][0][2] = ["Tuple", [ANY], name, ["other"]]
    assert load(nodes)(1).other == 1
    assert type(scripted(mpigrad.ones(1))) is Point
    assert type(mpigrad.jit.script(point)(mpigrad.ones(1))) is Point
