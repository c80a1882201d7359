"""The state of remote modules: training mode and state_dict, alone and as a part of a module that is here."""

from __future__ import annotations

import io

import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.nn import RemoteModule

from . import modules
from .modules import inputs, on

pytestmark = pytest.mark.mpi(min_size=2)


def is_training(remote: RemoteModule) -> bool:
    return rpc.rpc_sync(remote.get_module_rref().owner(), modules.training, args=(remote.get_module_rref(),))


def test_training_mode_is_set_there(rpc_world) -> None:
    remote = RemoteModule(on(rpc_world.next_name), modules.Net)
    assert remote.training and is_training(remote)
    assert remote.eval() is remote
    assert not remote.training and not is_training(remote)
    assert remote.train().training and is_training(remote)


def test_training_mode_reaches_parts_that_are_elsewhere(rpc_world) -> None:
    outer = modules.Outer(rpc_world.next_name)
    outer.eval()
    assert not outer.far.training and not is_training(outer.far)
    outer.train()
    assert outer.far.training and is_training(outer.far)


def test_a_state_goes_from_worker_to_worker(rpc_world) -> None:
    first = RemoteModule(on(rpc_world.next_name), modules.Net, kwargs={"seed": 1})
    second = RemoteModule(on(rpc_world.worker(rpc_world.rank + 2)), modules.Net, kwargs={"seed": 2})
    first(inputs())  # moves the running means
    state = first.state_dict()
    local = modules.Net(seed=1)
    local(inputs())
    assert list(state) == list(local.state_dict())
    assert state._metadata == local.state_dict()._metadata
    assert not mpigrad.equal(first.eval()(inputs()), second.eval()(inputs()))
    assert not any(second.load_state_dict(state))
    local.load_state_dict(state)
    assert mpigrad.equal(second(inputs()), first(inputs()))
    assert mpigrad.equal(local.eval()(inputs()), first(inputs()))


def test_a_state_is_a_copy(rpc_world) -> None:
    remote = RemoteModule(on(rpc_world.next_name), modules.Net).eval()
    before = remote(inputs())
    for value in remote.state_dict().values():
        value.zero_()
    assert mpigrad.equal(remote(inputs()), before)
    with pytest.raises(ValueError, match="keep_vars must be False"):
        remote.state_dict(keep_vars=True)


def test_strictness_is_that_of_modules(rpc_world) -> None:
    remote = RemoteModule(on(rpc_world.next_name), modules.Net)
    with pytest.raises(RuntimeError, match='Missing key.*"linear.weight"'):
        remote.load_state_dict({})
    report = remote.load_state_dict({"scale": mpigrad.full((1,), 4.0), "odd": mpigrad.ones(1)}, strict=False)
    assert report.unexpected_keys == ["odd"] and "linear.weight" in report.missing_keys
    assert remote.state_dict()["scale"].item() == 4.0


def test_a_module_with_a_part_elsewhere_saves_and_loads_as_a_whole(rpc_world) -> None:
    first, second = modules.Outer(rpc_world.next_name, seed=1), modules.Outer(rpc_world.worker(rpc_world.rank + 2), seed=2)
    file = io.BytesIO()
    mpigrad.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(mpigrad.load(file))
    assert [name for name, _ in first.named_parameters()] == ["near.weight", "near.bias"]
    assert mpigrad.equal(first.eval()(inputs()), second.eval()(inputs()))


def test_missing_and_wrong_entries_are_reported_by_the_whole(rpc_world) -> None:
    outer = modules.Outer(rpc_world.next_name)
    state = outer.state_dict()
    del state["far.scale"]
    state["far.odd"] = mpigrad.ones(1)
    with pytest.raises(RuntimeError) as caught:
        outer.load_state_dict(state)
    assert 'Missing key(s) in state_dict: "far.scale"' in str(caught.value)
    assert 'Unexpected key(s) in state_dict: "far.odd"' in str(caught.value)
    state = outer.state_dict()
    state["far.linear.weight"] = mpigrad.ones(7, 7)
    with pytest.raises(RuntimeError, match="size mismatch for linear.weight"):
        outer.load_state_dict(state)
