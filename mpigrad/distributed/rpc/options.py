"""Options of `init_rpc`: timeouts, number of threads, device maps, communicator."""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import device
from mpigrad.distributed._gpu.transfers import checked_way

from . import constants
from ._agent.device_maps import DeviceMap, add_to_map, to_device_list, to_device_map


class RpcBackendOptions:
    """The base class of options: those that every backend has. For MPI, use `MPIRpcBackendOptions`.

    Args:
        rpc_timeout: default timeout of calls in seconds, 0 for none. Negative numbers raise a RuntimeError.
        init_method: accepted for programs written for PyTorch, and ignored.
    """

    def __init__(
        self,
        rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str | None = constants.DEFAULT_INIT_METHOD,
    ) -> None:
        self.rpc_timeout = _checked_timeout(rpc_timeout)
        self.init_method = init_method


class MPIRpcBackendOptions(RpcBackendOptions):
    """Options of RPC over MPI, for the argument `rpc_backend_options` of `init_rpc`.

    Args:
        num_worker_threads: how many functions for other workers may run at the same time; further calls wait in a queue. A
            function that waits for a call of its own does not count. If no function returns for 50 ms while calls are
            queued, one more is started, because the running ones may wait for it; so use a lock, not this number, to keep
            functions apart.
        rpc_timeout: default timeout of calls in seconds, 0 for none.
        init_method: accepted for programs written for PyTorch; MPI needs no address.
        device_maps: `{"worker1": {0: 1}}` sends tensors on GPU 0 of this worker to GPU 1 of `worker1`; answers and
            gradients return the same way. Without a map, sending a tensor on a GPU raises an error.
        devices: the GPUs that this worker uses; by default those that the device maps name.
        device_transfers: how arrays on a GPU travel: "staged" through pinned host memory, which works with every MPI;
            "cuda_aware", by passing device pointers to MPI, which must be built for that; "detect" tests in a separate
            process whether that works (see `mpigrad doctor`). The default is the environment variable
            MPIGRAD_DEVICE_TRANSFERS, and "staged" without it.
        comm: the mpi4py communicator whose ranks form the world; COMM_WORLD if not given. Communicators without a common
            rank give separate worlds.
        init_timeout: how many seconds `init_rpc` waits for the other ranks before it raises a TimeoutError.

    >>> MPIRpcBackendOptions(num_worker_threads=4).rpc_timeout
    60.0
    """

    def __init__(
        self,
        *,
        num_worker_threads: int = constants.DEFAULT_NUM_WORKER_THREADS,
        rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str | None = constants.DEFAULT_INIT_METHOD,
        device_maps: dict[str, dict[Any, Any]] | None = None,
        devices: list[Any] | None = None,
        comm: Any = None,
        init_timeout: float = 300.0,
        device_transfers: str | None = None,
        _transports: list[str] | None = None,  # this and the next: TensorPipe's, ignored
        _channels: list[str] | None = None,
    ) -> None:
        super().__init__(rpc_timeout, init_method)
        if not isinstance(num_worker_threads, int) or num_worker_threads <= 0:
            raise RuntimeError(f"num_worker_threads must be positive, got {num_worker_threads}")
        self.num_worker_threads = num_worker_threads
        self.device_maps: dict[str, DeviceMap] = {to: to_device_map(each) for to, each in (device_maps or {}).items()}
        self.devices: list[device] = to_device_list(devices or ())
        self.device_transfers = checked_way(device_transfers)
        self.comm = comm
        self.init_timeout = init_timeout

    def set_device_map(self, to: str, device_map: dict[Any, Any]) -> None:
        """Add entries to the device map for the worker named `to`.

        Args:
            to: the name of the other worker.
            device_map: {device of this worker: device of the other}; a number means the GPU with this index. ValueError
                if two devices would be mapped to the same one.

        >>> options = MPIRpcBackendOptions()
        >>> options.set_device_map("worker1", {0: 1})
        >>> options.device_maps
        {'worker1': {device(type='cuda', index=0): device(type='cuda', index=1)}}
        """
        add_to_map(self.device_maps, to, device_map)

    def set_devices(self, devices: list[Any]) -> None:
        """Set the GPUs that this worker uses for calls: a list of devices, names or indices. ValueError for a CPU device.

        >>> options = MPIRpcBackendOptions()
        >>> options.set_devices([0]); options.devices
        [device(type='cuda', index=0)]
        """
        self.devices = to_device_list(devices)


TensorPipeRpcBackendOptions = MPIRpcBackendOptions


def _checked_timeout(seconds: Any) -> float:
    if not isinstance(seconds, (int, float)):
        raise TypeError(f"incompatible constructor arguments: rpc_timeout is a number of seconds, not {seconds!r}")
    if seconds < 0:
        raise RuntimeError(f"RPC Timeout must be non-negative, got {seconds!r}")
    return float(seconds)
