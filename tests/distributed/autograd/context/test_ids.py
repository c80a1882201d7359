"""Ids have room for 2^24 workers, and are PyTorch's for small numbers of workers."""

from __future__ import annotations

import struct

import pytest

from mpigrad._core.autograd.contexts import Container, first_id, last_id, maker_of
from mpigrad._core.autograd.passes import Pass
from mpigrad._core.rpc.rref import GloballyUniqueId
from mpigrad.distributed.rpc._protocol.message import MAX_WORKERS

WORKERS = [0, 1, 9, (1 << 14) - 1, 1 << 14, 1 << 16, 1 << 20, MAX_WORKERS - 1]


@pytest.mark.parametrize("worker", WORKERS)
def test_ids_tell_their_worker_and_fit_into_64_bits(worker: int) -> None:
    first, last = first_id(worker), last_id(worker)
    assert maker_of(first) == maker_of(first + 12345) == maker_of(last) == worker
    assert last - first >= 1 << 37
    assert struct.unpack("<qq", struct.pack("<qq", first, last)) == (first, last)
    pass_ = Pass.begin(worker, 77, True, False, True)
    assert Pass(pass_.id).initiator == worker and pass_.keep and pass_.discard and struct.pack("<q", pass_.id)
    rref = GloballyUniqueId(worker, (1 << 38) + 5)
    assert GloballyUniqueId.of(int(rref)) == rref and struct.pack("<q", int(rref))


def test_ids_of_workers_do_not_overlap() -> None:
    ends = sorted((first_id(worker), last_id(worker)) for worker in [*WORKERS, *range(1000), *range(16_000, 17_000)])
    ends = sorted(set(ends))
    assert all(before[1] < after[0] for before, after in zip(ends, ends[1:]))


@pytest.mark.parametrize("worker", [3, 16_383])
def test_ids_of_few_workers_are_those_of_pytorch(worker: int) -> None:
    container = Container(worker)
    assert container.max_id == (worker << 48) | ((1 << 48) - 1)
    assert container.new_message_id() == worker << 48


@pytest.mark.parametrize("worker", [-1, MAX_WORKERS])
def test_no_more_workers(worker: int) -> None:
    with pytest.raises(RuntimeError, match=rf"worker_id needs to be in the range \[0, 16777215\], got {worker}"):
        Container(worker)
