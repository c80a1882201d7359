"""Calls from scripts: arguments by name and by default, timeouts, errors in PyTorch's words; checks before a call leaves."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.futures import Future

from . import call_scripts as scripts
from .call_scripts import two_and_two

pytestmark = pytest.mark.mpi(min_size=1)


def pair(a: int, b: int) -> mpigrad.Tensor:
    return mpigrad.tensor([a, b])


@pytest.mark.parametrize("call", scripts.CALLS)
def test_arguments_by_name_are_those_of_a_dict(rpc_world, call) -> None:
    args = pair(1, 1), pair(2, 2)
    assert call(rpc_world.next_name, args, {}).tolist() == [10, 10]
    assert call(rpc_world.next_name, args, {"third": pair(2, 2)}).tolist() == [9, 9]
    assert call(rpc_world.next_name, args, {"fourth": pair(3, 3), "third": pair(2, 2)}).tolist() == [8, 8]


@pytest.mark.parametrize("call", scripts.CALLS)
def test_names_that_do_not_fit_are_refused_before_the_call(rpc_world, call) -> None:
    args = pair(1, 1), pair(2, 2)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'fifth' for operator 'two_and_two'. Schema: two_and_two"):
        call(rpc_world.next_name, args, {"fifth": pair(1, 1)})
    with pytest.raises(RuntimeError, match="Argument 'first' specified both as positional and keyword argument. Schema: two_and"):
        call(rpc_world.next_name, args, {"first": pair(1, 1)})


def test_values_of_several_types_and_none_at_all(rpc_world) -> None:
    tensor, text, number = scripts.call_mixed(rpc_world.next_name)
    assert (tensor.tolist(), text, number) == ([4, 4], "start here", 4)
    assert scripts.call_without(rpc_world.next_name) == (0, 0, 0)


def test_an_int_becomes_the_float_that_is_wanted(rpc_world) -> None:
    assert scripts.call_with_an_int_for_a_float(rpc_world.next_name, 3) == 1.5


def too_few(to: str):
    args = (mpigrad.tensor([1, 1]),)
    kwargs = {}
    return rpc.rpc_async(to, two_and_two, args, kwargs).wait()


def too_many(to: str, t: mpigrad.Tensor):
    args = (t, t, t, t, t)
    return rpc.rpc_sync(to, two_and_two, args)


def no_function(to: str):
    return rpc.rpc_async(to)


def six(to: str):
    return rpc.rpc_async(to, scripts.nothing, (), {}, 1.0, 2)


def by_number(to: str):
    return rpc.rpc_async(to, scripts.nothing, (), {1: 2})


def slow_text(to: str):
    return rpc.remote(to, scripts.nothing, (), {}, "soon")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (too_few, "Argument second not provided."),
        (too_many, "Expected at most 4 arguments but found 5 positional arguments."),
        (no_function, r"Possible forms of call to rpc_async\(..\) are"),
        (six, r"rpc_async\(dst_worker_name, user_callable, args, kwargs, timeout\)"),
        (by_number, "Unknown keyword argument '1'"),
        (slow_text, "the timeout of remote must be a float, got str"),
    ],
)
def test_arguments_that_cannot_fit_are_refused_while_scripting(function, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        mpigrad.jit.script(function)


def test_functions_that_the_other_worker_has_not_scripted(rpc_world) -> None:
    if rpc_world.rank == 0 and rpc_world.world_size > 1:

        @mpigrad.jit.script
        def only_here():
            return 0

        @mpigrad.jit.script
        def call_python(to: str):
            return rpc.rpc_async(to, scripts.python_function, (), {}).wait()

        @mpigrad.jit.script
        def call_only_here(to: str):
            return rpc.rpc_async(to, only_here).wait()

        with pytest.raises(RuntimeError, match="attempted to get undefined function python_function"):
            call_python(rpc_world.next_name)
        with pytest.raises(RuntimeError, match="attempted to get undefined function only_here"):
            call_only_here(rpc_world.next_name)
    rpc_world.barrier()


def test_an_error_of_the_callee_is_a_runtime_error(rpc_world) -> None:
    for call in (
        lambda x: scripts.call_fail(rpc_world.next_name, x),
        lambda x: rpc.rpc_sync(rpc_world.next_name, scripts.fail, args=(x,)),
        lambda x: rpc.remote(rpc_world.next_name, scripts.fail, args=(x,)).to_here(),
    ):
        assert call(mpigrad.ones(3)).tolist() == [1.0] * 3
        with pytest.raises(RuntimeError, match="two elements"):
            call(mpigrad.ones(2))


# -- calls of scripts from Python ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [rpc.rpc_sync, rpc.rpc_async, rpc.remote])
def test_python_checks_the_arguments_of_a_script_before_they_leave(rpc_world, call) -> None:
    to, t = rpc_world.next_name, mpigrad.ones(2)
    for args, kwargs, said in (
        ((t, t, t, t, t), {}, r"two_and_two\(\) expected at most 4 argument\(s\) but received 5 argument\(s\)"),
        ((t,), {}, r"two_and_two\(\) is missing value for argument 'second'"),
        ((t, 3), {}, r"two_and_two\(\) Expected a value of type 'Tensor \(inferred\)' for argument 'second'"),
        ((t, t), {"fifth": t}, "Unknown keyword argument 'fifth' for operator 'two_and_two'"),
        ((t, t), {"first": t}, "Argument 'first' specified both as positional and keyword argument"),
        ((t, t), {"third": 3}, r"two_and_two\(\) Expected a value of type 'Tensor \(inferred\)' for argument 'third'"),
    ):
        with pytest.raises(RuntimeError, match=said):
            call(to, two_and_two, args=args, kwargs=kwargs)


def test_the_method_of_a_scripted_module_does_not_travel(rpc_world) -> None:
    class Net(mpigrad.nn.Module):
        def forward(self, x):
            return x

    for call in (rpc.rpc_sync, rpc.rpc_async, rpc.remote):
        with pytest.raises(TypeError, match="cannot pickle 'ScriptMethod' object"):
            call(rpc_world.next_name, mpigrad.jit.script(Net()).forward, args=(mpigrad.ones(1),))


# -- functions that answer later ----------------------------------------------------------------------------------------
def test_scripts_that_answer_later(rpc_world) -> None:
    to, after = rpc_world.next_name, rpc_world.worker(rpc_world.rank + 2)
    assert rpc.rpc_sync(to, scripts.later_add, args=(after, mpigrad.ones(2), mpigrad.ones(2))).tolist() == [2.0, 2.0]
    rrefs = [rpc.remote(to, scripts.later_add, args=(after, mpigrad.ones(2), mpigrad.ones(2) * n)) for n in range(5)]
    assert [each.to_here().tolist() for each in rrefs] == [[1.0 + n] * 2 for n in range(5)]


def test_a_script_that_should_answer_later_and_does_not(rpc_world) -> None:
    said = "Async functions must return an IValue of Future type, but got Tensor"
    with pytest.raises(RuntimeError, match=said):
        rpc.rpc_sync(rpc_world.next_name, scripts.no_future)
    with pytest.raises(RuntimeError, match=said):
        rpc.remote(rpc_world.next_name, scripts.no_future).to_here()


def test_the_wrong_order_of_decorators() -> None:
    def later(to: str, x: mpigrad.Tensor) -> Future[mpigrad.Tensor]:
        return rpc.rpc_async(to, scripts.add, (x, x))

    with pytest.raises(RuntimeError, match="put that decorator above @mpigrad.jit.script"):
        mpigrad.jit.script(rpc.functions.async_execution(later))


# -- timeouts ------------------------------------------------------------------------------------------------------------
def test_timeouts_of_scripts(rpc_world) -> None:
    to, said = rpc_world.next_name, "RPC ran for more than"
    with pytest.raises(RuntimeError, match=said):
        scripts.call_slow(to, 0.3, 0.05)
    with pytest.raises(RuntimeError, match=said):
        scripts.start_slow(to, 0.3, 0.05).wait()
    rpc._set_rpc_timeout(0.05)
    try:
        with pytest.raises(RuntimeError, match=said):
            scripts.call_slow(to, 0.3, -1.0)
        assert scripts.call_slow(to, 0.1, 0) == 1  # 0: none
    finally:
        rpc._set_rpc_timeout(60.0)
    rpc_world.barrier()


@pytest.mark.mpi(min_size=2)
def test_a_timeout_of_a_fetch_in_a_script(rpc_world) -> None:
    with pytest.raises(RuntimeError, match="RPC ran for more than"):
        scripts.fetch_slow(rpc_world.next_name, 0.3, 0.05)
    assert scripts.fetch_slow(rpc_world.next_name, 0.05, 30.0) == 1
    rpc_world.barrier()
