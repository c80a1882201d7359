"""Offers of large arrays between ranks of one host: arrays arrive intact, whichever process copies, also if one declines."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc import cross_memory, mpi
from mpigrad.distributed.rpc._transport import mpi_probing
from mpigrad.distributed.rpc._transport.shared_memory import slots
from mpigrad.distributed.rpc._world import start
from mpigrad.distributed.rpc.api import _get_current_rpc_agent
from tests.support.eventually import eventually

from .. import support_functions as far

CHUNK = 128 * 1024
BORDERS = [mpi.SHARE_MIN, 6 * CHUNK, 1 << 20, 9 << 20]
SIZES = [border + extra for border in BORDERS for extra in (-1, 0, 1)]
CALLS = 40
ROUNDS = 80


@pytest.fixture(autouse=True)
def offers_even_without_idle_cores(monkeypatch) -> None:
    monkeypatch.setenv(slots.VARIABLE, "both_ends")


@pytest.fixture(params=["both_ends", "lend"])
def each_way(request, monkeypatch) -> None:
    """Both processes copy, or the sender copies into memory that it lends."""
    monkeypatch.setenv(slots.VARIABLE, request.param)


def numbers(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((size, seed)).integers(0, 256, size, np.uint8)


def checked_and_changed(array: np.ndarray, crc: int) -> np.ndarray:
    """A worker changes an array at once: no other process may still write to it."""
    assert zlib.crc32(array) == crc
    array[:] = 255 - array
    return array


class Watch:
    """How this rank's transport sent large arrays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.transport = _get_current_rpc_agent().transport
        self.by_mpi = 0
        send_pieces = self.transport.send_pieces

        def watched(dst: int, raw: np.ndarray, tag: int):
            self.by_mpi += raw.nbytes >= mpi.SHARE_MIN
            return send_pieces(dst, raw, tag)

        monkeypatch.setattr(self.transport, "send_pieces", watched)

    def nothing_is_left(self) -> None:
        eventually(lambda: not self.transport.unsent())
        assert not self.transport._under_way and not self.transport._offers.out and not self.transport.pending()


@pytest.fixture
def watch(rpc_world, monkeypatch) -> Watch:
    rpc_world.barrier()
    return Watch(monkeypatch)


@pytest.mark.mpi(min_size=2)
def test_sizes_around_all_borders(each_way, rpc_world, watch) -> None:
    for size in SIZES:
        array = numbers(size, rpc_world.rank)
        assert np.array_equal(rpc.rpc_sync(rpc_world.next_name, far.echo, args=(array,)), array)
    rpc_world.barrier()
    watch.nothing_is_left()
    assert watch.by_mpi == (0 if cross_memory.CAN else 22)


@pytest.mark.mpi(min_size=2)
def test_many_at_once_in_both_directions(rpc_world, watch) -> None:
    """Each rank counts its tags for itself, so that both directions use the same ones."""
    sizes = np.random.default_rng(rpc_world.rank).integers(400_000, 3_000_000, CALLS)
    sent = [numbers(int(size), 1) for size in sizes]
    futures = [rpc.rpc_async(rpc_world.next_name, far.echo, args=(array,)) for array in sent]
    assert all(np.array_equal(fut.wait(), array) for fut, array in zip(futures, sent))
    rpc_world.barrier()
    watch.nothing_is_left()


@pytest.mark.mpi(min_size=2)
def test_several_arrays_in_one_message_some_of_them_small(each_way, rpc_world, watch) -> None:
    sizes = [100_000, 2_000_000, 10, 40_000, 600_000, 1_000_000]
    sent = tuple(numbers(size, rpc_world.rank) for size in sizes)
    received = rpc.rpc_sync(rpc_world.next_name, far.echo, args=(sent,))
    assert all(np.array_equal(a, b) for a, b in zip(received, sent))
    rpc_world.barrier()
    watch.nothing_is_left()
    assert watch.by_mpi == (0 if cross_memory.CAN else 6)


