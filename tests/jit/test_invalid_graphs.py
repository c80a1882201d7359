"""Files whose graphs make no sense are refused with a clear error."""

from __future__ import annotations

import copy

import pytest

import mpigrad

from .forged import ANY, TENSOR, Op, archived, load, members, method_of, program, refused, text


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
