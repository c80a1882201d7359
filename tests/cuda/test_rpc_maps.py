"""Device maps that are missing or wrong: PyTorch's errors, on the caller, and on all workers at the start."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.testing import World

pytestmark = pytest.mark.mpi(min_size=2)
ADVICE = "TensorPipe RPC backend only supports CPU tensors by default, please move your tensors to CPU before sending"


def make(place: str) -> mpigrad.Tensor:
    return mpigrad.ones(2, device=place)


def take(x: mpigrad.Tensor) -> float:
    return float(x.sum())


@pytest.mark.parametrize("to_self", [False, True])
def test_a_request_without_a_map(start: Any, to_self: bool) -> None:
    world = start()
    to = world.name if to_self else world.next_name
    text = f"Request device mapping is not available for destination {to}, but found tensor on device: cuda:1"
    for call in (rpc.rpc_sync, lambda *a: rpc.rpc_async(*a).wait(), rpc.remote):
        with pytest.raises(RuntimeError, match=text) as caught:
            call(to, take, (make("cuda:1"),))
        assert str(caught.value).startswith(ADVICE)


def test_a_device_that_the_map_does_not_name(start: Any) -> None:
    world = start({0: 0})
    assert rpc.rpc_sync(world.next_name, take, (make("cuda:0"),)) == 2
    text = f"destination {world.next_name} for device cuda:1 but received a tensor on that device"
    with pytest.raises(RuntimeError, match=text):
        rpc.rpc_sync(world.next_name, take, (make("cuda:1"),))


@pytest.mark.parametrize("maps", [None, {0: 0}])
def test_an_answer_without_a_way_back(start: Any, maps: Any) -> None:
    world = start(maps)
    with pytest.raises(RuntimeError, match=f"Response device mapping is not available for destination {world.name}"):
        rpc.rpc_sync(world.next_name, make, ("cuda:1",))
    rref = rpc.remote(world.next_name, make, ("cuda:1",))
    with pytest.raises(RuntimeError, match="Response device mapping is not available for destination"):
        rref.to_here()
    assert rpc.rpc_sync(world.next_name, take, (mpigrad.ones(3),)) == 3  # nothing is broken


def test_an_rref_of_this_worker_needs_no_map(start: Any) -> None:
    world = start()
    assert rpc.remote(world.name, make, ("cuda:1",)).to_here().device == mpigrad.device("cuda:1")


WRONG = [
    ({"device_maps": {"worker1": {0: 7}}}, "Node worker0 has target devices with invalid indices in its device map for worker1"),
    ({"device_maps": {"worker1": {9: 0}}}, "Node worker0 has source devices with invalid indices in its device map for worker1"),
    ({"device_maps": {"nobody": {0: 0}}}, "Node worker0 has invalid target node names in its device maps"),
    ({"devices": [0, 0]}, "Node worker0 has duplicated devices"),
    ({"devices": [5]}, "Node worker0 has devices with invalid indices"),
    ({"devices": [1], "device_maps": {"worker1": {0: 0}}}, "Node worker0 has unexpected source devices in its device map"),
    ({"twice": True}, "Node worker0 has duplicated target devices in its device map for worker1"),
]


@pytest.mark.parametrize("options, text", WRONG, ids=[text[13:40] for _, text in WRONG])
def test_all_workers_refuse_maps_that_cannot_be(world: World, options: dict[str, Any], text: str) -> None:
    given = rpc.MPIRpcBackendOptions(**{k: v for k, v in options.items() if k != "twice"} if world.rank == 0 else {})
    if "twice" in options and world.rank == 0:
        given.set_device_map("worker1", {0: 1})
        given.set_device_map("worker1", {1: 1})
    with pytest.raises(ValueError, match=text):
        rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size, rpc_backend_options=given)
    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size)  # and can start again without them
    assert rpc.rpc_sync(world.next_name, take, (mpigrad.ones(3),)) == 3
    rpc.shutdown()


def test_devices_that_the_target_does_not_use(world: World) -> None:
    given = rpc.MPIRpcBackendOptions(devices=[1] if world.rank == 1 else None)
    if world.rank == 0:
        given.set_device_map("worker1", {0: 0})
    with pytest.raises(ValueError, match="Node worker0 has unexpected target devices in its device map for worker1"):
        rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size, rpc_backend_options=given)


def test_dynamic_groups_learn_maps_as_workers_join(world: World) -> None:
    given = rpc.MPIRpcBackendOptions()
    given.set_device_map(world.next_name, {0: 1, 1: 0})
    rpc.init_rpc(world.name, rank=world.rank, rpc_backend_options=given)
    world.barrier()
    got = rpc.rpc_sync(world.next_name, mpigrad.add, (make("cuda:0"), 1))
    assert got.device == mpigrad.device("cuda:0") and float(got.sum()) == 4
    world.barrier()
    rpc.shutdown()


def test_members_of_a_dynamic_group_that_share_a_gpu_are_told(unclaimed: World, caplog: pytest.LogCaptureFixture) -> None:
    world = unclaimed
    with caplog.at_level(logging.WARNING):
        rpc.init_rpc(world.name, rank=world.rank, rpc_backend_options=rpc.MPIRpcBackendOptions(devices=[1]))
    told = sum("uses the GPU of cuda:1, too" in text for text in caplog.messages)
    assert sum(world.gather(told)) == world.world_size - 1
    rpc.shutdown()