@pytest.mark.mpi(min_size=2)
def test_arrays_of_any_kind(each_way, rpc_world) -> None:
    base = np.arange(3_000_000, dtype=np.float64)
    frozen = np.arange(300_000.0)
    frozen.flags.writeable = False
    for array in (
        base[::3], base.reshape(1000, 3000).T, base[:900_000].reshape(300, 3000)[:, 5:], frozen, base[:100_000].astype("M8[s]"),
        base[:200_000].astype(">f8"), np.asfortranarray(base.reshape(1500, 2000)),
    ):  # fmt: skip
        received = rpc.rpc_sync(rpc_world.next_name, far.echo, args=(array,))
        assert received.dtype == array.dtype and np.array_equal(received, array)
    rpc_world.barrier()


@pytest.mark.mpi(min_size=2)
def test_bytes_are_counted_alike_by_both(rpc_world) -> None:
    transport = _get_current_rpc_agent().transport
    rpc_world.barrier()
    before, array = rpc_world.gather((transport.bytes_sent, transport.bytes_received)), numbers(2_000_000)
    rpc.rpc_sync(rpc_world.next_name, far.echo, args=(array,))
    rpc_world.barrier()
    after = rpc_world.gather((transport.bytes_sent, transport.bytes_received))
    for old, new in zip(before, after):
        assert new[0] - old[0] > 4_000_000 and new[1] - old[1] > 4_000_000
    sent, received = (sum(new[way] - old[way] for old, new in zip(before, after)) for way in (0, 1))
    assert sent == received


@pytest.mark.mpi(min_size=2)
@pytest.mark.deadline(180)
@pytest.mark.parametrize(
    ("step", "each_way"), [(128 * 1024, "both_ends"), (1 << 20, "both_ends"), (mpi.STEP, "lend")], indirect=["each_way"]
)
def test_hundreds_of_arrays_that_are_changed_at_once(each_way, rpc_world, watch, monkeypatch, step) -> None:
    monkeypatch.setattr(mpi, "STEP", step)
    random = np.random.default_rng(rpc_world.rank)
    under_way: list = []
    for number in range(ROUNDS):
        size = int(2 ** random.uniform(18, 22.5))
        array = numbers(size, number)
        under_way.append((rpc.rpc_async(rpc_world.next_name, checked_and_changed, args=(array, zlib.crc32(array))), array))
        if len(under_way) > 4:
            fut, array = under_way.pop(0)
            received = fut.wait()
            assert zlib.crc32(received) == zlib.crc32(255 - array)
            received[:] = 0
    for fut, array in under_way:
        assert np.array_equal(fut.wait(), 255 - array)
    rpc_world.barrier()
    watch.nothing_is_left()
    assert watch.by_mpi == 0 or not cross_memory.CAN


@pytest.mark.mpi(min_size=2)
def test_gradients_come_this_way_too(each_way, rpc_world) -> None:
    from mpigrad.distributed import autograd as dist_autograd

    weights = mpigrad.ones(400_000, requires_grad=True)
    with dist_autograd.context() as context:
        loss = rpc.rpc_sync(rpc_world.next_name, far.add, args=(weights, weights)).sum()
        dist_autograd.backward(context, [loss])
        assert (dist_autograd.get_gradients(context)[weights].numpy() == 2).all()
    rpc_world.barrier()


ARRIVED: list[int] = []


def arrived(array: np.ndarray) -> int:
    ARRIVED.append(array.nbytes)
    return array.nbytes


@pytest.mark.mpi(min_size=2)
def test_a_sender_that_is_busy_holds_up_nothing(rpc_world) -> None:
    if not cross_memory.CAN:
        assert _get_current_rpc_agent().transport._offers.make(1, b"", [numbers(1 << 20)], 0) is None
        return
    progress, array = _get_current_rpc_agent().progress, numbers(30_000_000)
    ARRIVED.clear()
    rpc_world.barrier()
    if rpc_world.rank == 0:
        fut = rpc.rpc_async(1, arrived, args=(array,))
        with progress.queue.lock:  # this rank neither helps nor calls MPI
            rpc_world.barrier()
        assert fut.wait() == array.nbytes
    else:
        if rpc_world.rank == 1:
            eventually(lambda: ARRIVED)
        rpc_world.barrier()
    rpc_world.barrier()


