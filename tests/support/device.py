"""Running the tests on a GPU: `--device cuda` makes it the default device, for every thread of the process."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from mpigrad.testing import World

NOTHING: Mapping[str, Any] = MappingProxyType({})


def add_option(parser: pytest.Parser) -> None:
    """`--device`, for conftest.py."""
    parser.addoption("--device", default="cpu", help="the default device of the tests: cpu, cuda, cuda:1, ...")


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On another device, leave out the tests that are about NumPy arrays or the CPU."""
    if config.getoption("--device") != "cpu":
        left = [item for item in items if item.get_closest_marker("host")]
        items[:] = [item for item in items if not item.get_closest_marker("host")]
        config.hook.pytest_deselected(items=left)


def patience(name: str) -> float:
    """Return by how much a test may take longer on a device, where kernels are compiled on first use."""
    return 1 if name == "cpu" else 8


def use(name: str) -> None:
    """Make `name` the default device of tensors, and let NumPy read tensors there as it does those on the CPU."""
    if name == "cpu":
        return
    import mpigrad
    from mpigrad._array import device

    device._Default.place = mpigrad.device(name)  # of all threads: set_default_device is for one
    mpigrad.zeros(1)  # fails here if there is no such device
    plain, array = mpigrad.Tensor.numpy, mpigrad.Tensor.__array__

    @functools.wraps(plain)
    def numpy(self: Any, *, force: bool = False) -> np.ndarray:
        return plain(self if self.is_sparse else self.cpu(), force=force)

    @functools.wraps(array)
    def as_array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return array(self if self.is_sparse else self.cpu(), dtype, copy)

    mpigrad.Tensor.numpy, mpigrad.Tensor.__array__ = numpy, as_array  # type: ignore[method-assign]


def rpc_arguments(world: World, given: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    """Return further arguments for `init_rpc`: the given options, with device maps."""
    import mpigrad.distributed.rpc as rpc

    if not given and _device_of_tests() == "cpu":
        return {}
    return {"rpc_backend_options": with_maps(rpc.TensorPipeRpcBackendOptions(**given), world)}


def with_maps(options: Any, world: World) -> Any:
    """Return options of RPC in which, on a GPU, every tensor arrives on the device with the same index."""
    pairs = same_device()
    if pairs:
        for rank in range(world.world_size):
            options.set_device_map(world.worker(rank), pairs)
    return options


def same_device() -> dict[int, int]:
    """Return a device map from every GPU to the one with the same index; empty when the tests run on the CPU."""
    import mpigrad

    return {} if _device_of_tests() == "cpu" else {index: index for index in range(mpigrad.cuda.device_count())}


def _device_of_tests() -> str:
    from mpigrad._array import device

    return device._Default.place.type
