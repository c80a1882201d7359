"""Arrays of GPUs in calls: where they arrive, what they look like, large ones, many of them, both ways at once."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad._array.device import cupy, host
from mpigrad.distributed._gpu.pinned import COUNTS, FOR_RECEIVES, FOR_SENDS
from mpigrad.distributed._gpu.transfers import PACKED_MAX, PIECE_BITS
from mpigrad.testing import World

pytestmark = pytest.mark.mpi(min_size=2)
CUDA0, CUDA1 = mpigrad.device("cuda:0"), mpigrad.device("cuda:1")


def place_and_double(x: mpigrad.Tensor) -> tuple[str, mpigrad.Tensor]:
    return str(x.device), x * 2


def echo(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def check(got: mpigrad.Tensor, expected: np.ndarray, place: mpigrad.device) -> None:
    assert got.device == place
    assert host(got._array).dtype == expected.dtype
    np.testing.assert_array_equal(host(got._array), expected)


@pytest.mark.parametrize("to_self", [False, True])
def test_a_tensor_arrives_where_the_map_says_and_the_answer_takes_the_way_back(swapped: World, to_self: bool) -> None:
    to = swapped.name if to_self else swapped.next_name
    values = np.arange(7, dtype=np.float32) + swapped.rank
    for here, there in ((CUDA0, "cuda:1"), (CUDA1, "cuda:0")):
        place, got = rpc.rpc_sync(to, place_and_double, (mpigrad.from_numpy(values).to(here),))
        assert place == there
        check(got, values * 2, here)


@pytest.mark.parametrize("kind", ["?", "i1", "u1", "i8", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (3, 4, 2)])
def test_types_and_shapes(swapped: World, kind: str, shape: tuple[int, ...]) -> None:
    values = (np.arange(np.prod(shape, dtype=int)) % 3).reshape(shape).astype(kind)
    tensor = mpigrad.from_numpy(values).to(CUDA0)
    ((got,), _) = rpc.rpc_sync(swapped.next_name, echo, (tensor,))
    check(got, values, CUDA0)
    assert got.shape == tensor.shape


@pytest.mark.parametrize("columns", [6, PACKED_MAX // 8], ids=["packed", "alone"])
def test_views_keep_their_strides(swapped: World, columns: int) -> None:
    values = np.arange(4.0 * columns).reshape(4, columns)
    whole = mpigrad.from_numpy(values).to(CUDA1)
    sent = [whole.t(), whole[:, 1:], whole[2], whole.expand(2, 4, columns), whole]
    got, _ = rpc.rpc_sync(swapped.next_name, echo, tuple(sent))
    expected = [values.T, values[:, 1:], values[2], np.broadcast_to(values, (2, 4, columns)), values]
    for one, original, other in zip(got, sent, expected):
        check(one, other, CUDA1)
        assert one.stride() == original.stride()


def test_a_small_part_of_large_memory_travels_without_the_rest(swapped: World) -> None:
    whole = mpigrad.arange(64.0 * 1024, device="cuda:1").view(64, 1024)
    ((got,), _) = rpc.rpc_sync(swapped.next_name, echo, (whole[:, :2].t(),))
    check(got, np.arange(64 * 1024, dtype="f4").reshape(64, 1024)[:, :2].T, CUDA1)
    assert got.stride() == (1, 2)


def test_host_and_device_arrays_in_one_message(swapped: World) -> None:
    large = PACKED_MAX // 8 + 1
    sent = {
        "small": mpigrad.ones(3, device="cuda:0"),
        "host": mpigrad.ones(4),
        "large host": mpigrad.arange(float(large)),
        "numpy": np.arange(large),
        "large": mpigrad.arange(float(large), device="cuda:0"),
        "other": [mpigrad.zeros(2, device="cuda:1"), 5],
    }
    (back,), kwargs = rpc.rpc_sync(swapped.next_name, echo, (sent,), {"key": sent["small"]})
    check(back["small"], np.ones(3, "f4"), CUDA0)
    check(back["host"], np.ones(4, "f4"), mpigrad.device("cpu"))
    check(back["large host"], np.arange(float(large), dtype="f4"), mpigrad.device("cpu"))
    np.testing.assert_array_equal(back["numpy"], np.arange(large))
    check(back["large"], np.arange(float(large), dtype="f4"), CUDA0)
    check(back["other"][0], np.zeros(2, "f4"), CUDA1)
    check(kwargs["key"], np.ones(3, "f4"), CUDA0)


def test_the_same_tensor_twice_stays_one(swapped: World) -> None:
    tensor = mpigrad.ones(3, device="cuda:0")
    (one, other), _ = rpc.rpc_sync(swapped.next_name, echo, (tensor, tensor))
    assert one is other


def test_plain_cupy_arrays_follow_the_map_too(swapped: World) -> None:
    with cupy().cuda.Device(1):
        sent = cupy().arange(5)
    ((got,), _) = rpc.rpc_sync(swapped.next_name, echo, ([sent],))
    assert isinstance(got[0], cupy().ndarray) and got[0].device.id == 1
    np.testing.assert_array_equal(host(got[0]), np.arange(5))


@pytest.mark.parametrize("extra", [-1, 0, 1, 2 << PIECE_BITS])
def test_large_arrays_travel_in_pieces(swapped: World, extra: int) -> None:
    values = np.random.default_rng(swapped.rank).integers(0, 255, (1 << PIECE_BITS) + extra, np.uint8)
    ((got,), _) = rpc.rpc_sync(swapped.next_name, echo, (mpigrad.from_numpy(values).to(CUDA0),))
    check(got, values, CUDA0)


def test_hundreds_of_arrays_in_one_message(swapped: World) -> None:
    values = [np.full(i % 50 + 1, i, np.float32) for i in range(300)]
    got, _ = rpc.rpc_sync(swapped.next_name, echo, tuple(mpigrad.from_numpy(each).to(CUDA0) for each in values))
    for one, other in zip(got, values):
        check(one, other, CUDA0)


def test_many_large_transfers_both_ways_at_once_stay_within_the_pinned_pools(swapped: World) -> None:
    values = np.arange(1_500_000 + swapped.rank, dtype=np.float32)  # two pieces each
    tensor = mpigrad.from_numpy(values).to(CUDA0)
    futures = [rpc.rpc_async(swapped.worker(swapped.rank + 1 + i), echo, (tensor + i,)) for i in range(8)]
    for i, fut in enumerate(futures):
        ((got,), _) = fut.wait()
        check(got, values + i, CUDA0)
    limit = sum(size * count for size, count in COUNTS.items())
    assert 0 < FOR_SENDS.made_bytes() <= limit and 0 < FOR_RECEIVES.made_bytes() <= limit


def test_threads_call_at_the_same_time(swapped: World) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(6):
                values = np.full(PACKED_MAX // 4 * (i % 2) + 10, number * 10 + i, np.float32)
                _, got = rpc.rpc_sync(swapped.next_name, place_and_double, (mpigrad.from_numpy(values).to(CUDA0),))
                check(got, values * 2, CUDA0)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors, errors


def test_tensors_of_the_host_can_be_mapped_to_a_gpu(start: Any) -> None:
    world = start({"cpu": "cuda:1"})
    values = np.arange(PACKED_MAX, dtype=np.float32)
    for length in (5, PACKED_MAX):
        place, got = rpc.rpc_sync(world.next_name, place_and_double, (mpigrad.from_numpy(values[:length]),))
        assert place == "cuda:1"
        check(got, values[:length] * 2, mpigrad.device("cpu"))


def test_tensors_of_a_gpu_can_be_mapped_to_the_host(start: Any) -> None:
    world = start({"cuda:1": "cpu"})
    values = np.arange(PACKED_MAX, dtype=np.float32)
    for length in (5, PACKED_MAX):
        place, got = rpc.rpc_sync(world.next_name, place_and_double, (mpigrad.from_numpy(values[:length]).to(CUDA1),))
        assert place == "cpu"
        check(got, values[:length] * 2, CUDA1)


def limit_memory(nbytes: int) -> None:
    pool = cupy().get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes() + nbytes if nbytes else 0)


def test_no_memory_left_on_the_gpu_is_an_error_of_the_call(swapped: World) -> None:
    tensor = mpigrad.ones(6 << 20, device="cuda:0")
    rpc.rpc_sync(swapped.next_name, set_limit_on, (1, 1 << 20))
    swapped.barrier()
    try:
        with pytest.raises(RuntimeError, match="25165824 bytes could not be received on cuda:1: .*[Oo]ut of memory"):
            rpc.rpc_sync(swapped.next_name, place_and_double, (tensor,))
    finally:
        swapped.barrier()
        rpc.rpc_sync(swapped.next_name, set_limit_on, (1, 0))
    assert rpc.rpc_sync(swapped.next_name, place_and_double, (tensor[:3],))[0] == "cuda:1"


def set_limit_on(index: int, nbytes: int) -> None:
    with cupy().cuda.Device(index):
        limit_memory(nbytes)