def init(world) -> None:
    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size)


def round_trips(world, monkeypatch, declining: set[int]) -> None:
    """Arrays go everywhere and back; offers are declined by these ranks and no others."""
    watch = Watch(monkeypatch)
    world.barrier()
    for number in range(3):
        for rank in range(world.world_size):
            array = numbers(2_000_000, number)
            assert np.array_equal(rpc.rpc_sync(rank, far.echo, args=(array,)), array)
    futures = [rpc.rpc_async(world.next_name, far.echo, args=(numbers(1_000_000, n),)) for n in range(20)]
    assert all(np.array_equal(fut.wait(), numbers(1_000_000, n)) for n, fut in enumerate(futures))
    world.barrier()
    watch.nothing_is_left()
    if watch.transport._offers._offering:
        assert watch.transport._offers._declining == declining - {world.rank}
    assert watch.by_mpi or not declining
    world.barrier()


@pytest.mark.mpi(min_size=2)
def test_one_rank_that_does_not_want_it(world, monkeypatch) -> None:
    if world.rank == 1:
        monkeypatch.setenv(slots.VARIABLE, "mpi")
    init(world)
    round_trips(world, monkeypatch, {1})
    rpc.shutdown()


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("change", [{"host": b"0" * 36}, {"token": b"x" * 16}, {"file": 0}], ids=["host", "token", "file"])
def test_one_rank_that_is_a_stranger(world, monkeypatch, change) -> None:
    """Behaves like a rank on another host or in another container: its offers are declined."""
    own = slots.own_slots()
    if world.rank == 1 and own is not None:
        monkeypatch.setattr(own, "packed", slots._IDENTITY.pack(*own.identity._replace(**change)))
    init(world)
    everybody = set(range(world.world_size))
    round_trips(world, monkeypatch, everybody if world.rank == 1 else set())
    rpc.shutdown()


class Wrong:
    """Offers with the wrong address."""

    size, iter_unpack = mpi._ARRAY.size, mpi._ARRAY.iter_unpack

    def pack(self, nth: int, place: int, number: int, address: int) -> bytes:
        return _offers_pack(nth, place, number, 4096)


_offers_pack = mpi._ARRAY.pack


@pytest.mark.mpi(min_size=2)
def test_memory_that_cannot_be_read_comes_by_mpi(rpc_world, watch, monkeypatch) -> None:
    if rpc_world.rank == 0:
        monkeypatch.setattr(mpi, "_ARRAY", Wrong())
    for number in range(5):
        array = numbers(3_000_000, number)
        assert np.array_equal(rpc.rpc_sync(rpc_world.next_name, far.echo, args=(array,)), array)
    rpc_world.barrier()
    watch.nothing_is_left()
    assert watch.by_mpi >= 5 or rpc_world.rank != 0
    declining = {1, rpc_world.world_size - 1} if rpc_world.rank == 0 and cross_memory.CAN else set()
    assert watch.transport._offers._declining == declining
    rpc_world.barrier()


@pytest.mark.mpi(min_size=2)
def test_with_the_transport_that_probes(world, monkeypatch) -> None:
    monkeypatch.setattr(start, "open_transport", mpi_probing.ProbedTransport)
    init(world)
    round_trips(world, monkeypatch, set() if cross_memory.CAN else set(range(world.world_size)))
    rpc.shutdown()


@pytest.mark.mpi(min_size=2)
def test_offers_of_a_rank_that_leaves_do_no_harm(world) -> None:
    """What it offered may still be taken: its memory stays."""
    init(world)
    agent = _get_current_rpc_agent()
    world.barrier()
    if world.rank == 1:
        with agent.progress.queue.lock:  # this rank takes nothing
            world.barrier()
            world.barrier()
        eventually(lambda: not agent.transport._coming)
    else:
        world.barrier()
        if world.rank == 0:
            for number in range(5):
                rpc.rpc_async(1, arrived, args=(numbers(2_000_000, number),), timeout=0)
            rpc.shutdown(graceful=False)
        world.barrier()
    world.barrier()
    if world.rank:
        rpc.shutdown(graceful=False)
    world.barrier()
