"""`save` and `load`: objects with tensors in files. The format, so that others can read it:

A file is one record or several, one after the other, each made by one `save`. A record is, little-endian:

    8 bytes   b"MPIGRAD" and the format's number, 1
    u64       length of the skeleton in bytes
    u64       number n of memory blocks
    n x u64   length of each block in bytes
    u32       CRC-32 of all bytes of the record so far
    skeleton  a pickle (protocol 4), in which each block appears as a persistent id:
              (number of the block, NumPy's name of its element type, shape, whether its order is Fortran's)
    blocks    the elements, raw; each block begins at a multiple of 64 bytes from the beginning of the record

A tensor in the skeleton is a call of `mpigrad._ops.tensor.pickling.rebuild` with a block and the tensor's place in it, so that
tensors that share memory share it again. `load` does not call anything else unless it is told to trust the file.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._array.device import device, host, resolve
from mpigrad._array.sparse.array import SparseArray
from mpigrad._core.wrapping import wrap
from mpigrad._tensor import Tensor

from . import pickling
from .safe_globals import find_safe, moved

_MAGIC = b"MPIGRAD\x01"
_ALIGN = 64
MapLocation = Callable[..., Any] | device | str | dict[Any, Any] | None


class _Pickler(pickle.Pickler):
    """Takes arrays out of the pickle: each memory once."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=4)
        self.blocks: list[Any] = []
        self._ids: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not np.ndarray or obj.dtype.hasobject:
            return None
        array = obj if obj.flags.forc else obj.copy()
        nr = self._ids.get(id(obj))
        if nr is None:
            nr = self._ids[id(obj)] = len(self.blocks)
            self.blocks.append((array, obj))  # the second keeps its id from being used again
        fortran = not array.flags.c_contiguous
        return nr, array.dtype.str, array.shape, fortran


class _Unpickler(pickle.Unpickler):
    """Puts arrays back, tensors on the devices that the user wants, and refuses what is not known to be harmless."""

    def __init__(self, skeleton: bytes, blocks: list[Any], map_location: MapLocation, safe: bool) -> None:
        super().__init__(io.BytesIO(skeleton))
        self._blocks, self._map, self._safe = blocks, map_location, safe
        self._arrays: dict[int, Any] = {}

    def persistent_load(self, pid: Any) -> Any:
        nr, kind, shape, fortran = pid
        if nr not in self._arrays:
            dtype, block = np.dtype(kind), self._blocks[nr]
            if dtype.hasobject or dtype.itemsize * int(np.prod(shape, dtype=object)) != block.nbytes:
                raise pickle.UnpicklingError(
                    f"block {nr} of {block.nbytes} bytes cannot hold {shape} elements of {kind}"
                )
            self._arrays[nr] = block.view(dtype).reshape(shape, order="F" if fortran else "C")
        return self._arrays[nr]

    def find_class(self, module: str, name: str) -> Any:
        module = moved(module)
        if module == pickling.rebuild.__module__ and name in ("rebuild", "rebuild_sparse"):
            return self._rebuild if name == "rebuild" else self._rebuild_sparse
        return find_safe(module, name) if self._safe else super().find_class(module, name)

    def _rebuild(
        self, cls: Any, memory: Any, place: Any, where: str, requires_grad: bool, state: dict[str, Any]
    ) -> Tensor:
        _check_class(cls)
        _check_place(memory, place)
        array = _mapped(memory, place, where, self._map)
        return pickling.finish(cls, array, requires_grad, state)

    def _rebuild_sparse(
        self, cls: Any, parts: Any, requires_grad: bool, state: dict[str, Any], where: str = "cpu"
    ) -> Tensor:
        _check_class(cls)
        array = parts if isinstance(parts, SparseArray) else SparseArray(*parts)
        array = array.moved(lambda each: _mapped(each, (0, each.shape, each.strides, each.dtype.str), where, self._map))
        return pickling.finish(cls, array, requires_grad, state)


def _check_class(cls: Any) -> None:
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise pickle.UnpicklingError(f"a tensor's class must be Tensor or derived from it, not {cls!r}")


def _check_place(memory: Any, place: tuple[Any, ...]) -> None:
    """Never make an array that reaches out of its memory, whatever a file says."""
    offset, shape, strides, kind = place
    low = high = offset
    for length, stride in zip(shape, strides):
        reach = (length - 1) * stride
        low, high = min(low, low + reach), max(high, high + reach)
    end = high + np.dtype(kind).itemsize
    if 0 not in shape and (low < 0 or end > memory.nbytes) or np.dtype(kind).hasobject:
        raise pickle.UnpicklingError(f"a tensor reaches from byte {low} to {end} of a block of {memory.nbytes} bytes")


def _mapped(memory: Any, part: tuple[Any, ...], where: str, map_location: MapLocation) -> Any:
    """The array in `memory` on the device that `map_location` chooses for what was saved from `where`."""
    target: Any = where
    if callable(map_location):
        chosen = map_location(wrap(pickling.array_in(memory, *part)), where)
        if chosen is not None:
            return chosen._array
    elif isinstance(map_location, dict):
        target = map_location.get(where, where)
    elif map_location is not None:
        target = map_location
    return pickling.array_in(pickling.on_place(memory, saved_place(target, "mpigrad.load")), *part)


