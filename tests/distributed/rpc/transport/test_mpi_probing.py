"""The transport that probes, which MPICH needs between hosts: bursts, large arrays and both directions, on any MPI."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._transport import choose, mpi_probing
from mpigrad.distributed.rpc._world import start
from mpigrad.distributed.rpc.api import _get_current_rpc_agent

BURST = 200  # far more than the ring of the other transport has receives


def echo(value: object) -> object:
    return value


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "open_transport", mpi_probing.ProbedTransport)


@pytest.mark.mpi(min_size=2)
def test_bursts_and_large_arrays(probed: None, rpc_world) -> None:
    transport = _get_current_rpc_agent().transport
    assert type(transport) is mpi_probing.ProbedTransport
    assert transport._ring == []
    futures = [rpc.rpc_async(rpc_world.next_name, echo, args=(i,)) for i in range(BURST)]
    assert [future.wait() for future in futures] == list(range(BURST))
    large = mpigrad.arange(300_000)
    assert np.array_equal(rpc.rpc_sync(rpc_world.next_name, echo, args=(large,)).numpy(), large.numpy())
    rpc_world.barrier()


@pytest.mark.parametrize(
    ("variables", "size", "answer"),
    [
        ({"MPI_LOCALNRANKS": "4"}, 4, False),
        ({"MPI_LOCALNRANKS": "2"}, 4, True),
        ({"SLURM_STEP_NUM_NODES": "1"}, 4, False),
        ({"SLURM_STEP_NUM_NODES": "2"}, 4, True),
        ({"MPI_LOCALNRANKS": "4", "MPIR_CVAR_NOLOCAL": "1"}, 4, True),
        ({"MPI_LOCALNRANKS": "4", "MPIR_CVAR_NOLOCAL": "0"}, 4, False),
        ({}, 4, True),
        ({}, 1, False),
    ],
)
def test_hosts_from_the_launcher(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], size: int, answer: bool
) -> None:
    for name in ("MPI_LOCALNRANKS", "SLURM_STEP_NUM_NODES", *choose.NO_SHARED_MEMORY):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert choose.on_several_hosts(size) is answer
