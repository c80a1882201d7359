"""Saved programs: the same again, in another process too, and nothing but operators of graphs."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from typing import Optional

import pytest

import mpigrad
from mpigrad import Tensor
from mpigrad.testing import assert_close

from .test_modules import Net
from .test_supported import CASES


def again(scripted):
    file = io.BytesIO()
    mpigrad.jit.save(scripted, file)
    file.seek(0)
    return mpigrad.jit.load(file)


@pytest.mark.parametrize("name", CASES)
def test_functions_come_back(name: str) -> None:
    function, calls = CASES[name]
    loaded = again(mpigrad.jit.script(function))
    x = mpigrad.tensor([[1.0, -2.0, 3.0], [0.5, 5.0, -6.0]])
    for arguments in calls:
        assert_close(loaded(x.clone(), *arguments), function(x.clone(), *arguments))
    assert str(loaded.graph) == str(mpigrad.jit.script(function).graph)


def test_modules_come_back() -> None:
    net = Net()
    scripted = mpigrad.jit.script(net)
    loaded = again(scripted)
    x = mpigrad.randn(4, 3)
    assert_close(loaded(x, 3), scripted(x, 3))
    assert_close(loaded.hidden(x), scripted.hidden(x))
    assert_close(dict(loaded.state_dict()), dict(scripted.state_dict()))
    loaded(x).sum().backward()
    assert loaded.w.grad is not None and net.w.grad is None


@mpigrad.jit.interface
class OneToOne:
    def forward(self, x: Tensor) -> Tensor:
        pass


class PlusOne(mpigrad.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


def use_if_there(m: Optional[OneToOne], x: Tensor) -> Tensor:  # noqa: UP045
    if m is not None:
        return m.forward(x)
    return x


def test_functions_of_interfaces_come_back_and_take_modules_only() -> None:
    loaded, module = again(mpigrad.jit.script(use_if_there)), mpigrad.jit.script(PlusOne())
    assert loaded(module, mpigrad.ones(1)).item() == 2.0 and loaded(None, mpigrad.ones(1)).item() == 1.0
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        loaded(print, mpigrad.ones(1))


class Private(mpigrad.nn.Module):
    factor = 2.0  # of the class

    def __init__(self) -> None:
        super().__init__()
        self._w = mpigrad.nn.Parameter(mpigrad.ones(4))
        self._shift = 3
        self._layer = mpigrad.nn.TransformerEncoderLayer(4, 2, 8, activation="gelu")

    def _scaled(self, x):
        return x * self._w * self.factor + self._shift

    def forward(self, x):
        return self._layer(self._scaled(x))


def test_private_names_class_constants_and_functions_of_layers_come_back() -> None:
    scripted = mpigrad.jit.script(Private()).eval()
    x = mpigrad.randn(3, 2, 4)
    assert_close(again(scripted)(x), scripted(x))


def test_long_expressions_of_graphs_run(tmp_path, monkeypatch) -> None:
    """Values used once become one expression, and Python reads only so many brackets inside each other."""
    lines = ["def chain(n: int):", *["    n = -n", "    n = n + 1"] * 300, "    return n"]
    (tmp_path / "long_chain_program.py").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    from long_chain_program import chain

    scripted = mpigrad.jit.script(chain)
    assert scripted(5) == chain(5)
    assert again(scripted)(5) == chain(5)


def test_another_process_without_the_source_runs_it(tmp_path) -> None:
    mpigrad.jit.script(CASES["break_and_continue"][0]).save(tmp_path / "f.zip")
    program = "import sys, mpigrad; print(mpigrad.jit.load(sys.argv[1])(mpigrad.ones(1), 4)[1])"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "f.zip")], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == str(CASES["break_and_continue"][0](mpigrad.ones(1), 4)[1]), done.stderr


def changed(change) -> io.BytesIO:
    """A saved function with its program changed by `change`."""
    first = io.BytesIO()
    mpigrad.jit.save(mpigrad.jit._example(), first)
    made = io.BytesIO()
    with zipfile.ZipFile(first) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            content = json.loads(old.read(name))
            new.writestr(name, json.dumps(change(name, content) or content))
    made.seek(0)
    return made


def with_target(target: str):
    def change(name, content):
        if name == "program.json":
            node = next(iter(content["functions"].values()))["graph"]["nodes"][-1]
            node["target"] = target

    return change


@pytest.mark.parametrize(
    "target",
    ["fn:os:system", "fn:mpigrad:load", "fn:mpigrad:save", "fn:mpigrad.nn.functional:importlib", "method:__reduce__",
     "method:numpy",
     "builtin:eval", "op:if", "op:+ __import__('os') +",
     "attr:__class__", "attr:_array", "python", "nonsense", "math:__loader__"],
)  # fmt: skip
def test_files_cannot_name_anything_but_operators(target: str) -> None:
    with pytest.raises((ValueError, RuntimeError, KeyError)):
        mpigrad.jit.load(changed(with_target(target)))


def test_other_versions_and_other_files_are_refused(tmp_path) -> None:
    def newer(name, content):
        if name == "format.json":
            content["version"] = 99

    with pytest.raises(RuntimeError, match="version 99 of the format"):
        mpigrad.jit.load(changed(newer))
    (tmp_path / "x").write_text("nothing")
    with pytest.raises(RuntimeError, match="was not written by mpigrad.jit.save"):
        mpigrad.jit.load(str(tmp_path / "x"))
    with pytest.raises(TypeError, match="use jit.script first"):
        mpigrad.jit.save(len, tmp_path / "y")


def test_python_functions_cannot_be_saved() -> None:
    @mpigrad.jit.ignore
    def of_python(x: Tensor) -> Tensor:
        return x

    @mpigrad.jit.script
    def use(x):
        return of_python(x)

    with pytest.raises(RuntimeError, match="of_python"):
        mpigrad.jit.save(use, io.BytesIO())