def saved_place(target: Any, function: str) -> device:
    """The device that a file or the caller of `function` names."""
    try:
        return resolve(device(target))
    except RuntimeError as error:
        raise RuntimeError(
            f"Attempting to deserialize object on device '{target}', which this machine does not have ({error}). "
            f"If you want its tensors on the CPU, use {function} with map_location=mpigrad.device('cpu')."
        ) from error


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True
) -> None:
    """Write an object (tensors, containers of tensors, state dicts ...) to a file, given by name or open for writing.

    Several calls on one open file put several objects into it; as many `load` calls read them. The last three arguments
    are accepted for programs written for PyTorch; the format is always mpigrad's own.

    >>> import io, mpigrad
    >>> file = io.BytesIO()
    >>> mpigrad.save({"w": mpigrad.ones(2)}, file)
    >>> position = file.seek(0)
    >>> mpigrad.load(file)
    {'w': tensor([1., 1.])}
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            _write(obj, file)
    elif hasattr(f, "write"):
        _write(obj, f)
    else:
        raise AttributeError(
            f"save() needs the name of a file or an object with a write method, not {type(f).__name__}"
        )


def _write(obj: Any, file: Any) -> None:
    skeleton = io.BytesIO()
    pickler = _Pickler(skeleton)
    pickler.dump(obj)
    arrays = [host(array) for array, _ in pickler.blocks]
    head = _MAGIC + struct.pack(f"<QQ{len(arrays)}Q", skeleton.tell(), len(arrays), *(each.nbytes for each in arrays))
    head += struct.pack("<I", zlib.crc32(head))
    file.write(head)
    file.write(skeleton.getbuffer())
    at = len(head) + skeleton.tell()
    for array in arrays:
        file.write(bytes(-at % _ALIGN))
        at += -at % _ALIGN + array.nbytes
        file.write(array.ravel(order="K").view(np.uint8).data)


def load(
    f: Any, map_location: MapLocation = None, pickle_module: Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Read what `save` wrote.

    `map_location` says where tensors go: a device for all, a dict from saved to wanted devices, or a function of a
    tensor and its saved device. Unless `weights_only=False`, only tensors, plain containers, numbers and classes that
    were allowed with `mpigrad.serialization.add_safe_globals` are made, so that files from others cannot run code. With
    `mmap=True` the tensors of a named file are read when they are used.
    """
    safe = weights_only is not False
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, map_location, safe, os.fspath(f) if mmap else None)
    if mmap:
        raise RuntimeError("mmap can only be used with files loaded with `load(f)` where f is the name of a file")
    if not hasattr(f, "read"):
        raise AttributeError(f"load() needs the name of a file or an object with a read method, not {type(f).__name__}")
    return _read(f, map_location, safe, None)


def _read(file: Any, map_location: MapLocation, safe: bool, mapped: str | None) -> Any:
    start = file.tell() if mapped else 0
    skeleton_length, lengths, at = _read_head(file)
    skeleton = _exactly(file, skeleton_length)
    at += skeleton_length
    blocks = []
    for length in lengths:
        _exactly(file, -at % _ALIGN)
        at += -at % _ALIGN
        blocks.append(_block(file, length, mapped, start + at))
        at += length
    return _Unpickler(skeleton, blocks, map_location, safe).load()


def _read_head(file: Any) -> tuple[int, tuple[int, ...], int]:
    magic = file.read(len(_MAGIC))
    if not magic:
        raise EOFError("nothing left to load: the file ends here")
    if magic != _MAGIC:
        raise pickle.UnpicklingError(
            f"not a file of mpigrad.save: it begins with {magic!r} instead of {_MAGIC!r}. Files of torch.save "
            "can be read by "
            "torch.load, whose tensors' numpy() mpigrad.from_numpy takes."
        )
    fixed = _exactly(file, 16)
    skeleton, count = struct.unpack("<QQ", fixed)
    table = _exactly(file, 8 * count)
    (crc,) = struct.unpack("<I", _exactly(file, 4))
    if zlib.crc32(magic + fixed + table) != crc:
        raise pickle.UnpicklingError("the file is damaged: the checksum of its beginning is wrong")
    return skeleton, struct.unpack(f"<{count}Q", table), len(magic) + 20 + 8 * count


def _exactly(file: Any, count: int) -> bytes:
    """So many bytes, read in parts, so that a wrong length in a damaged file asks for no more memory than there is
    file."""
    parts, left = [], count
    while left:
        part = file.read(min(left, 1 << 24))
        if not part:
            raise EOFError(f"the file ends early: {left} of {count} bytes are missing; was it saved completely?")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _block(file: Any, length: int, mapped: str | None, at: int) -> Any:
    """The bytes of one block in memory of their own, or mapped from the file."""
    if mapped and length:
        file.seek(length, os.SEEK_CUR)
        return np.memmap(mapped, np.uint8, "c", at, (length,)).view(np.ndarray)
    if not hasattr(file, "readinto"):
        return np.frombuffer(bytearray(_exactly(file, length)), np.uint8)
    _check_length(file, length)
    block = np.empty(length, np.uint8)
    view, done = block.data, 0
    while done < length:
        count = file.readinto(view[done:])
        if not count:
            raise EOFError(
                f"the file ends early: {length - done} of {length} bytes are missing; was it saved completely?"
            )
        done += count
    return block


def _check_length(file: Any, length: int) -> None:
    if not hasattr(file, "seekable") or not file.seekable():
        return
    here = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(here)
    if length > end - here:
        raise EOFError(
            f"the file ends early: a block of {length} bytes, {end - here} bytes left; was it saved completely?"
        )


__all__ = ["load", "save"]
