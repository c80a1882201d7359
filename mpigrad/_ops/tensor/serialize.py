"""`save` and `load`: objects with tensors in files. Our own format, so that others can read it:

A file is one record or several, one after the other, each made by one `save`. A record is, little-endian:

    8 bytes   b"MPIGRAD" and the format's number, 2
    u64       length of the skeleton in bytes
    u64       number n of memory blocks
    n x u64   length of each block in bytes
    n x u32   CRC-32 of each block
    u32       CRC-32 of the skeleton
    u32       CRC-32 of all bytes of the record so far
    skeleton  a pickle (protocol 4) with two kinds of persistent ids. A text names something of mpigrad's (`file_names.py`);
              (number of a block, NumPy's name of its element type, shape, whether its order is Fortran's) is an array.
    blocks    the elements, raw; each block begins at a multiple of 64 bytes from the beginning of the record

A tensor in the skeleton is a call of `tensor` with a block and the tensor's place in it, so that tensors that share memory
share it again. `load` calls only the functions of `makers.py`, unless `weights_only=False`.

Every version of mpigrad reads the files of all earlier versions. Format 1 had no CRCs of skeleton and blocks, and named
mpigrad's classes by their modules.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mpigrad._array.device import device, host, resolve
from mpigrad._array.dtype import of_text, text_of
from mpigrad._array.sparse.array import SparseArray
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor

from . import pickling, safetensors
from .file_names import moved, name_of, named
from .makers import KIND, check_place
from .safe_unpickler import SafeUnpickler, damaged

_MAGIC = b"MPIGRAD"
_ZIP_MAGIC = b"PK\x03\x04"  # of files of torch.save
_FORMAT = 2
_ALIGN = 64
MapLocation = Callable[..., Any] | device | str | dict[Any, Any] | None
Place = Callable[[Any, tuple[Any, ...], str], Any]  # the array in a memory block, on the device that `load` chooses


class _Pickler(pickle.Pickler):
    """Stores arrays outside the pickle, each memory block once, and uses stable names for mpigrad's classes."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=4)
        self.blocks: list[Any] = []
        self._ids: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not np.ndarray:
            return name_of(obj)
        # arrays of Python objects have no raw form: pickle stores them itself
        if obj.dtype.hasobject or obj.dtype.names is not None:
            return None
        # the elements are written without gaps
        array = obj if obj.flags.forc else obj.copy()
        nr = self._ids.get(id(obj))
        if nr is None:
            nr = self._ids[id(obj)] = len(self.blocks)
            self.blocks.append((array, obj))  # the object is kept so that its id is not reused
        fortran = not array.flags.c_contiguous
        return nr, text_of(array.dtype), array.shape, fortran


class _TrustingUnpickler(pickle.Unpickler):
    """Python's unpickler, for trusted files."""

    def __init__(self, skeleton: bytes, blocks: _Blocks, place: Place) -> None:
        super().__init__(io.BytesIO(skeleton))
        self._blocks, self._place = blocks, place

    def persistent_load(self, pid: Any) -> Any:
        return self._own(self._blocks.find(pid))

    def find_class(self, module: str, name: str) -> Any:
        return self._own(super().find_class(moved(module), name))

    def _own(self, found: Any) -> Any:
        """The object of a name in the file; a function that creates tensors is replaced by one that places them according to
        `map_location`.
        """
        if found is pickling.rebuild:
            return self._rebuild
        return self._rebuild_sparse if found is pickling.rebuild_sparse else found

    def _rebuild(self, cls: Any, memory: Any, place: Any, where: str, requires_grad: bool, state: Any) -> Any:
        check_place(memory, place)
        return pickling.finish(cls, self._place(memory, place, where), requires_grad, state)

    def _rebuild_sparse(self, cls: Any, parts: Any, requires_grad: bool, state: Any, where: str = "cpu") -> Any:
        array = parts if isinstance(parts, SparseArray) else SparseArray(*parts)
        array = array.moved(lambda each: self._place(each, (0, each.shape, each.strides, text_of(each.dtype)), where))
        return pickling.finish(cls, array, requires_grad, state)


class _Blocks:
    """The blocks of a record as arrays with the types and shapes that the skeleton gives."""

    def __init__(self, blocks: list[Any]) -> None:
        self._blocks = blocks
        self._arrays: dict[int, Any] = {}

    def find(self, pid: Any) -> Any:
        """The object for a persistent id of the skeleton."""
        if type(pid) is str:
            return named(pid)
        nr, kind, shape, fortran = pid
        if nr not in self._arrays:
            self._arrays[nr] = self._array(nr, kind, shape, fortran)
        return self._arrays[nr]

    def _array(self, nr: int, kind: str, shape: tuple[int, ...], fortran: bool) -> Any:
        if type(nr) is not int or not 0 <= nr < len(self._blocks):
            raise damaged(f"there are {len(self._blocks)} blocks, and it names another")
        if type(kind) is not str or not KIND.fullmatch(kind) or not all(type(each) is int for each in shape):
            raise damaged(f"the elements of block {nr} have no known type and shape")
        dtype, block = of_text(kind), self._blocks[nr]
        if min(shape, default=0) < 0 or dtype.itemsize * math.prod(shape) != block.nbytes:
            raise damaged(f"block {nr} of {block.nbytes} bytes cannot hold its shape of elements {kind}")
        return block.view(dtype).reshape(shape, order="F" if fortran else "C")


