"""Tensors as MPI buffers: contiguous memory that MPI may read or fill, and the way back into the tensor.

Tensors of a GPU are staged through host memory; with a CUDA-aware MPI (see `choose`) MPI gets their own memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpigrad._array.device import array_module, current_stream, device_of, guard, move, pointer
from mpigrad._tensor import Tensor, counter

from .. import _mpi
from .._gpu.claims import claim
from .._gpu.copies import to_device, to_host
from .._gpu.detection import cuda_aware_chosen
from .._gpu.transfers import checked_way


class _Mode:
    cuda_aware = False


def choose(way: str | None) -> None:
    """Decide how tensors of GPUs reach MPI, for all groups: as `MPIRpcBackendOptions(device_transfers=way)`."""
    _Mode.cuda_aware = cuda_aware_chosen(checked_way(way))


def outgoing(tensor: Tensor) -> Any:
    """The tensor's elements in contiguous memory that MPI can read: its own where it can be."""
    check_tensor(tensor)
    array = tensor._array
    if type(array) is not np.ndarray and not _Mode.cuda_aware:
        return to_host(array)
    with guard(array):
        return array_module(array).ascontiguousarray(array).reshape(array.shape)


def incoming(tensor: Tensor) -> Any:
    """Contiguous memory for the tensor's elements: its own where it can be. `arrived` brings it into the tensor."""
    check_tensor(tensor)
    array = tensor._array
    usable = array.flags.writeable if type(array) is np.ndarray else _Mode.cuda_aware
    if usable and array.flags.c_contiguous:
        return array
    return space(array.shape, array.dtype, tensor)


def space(shape: tuple[int, ...], kind: Any, like: Tensor | Any) -> Any:
    """New memory that MPI can use for elements that belong to `like`: on its GPU only if MPI is CUDA-aware."""
    array = like._array if isinstance(like, Tensor) else like
    if type(array) is np.ndarray or not _Mode.cuda_aware:
        return np.empty(shape, kind)
    with guard(array):
        return array_module(array).empty(shape, kind)


def arrived(tensor: Tensor, buffer: Any) -> None:
    """Bring what MPI wrote into the tensor, and count the change."""
    array = tensor._array
    if array is not buffer:
        value = buffer.reshape(array.shape)
        if type(array) is not np.ndarray and type(value) is np.ndarray:
            to_device(value.astype(array.dtype, copy=False), array)
        else:
            with guard(array):
                array[...] = move(value, device_of(array))
    counter(tensor)[0] += 1


def as_bytes(array: Any) -> Any:
    """The memory of a contiguous array for messages whose element type MPI need not know."""
    if type(array) is np.ndarray:
        return array.reshape(-1).view(np.uint8)
    MPI = _mpi.mpi()
    return [MPI.memory.fromaddress(pointer(array), array.nbytes), MPI.BYTE]


def typed(array: Any) -> Any:
    """The memory of a contiguous array with its element type, for reductions."""
    if type(array) is np.ndarray:
        return array
    MPI = _mpi.mpi()
    return [MPI.memory.fromaddress(pointer(array), array.nbytes), MPI.Datatype.fromcode(array.dtype.char)]


def joined(arrays: Sequence[Any]) -> Any:
    """The bytes of several contiguous arrays, one after the other."""
    if not arrays:
        return np.empty(0, np.uint8)
    with guard(arrays[0]):
        return array_module(arrays[0]).concatenate([each.reshape(-1).view(np.uint8) for each in arrays])


def stacked(arrays: Sequence[Any]) -> Any:
    """Several arrays of one shape as the rows of one."""
    with guard(arrays[0]):
        return array_module(arrays[0]).stack(arrays)


def settle(buffers: Any) -> None:
    """Let GPUs finish what concerns buffers that MPI is about to see."""
    for each in buffers if isinstance(buffers, tuple) else (buffers,):
        if each is not None and type(each) is not np.ndarray:
            with guard(each):  # the default stream is that of the current device
                current_stream(device_of(each)).synchronize()


def check_tensor(tensor: Any) -> None:
    """A dense tensor, or PyTorch's complaint."""
    if not isinstance(tensor, Tensor):
        raise _mistaken("tensor", "mpigrad.Tensor", tensor)
    if tensor.is_sparse:
        raise ValueError(
            "collectives take dense tensors; convert this sparse one with to_dense(), or send its indices and values"
        )
    if type(tensor._array) is not np.ndarray:
        claim(device_of(tensor._array))


def check_list(tensors: Any, size: int, what: str) -> None:
    """One tensor per rank, all of them tensors."""
    if not isinstance(tensors, list) or not all(isinstance(each, Tensor) for each in tensors):
        raise _mistaken(what, "List[mpigrad.Tensor]", tensors)
    if len(tensors) != size:
        raise RuntimeError(f"{what}: invalid tensor list (expected length {size}, got {len(tensors)})")


def _mistaken(what: str, wanted: str, got: Any) -> TypeError:
    return TypeError(
        f"Invalid function argument. Expected parameter `{what}` of type {wanted}\n"
        f"             but got {type(got)} instead."
    )


def same_type(tensors: Sequence[Tensor], like: Tensor) -> None:
    """Tensors of one element type."""
    for each in (like, *tensors):
        check_tensor(each)
        if each._array.dtype != like._array.dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypes. Found {each.dtype} and {like.dtype}")


def same_shape(tensors: Sequence[Tensor], like: Tensor, what: str) -> None:
    """Tensors of one shape and type."""
    same_type(tensors, like)
    for index, each in enumerate(tensors):
        if each._array.shape != like._array.shape:
            raise RuntimeError(
                f"{what}: invalid tensor size at index {index} (expected {tuple(like.shape)}, got {tuple(each.shape)})"
            )
