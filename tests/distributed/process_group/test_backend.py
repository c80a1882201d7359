"""Names of backends."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.distributed as dist


def test_names() -> None:
    assert dist.Backend("NCCL") == dist.Backend.NCCL == "nccl"
    assert [dist.is_backend_available(name) for name in ("mpi", "MPI", "gloo", "nccl")] == [True, True, False, False]
    assert not any((dist.is_gloo_available(), dist.is_nccl_available(), dist.is_ucc_available(), dist.is_xccl_available()))
    assert [dist.get_default_backend_for_device(each) for each in ("cpu", "cuda:1", mpigrad.device("cpu"))] == ["mpi"] * 3
    with pytest.raises(ValueError, match="must be string-ish"):
        dist.Backend(3)  # type: ignore[arg-type]


def test_elastic_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert not dist.is_torchelastic_launched()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    assert dist.is_torchelastic_launched()