def _mapped(memory: Any, part: tuple[Any, ...], where: str, map_location: MapLocation) -> Any:
    """The array in `memory`, on the device that `map_location` chooses for a tensor that was saved from the device
    `where`.
    """
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
    """The device `target`, which a file names or a `map_location` function returned; an error if this machine does
    not have it.
    """
    try:
        return resolve(device(target))
    except RuntimeError as error:
        raise RuntimeError(
            f"Attempting to deserialize object on device '{target}', which this machine does not have ({error}). "
            f"If you want its tensors on the CPU, use {function} with map_location=mpigrad.device('cpu')."
        ) from error


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True, *,
    format: str = "mpigrad",
) -> None:  # fmt: skip
    """Write an object (tensors, containers of tensors, state dicts ...) to `f`: a file name, or a file open for
    writing bytes.

    Several calls on one open file put several objects into it; as many `load` calls read them.

    - `format`: "mpigrad" (default), or "torch" for a file that `torch.load` reads (plain data, state dicts, strided
      and COO tensors; one object in a file).
    - `pickle_module` and the two arguments after it are accepted for programs written for PyTorch, and ignored.

    >>> import io, mpigrad
    >>> file = io.BytesIO()
    >>> mpigrad.save({"w": mpigrad.ones(2)}, file)
    >>> position = file.seek(0)
    >>> mpigrad.load(file)
    {'w': tensor([1., 1.])}
    """
    if format not in _FORMATS:
        raise ValueError(f"save() has the formats {list(_FORMATS)}, not {format!r}")
    write = _FORMATS[format]
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            write(obj, file)
    elif hasattr(f, "write"):
        write(obj, f)
    else:
        raise AttributeError(
            f"save() needs the name of a file or an object with a write method, not {type(f).__name__}"
        )


def _write(obj: Any, file: Any) -> None:
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.dump(obj)
    skeleton = stream.getbuffer()
    blocks = [host(array).ravel(order="K").view(np.uint8).data for array, _ in pickler.blocks]
    head = _MAGIC + struct.pack(f"<BQQ{len(blocks)}Q", _FORMAT, len(skeleton), len(blocks), *map(len, blocks))
    head += struct.pack(f"<{len(blocks) + 1}I", *map(zlib.crc32, (*blocks, skeleton)))
    head += struct.pack("<I", zlib.crc32(head))
    file.write(head)
    file.write(skeleton)
    at = len(head) + len(skeleton)
    for block in blocks:
        # aligned, so that a mapped block can be used as an array of any type and by vector instructions
        file.write(bytes(-at % _ALIGN))
        at += -at % _ALIGN + len(block)
        file.write(block)


def _write_for_torch(obj: Any, file: Any) -> None:
    from .torch_write import write  # here: it loads zipfile, which few programs need

    write(obj, file)


_FORMATS = {"mpigrad": _write, "torch": _write_for_torch}


