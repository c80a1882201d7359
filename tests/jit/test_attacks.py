"""Files made to do harm, and damaged ones: a clear error, or nothing; never code that is no operator."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from typing import NamedTuple

import pytest

import mpigrad
from mpigrad import Tensor

RAN: list[str] = []


class Payload:
    """Says so if it is unpickled."""

    def __reduce__(self):
        return RAN.append, ("unpickled",)


class Inner(mpigrad.nn.Module):
    def forward(self, x):
        return x + 1


class Victim(mpigrad.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = mpigrad.nn.Linear(2, 2)
        self.inner = Inner()
        self.act = mpigrad.nn.ReLU()
        self.register_buffer("seen", mpigrad.zeros(2))
        self.scale = 2.0

    def forward(self, x, n: int = 2):
        for i in range(n):
            if i > 0:
                x = self.act(x) * self.scale
        return self.inner(self.lin(x)) + self.seen


def script_body(x, words: list[str]):
    words.sort()
    return x, "{}".format(words)  # noqa: UP032


def members() -> dict[str, bytes]:
    """A saved module, by member."""
    file = io.BytesIO()
    mpigrad.jit.save(mpigrad.jit.script(Victim()), file)
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archived(content: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    made.seek(0)
    return made


def program() -> dict:
    return json.loads(members()["program.json"])


def load(made: dict, **others: bytes):
    return mpigrad.jit.load(archived({**members(), "program.json": json.dumps(made).encode(), **others}))


def refused(made: dict, match: str, **others: bytes) -> None:
    with pytest.raises(RuntimeError, match=match):
        load(made, **others)


# -- a graph written by hand ------------------------------------------------------------------------------------------
TENSOR, ANY, STR, NONE = ["Tensor", []], ["Any", []], ["str", []], ["NoneType", []]


class Op(NamedTuple):
    """A node with one output: `result = target(inputs)[attributes]`."""

    result: int
    target: str
    inputs: tuple[int, ...] = ()
    attributes: dict = {}
    keywords: tuple[str, ...] = ()
    op: str = "aten::any"
    blocks: tuple = ()
    silent: bool = False

    def packed(self) -> dict:
        outputs = [] if self.silent else [[self.result, f"v{self.result}", ANY]]
        return {
            "op": self.op,
            "target": self.target,
            "inputs": list(self.inputs),
            "keywords": list(self.keywords),
            "where": None,
            "attributes": self.attributes,
            "blocks": list(self.blocks),
            "outputs": outputs,
        }


def text(number: int, value) -> Op:
    return Op(number, "constant", (), {"value": value}, op="prim::Constant")


def method_of(*nodes: Op, result: int) -> dict:
    """The victim with a forward of these nodes; value 0 is self, value 1 the argument."""
    made = program()
    graph = {
        "name": "forward",
        "inputs": [[0, "self", ["Victim", []]], [1, "x", ANY]],
        "nodes": [each.packed() for each in nodes],
        "outputs": [result],
    }
    schema = {"name": "forward", "arguments": [["x", ANY, False, False, None]], "returns": ANY}
    made["module"]["methods"] = {"forward": {"schema": schema, "graph": graph}}
    return made


def attribute(number: int, owner: int, name: str, target: str = "getattr") -> Op:
    return Op(number, target, (owner,), {"name": name}, op="prim::GetAttr")


def call(number: int, *inputs: int, name: str = "forward") -> Op:
    return Op(number, "callmethod", inputs, {"name": name}, op="prim::CallMethod")


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
        text(9, "import tests.jit.test_attacks as t; t.RAN.append('exec')"),
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
    refused(method_of(call(2, 1), result=2), "its first input is none")
    refused(method_of(attribute(2, 0, "scale"), call(3, 2, 1), result=3), "its first input is none")
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
    refused(method_of(text(2, {"list": ["a"]}), sort, result=2), "sort takes no key")
    looks = "{0.__class__.__init__.__globals__}"
    refused(method_of(text(2, looks), Op(3, "method:format", (2, 1)), result=3), "looks into its argument")
    refused(method_of(text(2, "{:{0.real}}"), Op(3, "method:format", (2, 1)), result=3), "looks into its argument")
    made_later = method_of(text(2, looks), text(4, ""), Op(5, "op:+", (2, 4)), Op(3, "method:format", (5, 1)), result=3)
    with pytest.raises(ValueError, match="looks into its argument"):
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
        with pytest.raises(RuntimeError, match="Could not load|is no file of mpigrad.jit.save, or damaged"):
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
    with pytest.raises(RuntimeError, match="Could not load|is no file of mpigrad.jit.save, or damaged"):
        load(method_of(text(2, value), Op(3, "named", (1,)) if "type" in str(value) else text(3, 1), result=2))


# -- graphs that make no sense -----------------------------------------------------------------------------------------
def block(*nodes: Op, inputs=(), outputs=()) -> dict:
    return {"inputs": list(inputs), "nodes": [each.packed() for each in nodes], "outputs": list(outputs)}


SENSELESS = {
    "a value that is not there": [Op(2, "uop:-", (9,))],
    "a value of later": [Op(2, "uop:-", (3,)), Op(3, "uop:-", (1,))],
    "its own input": [Op(2, "uop:-", (2,))],
    "a value twice": [Op(1, "uop:-", (1,)), text(2, 1)],
    "too few inputs": [Op(2, "op:+", (1,))],
    "too many inputs": [Op(2, "op:+", (1, 1, 1))],
    "an odd dict": [Op(2, "dict", (1,))],
    "keywords twice": [Op(2, "fn:mpigrad:add", (1, 1, 1), {}, ("other", "other"))],
    "more keywords than inputs": [Op(2, "fn:mpigrad:add", (1,), {}, ("a", "b"))],
    "keywords of Python": [Op(2, "fn:mpigrad:add", (1, 1), {}, ("lambda",))],
    "code in keywords": [Op(2, "fn:mpigrad:add", (1, 1), {}, ("a=print(1), b",))],
    "an if without blocks": [Op(2, "if", (1,))],
    "an if of one block": [Op(2, "if", (1,), blocks=(block(outputs=[1]),))],
    "a branch that gives nothing": [Op(2, "if", (1,), blocks=(block(outputs=[1]), block()))],
    "a value of an inner block": [
        Op(9, "if", (1,), blocks=(block(text(3, 1), outputs=[3]), block(outputs=[1]))),
        Op(2, "uop:-", (3,)),
    ],
    "a loop without a block": [Op(2, "loop", (1, 1))],
    "a loop that carries too little": [
        Op(2, "loop", (1, 1, 1), blocks=(block(inputs=[[5, "i", ANY]], outputs=[1, 1]),))
    ],
    "break outside": [Op(3, "exit", (), op="prim::BreakStmt", silent=True), text(2, 1)],
    "an exit of another kind": [Op(3, "exit", (1,), op="prim::Exit", silent=True), text(2, 1)],
    "return without a value": [Op(3, "exit", (), op="prim::ReturnStmt", silent=True), text(2, 1)],
    "a mode of another kind": [Op(2, "with", (), {"name": "open"}, blocks=(block(outputs=[1]),))],
    "code to raise": [Op(3, "raise", (1,), {"name": "x'); print('"}, silent=True), text(2, 1)],
    "half a constant": [Op(2, "uop:-", (1,), op="prim::Constant")],
    "blocks of an operator": [Op(2, "uop:-", (1,), blocks=(block(),))],
    "two results of an operator": [Op(2, "uop:-", (1,), silent=True)],
    "a tuple of no fields": [Op(2, "named", (1,))],
    "types that are none": [Op(2, "isinstance", (1,), {"types": {"tuple": ["Tensor"]}})],
    "a function that is none": [Op(2, "call", (1,), {"function": "forward"})],
    "a wrong number of arguments": [Op(2, "call", (1, 1), {"function": "__mpigrad__.f"})],
}


@pytest.mark.parametrize("name", SENSELESS)
def test_senseless_graphs_are_refused(name: str) -> None:
    made = method_of(*SENSELESS[name], result=2)
    made["functions"]["__mpigrad__.f"] = copy.deepcopy(ONE)
    refused(made, "Could not load .*")


ONE = {
    "schema": {"name": "f", "arguments": [["x", ANY, False, False, None]], "returns": ANY},
    "graph": {"name": "f", "inputs": [[0, "x", ANY]], "nodes": [], "outputs": [0]},
}


def test_functions_that_call_themselves_or_nothing_are_refused() -> None:
    def calls(*names: str) -> dict:
        made = {"main": "f0", "module": None, "functions": {}}
        for number, name in enumerate(names):
            one = copy.deepcopy(ONE)
            one["graph"]["nodes"] = [Op(2, "call", (0,), {"function": {"function": name}}).packed()]
            made["functions"][f"f{number}"] = one
        return made

    refused(calls("f0"), "'f0' calls itself")
    refused(calls("f1", "f2", "f0"), "'f0' calls itself")
    refused(calls("g"), "'g' is missing")
    refused(calls(*(f"f{number + 1}" for number in range(3000))), "RecursionError")
    refused({"main": "f", "module": None, "functions": []}, "expected an object")
    refused({"main": 3, "module": None, "functions": {}}, "missing")
    refused({"main": None, "module": None, "functions": {}}, "expected an object")
    refused({}, "expected an object")


def test_arguments_of_a_graph_are_those_of_its_schema() -> None:
    made = {"main": "f", "module": None, "functions": {"f": copy.deepcopy(ONE)}}
    assert load(made)(3) == 3
    for change in (
        {"arguments": []},
        {"name": "f\x00"},
        {"name": "f(): import os\ndef g"},
        {"arguments": [["x", TENSOR, False, False, None]]},
        {"arguments": [["x", ANY, 0, False, None]]},
        {"arguments": [["x", ANY]]},
        {"arguments": 3},
        {"returns": 3},
        {"returns": ["List", []]},
    ):
        changed = copy.deepcopy(made)
        changed["functions"]["f"]["schema"].update(change)
        refused(changed, "Could not load|damaged")


@pytest.mark.parametrize("names", [["ｘ", "ｖ１"], ["ｇ７＿check", "g8_explained"], ["class", "None"], ["x", "ｘ"], ["v1", "v2"]])
def test_names_of_arguments_stand_for_nothing_in_the_code(names) -> None:
    made = program()
    forward = made["module"]["methods"]["forward"]
    for argument, name in zip(forward["schema"]["arguments"], names):
        argument[0] = name
    forward["schema"]["arguments"][1][4] = {"operator": ["mpigrad", "relu"]}  # a default that could be called
    wanted = load(program())
    found = load(made)
    found.load_state_dict(wanted.state_dict())
    assert mpigrad.equal(found(mpigrad.ones(1, 2), 2), wanted(mpigrad.ones(1, 2), 2))
    with pytest.raises(RuntimeError, match="Expected a value of type 'int'"):
        found(mpigrad.ones(1, 2))


def test_long_chains_and_deep_nests_end_in_a_clear_error_or_run() -> None:
    chain = [Op(number + 2, "uop:-", (number + 1,)) for number in range(5000)]
    assert load(method_of(*chain, result=5001))(1) == 1
    grows = [text(2, 10**15), *(Op(number + 3, "op:*", (number + 2, number + 2)) for number in range(64))]
    made = method_of(*grows, result=1)
    for node in made["module"]["methods"]["forward"]["graph"]["nodes"]:
        node["outputs"][0][2] = ["int", []]
    load(made)  # the product would have more digits than there are atoms
    nest = block(outputs=[1])
    for number in range(120):
        nest = block(Op(number + 10, "if", (1,), blocks=(nest, block(outputs=[1]))), outputs=[number + 10])
    made = method_of(result=129)
    made["module"]["methods"]["forward"]["graph"].update({"nodes": nest["nodes"], "outputs": nest["outputs"]})
    with pytest.raises(RuntimeError, match="Could not load|damaged"):
        load(made)
    deep = b'{"main": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(RuntimeError, match="damaged: RecursionError"):
        mpigrad.jit.load(archived({**members(), "program.json": deep}))


# -- modules -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", ["os.system", "Linear.__init__", "__builtins__", "Any", "math", "ScriptModule", "", "Tensor", None, 3]
)
def test_library_modules_are_modules_of_the_library(name) -> None:
    made = program()
    made["module"]["modules"]["lin"]["class"] = name
    refused(made, "is no module of mpigrad.nn|expected a text")


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
