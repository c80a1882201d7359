"""RemoteModule: calls, parameters, gradients, places, errors, pickling."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.nn._refused import REFUSED
from mpigrad.distributed.nn.api.remote_module import _REMOTE_MODULE_PICKLED_ATTRIBUTES
from mpigrad.distributed.optim import DistributedOptimizer

from . import modules
from .modules import inputs, on

pytestmark = pytest.mark.mpi(min_size=2)


ON_THE_CPU = [pytest.param(place, marks=pytest.mark.host) for place in ("worker{}/cpu", "rank:{}/cpu")]


@pytest.mark.parametrize("place", ["worker{}", "rank:{}", *ON_THE_CPU])
def test_a_call_is_the_call_of_the_module(rpc_world, place: str) -> None:
    place = place.format(rpc_world.next_rank)
    remote, local = RemoteModule(place if "/" in place else on(place), modules.Net), modules.Net()
    x = inputs()
    assert mpigrad.equal(remote(x), local(x))
    assert mpigrad.equal(remote.forward(x, times=2.0), local(x, times=2.0))
    future = remote.forward_async(x, times=3.0)
    assert isinstance(future, mpigrad.futures.Future)
    assert mpigrad.equal(future.wait(), local(x, times=3.0))
    assert remote.get_module_rref().owner().id == rpc_world.next_rank


def test_arguments_and_results_may_be_structures(rpc_world) -> None:
    remote, x = RemoteModule(on(rpc_world.next_name), modules.Structured), inputs()
    found = remote(x, [x, x], named={"y": x})
    assert mpigrad.equal(found["sum"], x * 4)
    assert found["kept"][1] == "text"


def test_an_error_in_forward_comes_here(rpc_world) -> None:
    remote = RemoteModule(on(rpc_world.next_name), modules.Net)
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        remote(mpigrad.ones(1, 5))
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        remote.forward_async(mpigrad.ones(1, 5)).wait()


def test_remote_parameters_train_as_local_ones(rpc_world) -> None:
    remote, local = RemoteModule(on(rpc_world.next_name), modules.Net), modules.Net()
    distributed = DistributedOptimizer(optim.SGD, remote.remote_parameters(), lr=0.1, momentum=0.9)
    alone = optim.SGD(local.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        with dist_autograd.context() as context_id:
            dist_autograd.backward(context_id, [remote(inputs()).sub(0.3).pow(2).sum()])
            distributed.step(context_id)
        alone.zero_grad()
        local(inputs()).sub(0.3).pow(2).sum().backward()
        alone.step()
    assert [name for name, _ in local.named_parameters()] == ["scale", "linear.weight", "linear.bias", "norm.weight", "norm.bias"]
    for rref, wanted in zip(remote.remote_parameters(), local.parameters()):
        assert rref.owner().name == rpc_world.next_name
        assert mpigrad.equal(rref.to_here(), wanted)
    assert len(remote.remote_parameters(recurse=False)) == 1


@pytest.mark.parametrize(
    ("place", "error", "said"),
    [
        ("worker1/cpu/x", ValueError, "remote_device: worker1/cpu/x. The valid format is '<workername>/<device>'"),
        ("/cpu", ValueError, "Could not parse remote_device: /cpu"),
        ("", ValueError, "Could not parse remote_device: ."),
        ("rank:x/cpu", ValueError, "Could not parse remote_device: rank:x/cpu"),
        ("rank:-1", ValueError, "Could not parse remote_device: rank:-1"),
        ("cpu", ValueError, "names no worker"),
        ("cuda:0", ValueError, "names no worker"),
        ("worker1/", RuntimeError, "evice string"),
        ("worker1/abacus", RuntimeError, "device type at start of device string: abacus"),
        ("worker99/cpu", RuntimeError, "could not find destination name worker99"),
        ("rank:99/cpu", RuntimeError, "could not find destination id 99"),
        (5, TypeError, "Invalid type for remote_device: <class 'int'>"),
    ],
)
def test_places_that_cannot_be(rpc_world, place, error, said) -> None:
    with pytest.raises(error) as caught:
        RemoteModule(place, modules.Net)
    assert said in str(caught.value)


def test_a_module_that_cannot_be_made_is_told_at_once(rpc_world) -> None:
    with pytest.raises(KeyError, match="no such layer"):
        RemoteModule(on(rpc_world.next_name), modules.Fails)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        RemoteModule(on(rpc_world.next_name), modules.Net, kwargs={"height": 3})
    with pytest.raises(ValueError, match="returns an instance of <class nn.Module>, but it returns an instance of <class 'int'>"):
        RemoteModule(on(rpc_world.next_name), modules.not_a_module)
    with pytest.raises(TypeError, match="module_cls must be a class or function that makes a module, not 7"):
        RemoteModule(on(rpc_world.next_name), 7)


@pytest.mark.parametrize("name", [name for name in REFUSED if not name.startswith("_")])
def test_methods_that_need_the_module_here_are_refused(name: str) -> None:
    remote = RemoteModule.__new__(RemoteModule)
    with pytest.raises(ValueError, match=f"Method ``{name}`` not supported for RemoteModule"):
        getattr(remote, name)()


def test_plain_pickle_is_refused(rpc_world) -> None:
    remote = RemoteModule(on(rpc_world.next_name), modules.Net)
    for attempt in (pickle.dumps, copy.deepcopy):
        with pytest.raises(RuntimeError, match="Cannot pickle RemoteModule in python pickler"):
            attempt(remote)


def test_calls_carry_remote_modules_both_ways(rpc_world) -> None:
    remote = RemoteModule(on(rpc_world.next_name), modules.Net).eval()
    remote.note = "stays here"
    last = rpc_world.worker(rpc_world.rank + 2)
    wanted = "RemoteModule", rpc_world.next_name, str(mpigrad.get_default_device()), False, False
    assert rpc.rpc_sync(last, modules.seen, args=(remote,)) == wanted
    assert mpigrad.equal(rpc.rpc_sync(last, modules.call, args=(remote, inputs())), remote(inputs()))
    given = rpc.rpc_sync(rpc_world.next_name, modules.hand_over)
    assert given.on == rpc_world.next_name
    assert given(inputs()).shape == (4, 3)


def test_gradients_cross_a_module_that_was_handed_on(rpc_world) -> None:
    remote = RemoteModule(on(rpc_world.next_name), nn.Linear, args=(2, 1))
    x = inputs().requires_grad_()
    with dist_autograd.context() as context_id:
        result = rpc.rpc_sync(rpc_world.worker(rpc_world.rank + 2), modules.call, args=(remote, x))
        dist_autograd.backward(context_id, [result.sum()])
        weight = remote.remote_parameters()[0].to_here()
        assert mpigrad.allclose(dist_autograd.get_gradients(context_id)[x], weight.expand(4, 2))


def test_a_module_that_is_there_already(rpc_world) -> None:
    made = rpc.remote(rpc_world.next_name, modules.Net)
    remote = RemoteModule.init_from_module_rref(f"{rpc_world.next_name}/{mpigrad.get_default_device()}", made)
    again = RemoteModule.init_from_module_rref(on(f"rank:{rpc_world.next_rank}"), made)
    assert rpc.rpc_sync(rpc_world.next_name, modules.same_module, args=(remote, again))
    assert remote(inputs()).shape == (4, 3)
    last = rpc_world.worker(rpc_world.rank + 2)  # made there, for a module that is elsewhere
    third = rpc.rpc_sync(last, RemoteModule.init_from_module_rref, args=(last, made))
    assert third.on == last and mpigrad.equal(third(inputs()), remote(inputs()))
    assert mpigrad.equal(rpc.rpc_sync(last, modules.call, args=(third, inputs())), remote(inputs()))
    assert len(third.remote_parameters()) == len(remote.remote_parameters())


def test_what_travels_is_what_a_remote_module_has_there(rpc_world, capsys) -> None:
    remote = RemoteModule(on(rpc_world.next_name), modules.Net)
    remote.note = "stays here"
    found = rpc.rpc_sync(rpc_world.worker(rpc_world.rank + 2), vars_of, args=(remote,))
    assert list(found) == [*_REMOTE_MODULE_PICKLED_ATTRIBUTES, "forward_async", "forward"]
    assert found["on"] == rpc_world.next_name and mpigrad.equal(found["forward"](inputs()), remote(inputs()))
    assert "The new attribute ``note`` of RemoteModule is ignored during RPC pickling." in capsys.readouterr().err


def vars_of(remote: RemoteModule) -> dict[str, Any]:
    return remote.__dict__


def test_a_remote_module_is_released_at_once(rpc_world) -> None:
    remote = RemoteModule(on(rpc_world.next_name), modules.Net)
    gone = weakref.ref(remote)
    gc.disable()
    try:
        del remote
        assert gone() is None  # nothing refers to it from inside
    finally:
        gc.enable()


def test_as_a_part_it_is_one_module(rpc_world) -> None:
    outer = modules.Outer(rpc_world.next_name)
    assert outer.far in list(outer.modules())
    for call in (outer.far.modules, outer.far.named_modules, outer.far.extra_repr):
        with pytest.raises(ValueError, match="not supported for RemoteModule"):
            call()


def test_it_says_where_it_is(rpc_world) -> None:
    outer = modules.Outer(rpc_world.next_name)
    assert f"(far): RemoteModule(on='{rpc_world.next_name}', device='{mpigrad.get_default_device()}')" in repr(outer)