def load(
    f: Any, map_location: MapLocation = None, pickle_module: Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Read an object that `save` or `torch.save` wrote, or a safetensors file. `f`: a file name, or a file open for
    reading bytes.

    - `map_location`: where tensors go: a device for all, a dict from saved to wanted devices, or a function of a
      tensor and its saved device. Default: the device from which they were saved.
    - `weights_only`: True (the default) creates only tensors, plain containers, numbers and classes allowed with
      `mpigrad.serialization.add_safe_globals`, so that untrusted files cannot run code. False allows any pickle.
    - `mmap=True`: the tensors of a named file are read on first use.

    Files of `torch.save` are always read in the safe way; torch need not be installed, and tensors become mpigrad's.
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
    """The object in a file, whose first bytes tell the format; `safe` is `weights_only`, `mapped` the name of a file
    to map.
    """
    place = partial(_mapped, map_location=map_location)
    start = file.tell() if mapped else 0
    magic = file.read(len(_MAGIC) + 1)
    if magic[: len(_ZIP_MAGIC)] == _ZIP_MAGIC:
        from . import torch_read

        return torch_read.TorchUnpickler(torch_read.Archive(_whole(file, magic), mapped), place).load()
    # a safetensors file has no magic number: nine bytes tell whether a length and a JSON object follow
    if magic[:-1] == _MAGIC or not safetensors.is_header(magic := magic + file.read(1)):
        return _read_record(file, magic[: len(_MAGIC) + 1], place, safe, mapped, start)
    return _read_safetensors(file, magic, place, mapped)


def _whole(file: Any, first: bytes) -> Any:
    """The file with its first bytes, which have been read, as one that can seek."""
    if hasattr(file, "seekable") and file.seekable():
        file.seek(-len(first), os.SEEK_CUR)
        return file
    return io.BytesIO(first + file.read())


def _read_safetensors(file: Any, first: bytes, place: Place, mapped: str | None) -> dict[str, Tensor]:
    if mapped:
        content = np.memmap(mapped, np.uint8, "c").view(np.ndarray)
    else:
        content = np.frombuffer(bytearray(first + file.read()), np.uint8)
    try:
        found = dict(safetensors.arrays(content, mapped or "the file"))
    except safetensors.SafetensorError as error:
        raise pickle.UnpicklingError(str(error)) from error
    return {name: wrap(place(each, (0, each.shape, each.strides, text_of(each.dtype)), "cpu")) for name, each in found.items()}


def _read_record(file: Any, magic: bytes, place: Place, safe: bool, mapped: str | None, start: int) -> Any:
    head = _read_head(file, magic)
    skeleton = _exactly(file, head.skeleton)
    at = head.length + head.skeleton
    head.check("skeleton", skeleton, -1)
    arrays = []
    for nr, length in enumerate(head.blocks):
        _exactly(file, -at % _ALIGN)
        at += -at % _ALIGN
        arrays.append(_block(file, length, mapped, start + at))
        # a memory-mapped block is not checked: reading it now would defeat the mapping
        if not mapped:
            head.check(f"block {nr}", arrays[-1].data, nr)
        at += length
    blocks = _Blocks(arrays)
    if not safe:
        return _TrustingUnpickler(skeleton, blocks, place).load()
    return SafeUnpickler(skeleton, blocks.find, place).load()


class _Head(NamedTuple):
    """The head of a record: the lengths of its parts, and the CRCs of the blocks and of the skeleton."""

    length: int
    skeleton: int
    blocks: tuple[int, ...]
    sums: tuple[int, ...]

    def check(self, what: str, content: Any, nr: int) -> None:
        if self.sums and zlib.crc32(content) != self.sums[nr]:
            raise pickle.UnpicklingError(f"the file is damaged: the checksum of its {what} is wrong")


def _read_head(file: Any, magic: bytes) -> _Head:
    if not magic:
        raise EOFError("nothing left to load: the file ends here")
    if magic[:-1] != _MAGIC:
        raise pickle.UnpicklingError(
            f"not a file of mpigrad.save, torch.save or safetensors: it begins with {magic!r}. Files of torch.save before 1.6 "
            "(or with _use_new_zipfile_serialization=False) can be loaded with torch, and saved again."
        )
    if not 1 <= magic[-1] <= _FORMAT:
        raise pickle.UnpicklingError(
            f"the file has format {magic[-1]}, this version of mpigrad reads formats up to {_FORMAT}: was it written by a "
            "later version?"
        )
    fixed = _exactly(file, 16)
    skeleton, count = struct.unpack("<QQ", fixed)
    # format 1 has no checksums of blocks and skeleton
    sums = count + 1 if magic[-1] > 1 else 0
    table = _exactly(file, 8 * count + 4 * sums)
    (crc,) = struct.unpack("<I", _exactly(file, 4))
    if zlib.crc32(magic + fixed + table) != crc:
        raise pickle.UnpicklingError("the file is damaged: the checksum of its beginning is wrong")
    numbers = struct.unpack(f"<{count}Q{sums}I", table)
    return _Head(len(magic) + len(fixed) + len(table) + 4, skeleton, numbers[:count], numbers[count:])


def _exactly(file: Any, count: int) -> bytes:
    """Read `count` bytes in parts, so that a wrong length in a damaged file does not allocate more memory than the file has."""
    parts, left = [], count
    while left:
        part = file.read(min(left, 1 << 24))
        if not part:
            raise EOFError(f"the file ends early: {left} of {count} bytes are missing; was it saved completely?")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _block(file: Any, length: int, mapped: str | None, at: int) -> Any:
    """The bytes of one block of this length: read from the file, or memory-mapped from the file named `mapped` at
    position `at`.
    """
    known = _check_length(file, length)
    if mapped and length:
        file.seek(length, os.SEEK_CUR)
        return np.memmap(mapped, np.uint8, "c", at, (length,)).view(np.ndarray)
    # the length cannot be trusted where the file's own is unknown: read in parts
    if not known or not hasattr(file, "readinto"):
        return np.frombuffer(bytearray(_exactly(file, length)), np.uint8)
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


def _check_length(file: Any, length: int) -> bool:
    """Whether the file's length is known; raises an error if it is known and the file is too short for a block of
    `length` bytes.
    """
    if not hasattr(file, "seekable") or not file.seekable():
        return False
    here = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(here)
    if length > end - here:
        raise EOFError(
            f"the file ends early: a block of {length} bytes, {end - here} bytes left; was it saved completely?"
        )
    return True


__all__ = ["load", "save"]
