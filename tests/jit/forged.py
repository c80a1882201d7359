"""Tools to forge files of `jit.save`: archives, and graphs written by hand."""

from __future__ import annotations

import io
import json
import zipfile
from typing import NamedTuple

import pytest

import mpigrad

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
