"""Kernels on the host: the launches of this folder's tests run what g++ made of the bodies."""

from __future__ import annotations

from typing import Any

import pytest

from mpigrad._kernels import kernel

from .host import HostKernel, build


@pytest.fixture(scope="session")
def host_library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    base = tmp_path_factory.getbasetemp()
    return build(base.parent if base.name.startswith("popen-") else base)  # one for all processes of pytest-xdist


@pytest.fixture
def on_host(host_library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches run on NumPy arrays."""
    made: dict[Any, HostKernel] = {}

    def compiled(wanted: kernel.Kernel, letters: str, xp: Any) -> HostKernel:
        key = wanted.name, letters
        if key not in made:
            made[key] = HostKernel(host_library, wanted, letters)
        return made[key]

    monkeypatch.setattr(kernel, "_compiled", compiled)
