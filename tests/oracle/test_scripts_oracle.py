"""Scripts over RPC, script classes, remote modules: the results of PyTorch, and its words about what is wrong."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.nn.api.remote_module
import mpigrad.distributed.rpc

from .programs import attempt, plain
from .test_port_oracle import free_port

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")
importlib.import_module("torch.distributed.rpc")
from torch.distributed.nn.api import remote_module as torch_remote  # noqa: E402


def program(library: Any) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"scripts_of_{library.__name__}", Path(__file__).parent / "script_programs.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    made.T = library
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def programs() -> Iterator[list[ModuleType]]:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own
        torch.distributed.rpc.init_rpc("solo", rank=0, world_size=1)
        made = [program(torch), program(mpigrad)]
    yield made
    torch.distributed.rpc.shutdown()


@pytest.fixture()
def both(programs) -> Iterator[list[ModuleType]]:
    mpigrad.distributed.rpc.init_rpc("solo", rank=0, world_size=1)
    yield programs
    mpigrad.distributed.rpc.shutdown()


def words(text: Any) -> Any:
    """A message without what belongs to one library: names, addresses, the part that only PyTorch's C++ adds."""
    if isinstance(text, (tuple, list)):
        return [words(each) for each in text]
    if not isinstance(text, str):
        return text
    text = re.sub(r"__(torch|mpigrad)__\.(scripts_of_\w+\.)?|scripts_of_\w+\.", "", text)
    text = re.sub(r" \(of Python compilation unit at: \w+\)|\nCast error details.*", "", text, flags=re.DOTALL)
    return text.replace("torch", "mpigrad").strip()


def compared(both: list[ModuleType], run: Any) -> None:
    wanted, found = ([words(plain(each.T, attempt(one))) for one in run(each)] for each in both)
    assert found == wanted


def test_arguments_of_calls_from_python(both) -> None:
    def run(each: Any) -> Any:
        calls = each.rpc.rpc_sync, lambda *a: each.rpc.rpc_async(*a).wait(), lambda *a: each.rpc.remote(*a).to_here()
        return [
            lambda call=call, args=args, kwargs=kwargs: call("solo", each.scaled, args, kwargs)
            for call in calls for args, kwargs in each.ARGUMENTS
        ]  # fmt: skip

    compared(both, run)


def last_line(result: Any) -> Any:
    """Of an error inside a script, what is said after the traceback; its class is `RuntimeError` in both."""
    return [result[0], result[1].strip().splitlines()[-1].removeprefix("RuntimeError: ")] if isinstance(result, tuple) else result


def test_keyword_arguments_of_calls_from_scripts(both) -> None:
    wanted, found = (
        [words(plain(each.T, last_line(attempt(lambda kwargs=kwargs, each=each: each.call("solo", (each.x, 2), kwargs)))))
         for kwargs in each.KEYWORDS] for each in both
    )  # fmt: skip
    assert found == wanted


SAID = {
    "too_few": "Argument n not provided.",
    "too_many": "Expected at most 5 arguments but found 6 positional arguments.",
    "no_function":
        "Possible forms of call to rpc_async(..) are\nrpc_async(dst_worker_name, user_callable, args, kwargs, timeout)",
    "wrong_type": "Expected a value of type 'int' for argument 'n' but instead found type 'str'.",
    "set_wrong": "Wrong type for attribute assignment. Expected int but got str",
    "set_unknown": "Tried to set nonexistent attribute: b. Did you forget to initialize it in __init__()?",
    "call_wrong": "object has no attribute or method 'nothing'",
}


@pytest.mark.parametrize("name", SAID)
def test_programs_that_cannot_be_compiled(both, name: str) -> None:
    for each in both:
        kind, text = attempt(lambda each=each: each.T.jit.script(getattr(each, name)))
        assert kind == "RuntimeError" and SAID[name] in text, each.T.__name__


def test_classes(both) -> None:
    def run(each: Any) -> Any:
        return [
            lambda: each.boxed(3),
            lambda: each.T.jit.script(each.Derived),
            lambda: each.T.jit.script(each.Plain),
            lambda: each.rpc.RRef(each.Box(3)).to_here().get(),
        ]

    compared(both, run)


def test_rrefs_to_modules(both) -> None:
    def run(each: Any) -> Any:
        return [
            lambda: each.rpc.RRef(each.Holder(2), each.Gives).to_here().forward(),
            lambda: each.rpc.RRef(each.Holder(2)),
            lambda: each.rpc.RRef(3, each.Gives),
            lambda: attempt(lambda: each.rpc.RRef(each.Holder(2), each.Takes))[1].splitlines()[0],
        ]

    compared(both, run)


def found(text: str, call: Any) -> list[str]:
    return re.findall(text, attempt(call)[1])


def test_refusals(both, tmp_path: Path) -> None:
    def run(each: Any) -> Any:
        rref = each.rpc.RRef(each.x)
        return [
            lambda: found("RRef jit pickling is only allowed inside RPC calls", lambda: each.save_it(rref, str(tmp_path / "f"))),
            lambda: found(
                "Async functions must return an IValue of Future type, but got Tensor",
                lambda: each.rpc.rpc_sync("solo", each.no_future),
            ),
            lambda: attempt(lambda: each.rpc.rpc_sync("solo", each.Holder(1).forward))[0],
            lambda: attempt(lambda: each.T.save(each.Holder(1), str(tmp_path / "g")))[1].split("!")[0],
        ]  # fmt: skip

    compared(both, run)


def test_methods_that_remote_modules_refuse(both) -> None:
    refused = [
        "register_buffer", "register_parameter", "add_module", "apply", "cuda", "ipu", "xpu", "cpu", "type", "float", "double",
        "half", "bfloat16", "to", "register_backward_hook", "register_forward_pre_hook", "register_forward_hook", "parameters",
        "named_parameters", "buffers", "named_buffers", "children", "named_children", "modules", "named_modules",
        "requires_grad_", "zero_grad", "share_memory", "extra_repr",
    ]  # fmt: skip
    needs = {"register_buffer": 2, "register_parameter": 2, "add_module": 2, "apply": 1, "type": 1, "register_backward_hook": 1,
             "register_forward_pre_hook": 1, "register_forward_hook": 1}  # fmt: skip
    wanted, found = (
        [attempt(lambda name=name, cls=cls: getattr(cls.__new__(cls), name)(*["a"] * needs.get(name, 0))) for name in refused]
        for cls in (torch_remote.RemoteModule, mpigrad.distributed.nn.RemoteModule)
    )
    assert found == wanted
    ours = mpigrad.distributed.nn.api.remote_module
    assert ours._REMOTE_MODULE_PICKLED_ATTRIBUTES == torch_remote._REMOTE_MODULE_PICKLED_ATTRIBUTES
