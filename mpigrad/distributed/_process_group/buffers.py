"""Tensors as MPI buffers: contiguous memory that MPI may read or write, and the copy back into the tensor.

Tensors on a GPU are staged through host memory; a CUDA-aware MPI (see `choose`) gets the device memory itself.
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
    """How tensors on GPUs are passed to MPI, in the whole process; see `choose`."""

    cuda_aware = False


def choose(way: str | None) -> None:
    """Set how tensors on GPUs are passed to MPI, for all groups. `way` is "staged", "cuda_aware", "detect" or None (default)."""
    _Mode.cuda_aware = cuda_aware_chosen(checked_way(way))


def outgoing(tensor: Tensor) -> Any:
    """Return the tensor's elements in contiguous memory that MPI can read: the tensor's own memory if possible."""
    check_tensor(tensor)
    array = tensor._array
    if type(array) is np.ndarray and array.flags.c_contiguous:
        return array
    if type(array) is not np.ndarray and not _Mode.cuda_aware:
        return to_host(array)
    with guard(array):
        return array_module(array).ascontiguousarray(array).reshape(array.shape)


def incoming(tensor: Tensor) -> Any:
    """Return contiguous memory that MPI can write: the tensor's own if possible; otherwise `arrived` copies it to the tensor."""
    check_tensor(tensor)
    array = tensor._array
    usable = array.flags.writeable if type(array) is np.ndarray else _Mode.cuda_aware
    if usable and array.flags.c_contiguous:
        return array
    return space(array.shape, array.dtype, tensor)


def space(shape: tuple[int, ...], kind: Any, like: Tensor | Any) -> Any:
    """Return new memory that MPI can write.

    On the device of `like` if that is the host or MPI is CUDA-aware; otherwise on the host.
    """
    array = like._array if isinstance(like, Tensor) else like
    if type(array) is np.ndarray or not _Mode.cuda_aware:
        return np.empty(shape, kind)
    with guard(array):
        return array_module(array).empty(shape, kind)


def arrived(tensor: Tensor, buffer: Any) -> None:
    """Copy a received buffer into its tensor, unless it is the tensor's own memory; increases the tensor's version."""
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
    """Describe the memory of a contiguous array to MPI, as bytes: for messages whose elements MPI need not interpret."""
    MPI = _mpi.mpi()
    if type(array) is np.ndarray:
        return [array if array.dtype.char in _PLAIN else array.reshape(-1).view(np.uint8), MPI.BYTE]
    return [MPI.memory.fromaddress(pointer(array), array.nbytes), MPI.BYTE]


_PLAIN = "fdFDbBhHiIlLqQ?"  # types of Python's buffers; NumPy refuses to show others (bfloat16) as one


def in_pieces(array: Any, counts: list[int]) -> list[Any]:
    """Describe the memory of a contiguous array to MPI, as a piece for each rank; `counts` are their lengths in bytes."""
    memory, kind = as_bytes(array)
    return [memory, counts, kind]


def typed(array: Any) -> Any:
    """Describe the memory of a contiguous array to MPI with its element type, for reductions."""
    if type(array) is np.ndarray:
        return array
    MPI = _mpi.mpi()
    return [MPI.memory.fromaddress(pointer(array), array.nbytes), MPI.Datatype.fromcode(array.dtype.char)]


def may_share(one: Any, other: Any) -> bool:
    """Return whether two arrays may have memory in common; True for any two on GPUs."""
    if type(one) is np.ndarray and type(other) is np.ndarray:
        return np.may_share_memory(one, other)
    return type(one) is type(other)  # both on a GPU: not examined, so assumed


def joined(arrays: Sequence[Any]) -> Any:
    """Return the bytes of several contiguous arrays, one after the other, as one array."""
    if not arrays:
        return np.empty(0, np.uint8)
    with guard(arrays[0]):
        return array_module(arrays[0]).concatenate([each.reshape(-1).view(np.uint8) for each in arrays])


def stacked(arrays: Sequence[Any]) -> Any:
    """Return an array whose rows are these arrays, which have one shape."""
    with guard(arrays[0]):
        return array_module(arrays[0]).stack(arrays)


def settle(buffers: Any) -> None:
    """Wait until GPUs have finished their work on buffers that MPI will access: MPI does not know CUDA streams.

    `buffers` is an array, a tuple of arrays, or None; arrays on the host are skipped.
    """
    for each in buffers if isinstance(buffers, tuple) else (buffers,):
        if each is not None and type(each) is not np.ndarray:
            with guard(each):  # the default stream belongs to the current device
                current_stream(device_of(each)).synchronize()


def check_tensor(tensor: Any) -> None:
    """Raise PyTorch's TypeError or ValueError if `tensor` is not a dense tensor."""
    if not isinstance(tensor, Tensor):
        raise _mistaken("tensor", "mpigrad.Tensor", tensor)
    if tensor.is_sparse:
        raise ValueError(
            "collectives take dense tensors; convert this sparse one with to_dense(), or send its indices and values"
        )
    if type(tensor._array) is not np.ndarray:
        claim(device_of(tensor._array))  # warns if another process uses the same GPU


def check_list(tensors: Any, size: int, what: str) -> None:
    """Raise PyTorch's error unless `tensors` is a list with one tensor per rank; `what` is the argument's name."""
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
    """Raise a ValueError unless all tensors have the dtype of `like`."""
    for each in (like, *tensors):
        check_tensor(each)
        if each._array.dtype != like._array.dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypes. Found {each.dtype} and {like.dtype}")


def same_shape(tensors: Sequence[Tensor], like: Tensor, what: str) -> None:
    """Raise a ValueError or RuntimeError unless all tensors have the dtype and shape of `like`; `what` is the operation."""
    same_type(tensors, like)
    for index, each in enumerate(tensors):
        if each._array.shape != like._array.shape:
            raise RuntimeError(
                f"{what}: invalid tensor size at index {index} (expected {tuple(like.shape)}, got {tuple(each.shape)})"
            )
