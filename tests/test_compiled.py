"""The modules that may be compiled, the choice between both forms, and the rules for what they may do."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mpigrad import _compiled

PACKAGE = Path(_compiled.__file__).parent
SOURCES = {name: PACKAGE / (name.replace(".", "/") + ".py") for name in _compiled.MODULES}


def run(code: str, setting: str | None) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name != _compiled.SETTING}
    if setting is not None:
        environ[_compiled.SETTING] = setting
    environ["PYTHONPATH"] = str(PACKAGE.parent)
    return subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", _compiled.MODULES)
def test_the_source_of_every_compiled_module_is_there(name) -> None:
    assert SOURCES[name].is_file()


@pytest.mark.parametrize("name", _compiled.MODULES)
def test_compiled_modules_do_not_look_at_frames(name) -> None:
    tree = ast.parse(SOURCES[name].read_text())
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {word.arg for node in ast.walk(tree) if isinstance(node, ast.Call) for word in node.keywords if word.arg}
    assert not used & {"_getframe", "currentframe", "extract_stack", "stacklevel"}


ALL = "import mpigrad.distributed.autograd; from mpigrad import _compiled; print(*_compiled.running())"


def test_plain_python_on_request() -> None:
    done = run(ALL, "0")
    compiled, loaded = map(int, done.stdout.split())
    assert (compiled, done.stderr) == (0, "")
    assert loaded > 15


def test_without_a_request_what_is_compiled_runs() -> None:
    there = len(list(_compiled.files()))
    compiled, loaded = map(int, run(ALL, None).stdout.split())
    assert compiled == (loaded if there == len(_compiled.MODULES) else there)


def test_a_demand_that_cannot_be_met_is_an_error() -> None:
    code = "import importlib.machinery as m; m.EXTENSION_SUFFIXES[:] = []; import mpigrad"
    done = run(code, "1")
    assert f"MPIGRAD_COMPILED=1, but {len(_compiled.MODULES)} of {len(_compiled.MODULES)} modules are not compiled" in done.stderr
    assert "install mpigrad again with a C compiler" in done.stderr


def test_a_wrong_setting_is_an_error() -> None:
    done = run("import mpigrad", "yes")
    assert "MPIGRAD_COMPILED is 'yes': it can be 0 (plain Python), 1 (compiled modules required)" in done.stderr


def test_tests_refuse_modules_that_are_older_than_their_source(monkeypatch, tmp_path) -> None:
    source, compiled = tmp_path / "engine.py", tmp_path / "engine.cpython-311-x86_64-linux-gnu.so"
    source.touch()
    compiled.touch()
    monkeypatch.setattr(_compiled, "files", lambda: iter([("_core.engine", compiled)]))
    os.utime(source, (time.time() - 60,) * 2)
    assert _compiled.stale() == []
    os.utime(compiled, (time.time() - 120,) * 2)
    assert _compiled.stale() == ["_core.engine"]


BUSY = """
import signal, threading, time
import mpigrad.distributed.rpc as rpc
rpc.init_rpc("solo", rank=0, world_size=1)
def hold(): time.sleep(30)
signal.signal(signal.SIGALRM, signal.default_int_handler)
began = time.monotonic()
for moment in (0.05, 0.2, 0.6):
    fut = rpc.rpc_async("solo", hold)
    signal.setitimer(signal.ITIMER_REAL, moment)
    try:
        fut.wait()
    except KeyboardInterrupt:
        print("interrupted")
print(time.monotonic() - began < 10)
import os; os._exit(0)
"""


@pytest.mark.parametrize("setting", ["0", None], ids=["plain", "as installed"])
def test_a_wait_can_be_interrupted(setting) -> None:
    done = run(BUSY, setting)
    assert done.stdout.split() == ["interrupted"] * 3 + ["True"], done.stderr


def test_words_for_the_doctor(monkeypatch, tmp_path) -> None:
    untrained, trained = tmp_path / "untrained.so", tmp_path / "trained.so"
    untrained.write_bytes(b"GNU GIMPLE -O2")
    trained.write_bytes(b"GNU GIMPLE -O2 -fprofile-use")
    monkeypatch.delenv(_compiled.SETTING, raising=False)
    monkeypatch.setattr(_compiled, "files", lambda: iter([]))
    assert _compiled.state() == "plain Python"
    monkeypatch.setattr(_compiled, "files", lambda: iter([("_core.engine", untrained)]))
    assert _compiled.state() == f"1 of {len(_compiled.MODULES)} modules compiled"
    compiled = dict.fromkeys(_compiled.MODULES, trained)
    monkeypatch.setattr(_compiled, "files", lambda: iter(compiled.items()))
    assert _compiled.state() == f"{len(_compiled.MODULES)} modules compiled, with a profile of a training run"
    compiled["_core.engine"] = untrained
    assert _compiled.state() == f"{len(_compiled.MODULES)} modules compiled"
    monkeypatch.setenv(_compiled.SETTING, "0")
    assert _compiled.state() == "plain Python, as MPIGRAD_COMPILED=0 asks for"
