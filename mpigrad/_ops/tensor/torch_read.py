"""Files of `torch.save`, read without torch: a zip archive with a pickle (`data.pkl`) and the memory of each storage (`data/0`).

The pickle calls functions of torch by name. The closed list below makes mpigrad's tensors instead; everything else is as in
mpigrad's own files (`safe_unpickler.py`), and as safe: no file runs code, and memory is proportional to the size of the file.
"""

from __future__ import annotations

import pickle
import struct
import sys
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from mpigrad._array import dtype as dtypes
from mpigrad._array import layout as layouts
from mpigrad._array.device import device, host, move
from mpigrad._array.dtype import dtype, text_of
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Size, Tensor

from . import makers
from .file_names import named
from .makers import check_names, check_place
from .pickling import array_in
from .safe_unpickler import SafeUnpickler, Step, damaged

STORAGES = {
    "DoubleStorage": dtypes.float64, "FloatStorage": dtypes.float32, "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16, "LongStorage": dtypes.int64, "IntStorage": dtypes.int32, "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128,
}  # fmt: skip
_DTYPES = {each.name: each for each in (*dtypes.ALL, dtypes.bfloat16)}
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, LookupError, OverflowError, OSError, EOFError,
    struct.error,
)  # fmt: skip
_STORED = "files of torch.save are stored without compression and encryption"


# -- the archive --------------------------------------------------------------------------------------------------------
class Archive:
    """The members of a zip file; memory-mapped if `path` is given."""

    def __init__(self, file: Any, path: str | None = None) -> None:
        self._file, self._path = file, path
        with _checked():
            self._zip = zipfile.ZipFile(file)
            self._left = file.seek(0, 2)
        names = self._zip.namelist()
        pickles = [name for name in names if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise damaged("a zip archive without data.pkl. mpigrad.jit.load reads files of mpigrad.jit.save")
        self._folder = pickles[0].removesuffix("data.pkl")
        if self._folder + "constants.pkl" in names:
            raise pickle.UnpicklingError(
                "the file holds a program of torch.jit.save, which mpigrad cannot run: save the state_dict() of the module"
            )
        if self._folder + "byteorder" in names and (order := self.read("byteorder")) != sys.byteorder.encode():
            raise pickle.UnpicklingError(f"the file was written on a machine with byte order {order!r}; load it with torch there")

    def read(self, name: str) -> bytes:
        """The content of a member; its checksum is verified."""
        with _checked():
            info = self._info(name)
            return self._zip.read(info)

    def block(self, name: str) -> np.ndarray:
        """The bytes of a storage, a memory block in the file."""
        with _checked():
            info = self._info(name)
            if self._path is not None and info.file_size:
                return np.memmap(self._path, np.uint8, "c", self._start(info), (info.file_size,)).view(np.ndarray)
            memory, at = np.empty(info.file_size, np.uint8), 0
            with self._zip.open(info) as member:
                while part := member.read(1 << 24):
                    memory[at : at + len(part)] = np.frombuffer(part, np.uint8)
                    at += len(part)
            if at != len(memory):
                raise ValueError(f"{name} has {at} of {len(memory)} bytes")
            return memory

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = self._zip.getinfo(self._folder + name)
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.compress_size != info.file_size:
            raise ValueError(_STORED)
        self._left -= info.file_size
        if self._left < 0:
            raise ValueError("its members are larger than the file")
        return info

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Where the content of a member begins: after its local header, which has a name and extra bytes."""
        self._file.seek(info.header_offset + 26)
        return int(info.header_offset + 30 + sum(struct.unpack("<HH", self._file.read(4))))


@contextmanager
def _checked() -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise damaged(f"{type(error).__name__}: {error}") from error


# -- the pickle ---------------------------------------------------------------------------------------------------------
class _Storage(NamedTuple):
    """A storage: its bytes, their type (None: the tensor says it), and the device that they were saved from."""

    memory: np.ndarray
    kind: dtype | None
    where: str


class _Function:
    """A function of torch that files name, and what makes the same for mpigrad."""

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name, self.make = name, make


class _StorageType:
    """`torch.FloatStorage` and the others, which files name."""

    __slots__ = ("kind",)

    def __init__(self, kind: dtype | None) -> None:
        self.kind = kind


class TorchUnpickler(SafeUnpickler):
    """Reads the pickle of an archive."""

    def __init__(self, archive: Archive, place: Callable[..., Any]) -> None:
        super().__init__(archive.read("data.pkl"), self._stored, place)
        self._archive = archive
        self._storages: dict[str, _Storage] = {}

    def find(self, module: str, name: str) -> Any:
        module = "builtins" if module == "__builtin__" else module  # Python 2's name, in protocols before 3
        full = f"{module}.{name}"
        if full in _FUNCTIONS:
            return _FUNCTIONS[full]
        if full in _CLASSES:
            return named(_CLASSES[full])
        if module in ("torch", "torch.storage") and name.endswith("Storage"):
            return _storage_type(name)
        if module == "torch" and name in _DTYPES:
            return _DTYPES[name]
        if module.partition(".")[0] == "torch":
            raise pickle.UnpicklingError(
                f"the file names {full}. mpigrad.load reads only tensors and plain data from files of torch.save, also with "
                "weights_only=False: save the state_dict() of a module, or load the file with torch"
            )
        return super().find(module, name)

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        if type(function) is _Function:
            return function.make(self, *args)
        return super().call(function, args)

    def _stored(self, pid: Any) -> _Storage:
        """The storage for a persistent id of the pickle."""
        word, kind, key, where, count = pid
        if word != "storage" or type(kind) is not _StorageType or type(key) is not str or type(where) is not str:
            raise damaged("a persistent id does not name a storage")
        if key not in self._storages:
            self._storages[key] = _Storage(self._archive.block(f"data/{key}"), kind.kind, where)
        found = self._storages[key]
        if found.kind is not kind.kind or type(count) is not int:
            raise damaged(f"storage {key} has two types")
        if count * (kind.kind.itemsize if kind.kind is not None else 1) != found.memory.nbytes:
            raise damaged(f"storage {key} of {found.memory.nbytes} bytes cannot hold {count} elements")
        return found

    def _named(self) -> None:
        end = self._data.index(b"\n", self._data.index(b"\n", self._at) + 1)
        module, name = self._take(end + 1 - self._at)[:-1].decode().split("\n")
        self._stack.append(self.find(module, name))


_U1, _U4 = struct.Struct("<B"), struct.Struct("<I")


def _put(number: struct.Struct) -> Step:
    def step(self: TorchUnpickler) -> None:
        self._memo[self._number(number)] = self._stack[-1]

    return step


TorchUnpickler.steps = SafeUnpickler.steps | {
    pickle.GLOBAL[0]: TorchUnpickler._named,
    pickle.BINPUT[0]: _put(_U1),
    pickle.LONG_BINPUT[0]: _put(_U4),
}


# -- what files may call ------------------------------------------------------------------------------------------------
def _storage_type(name: str) -> _StorageType:
    if name == "UntypedStorage":
        return _StorageType(None)
    if name not in STORAGES:
        raise pickle.UnpicklingError(f"the file has a torch.{name}, and mpigrad has no tensors of that type")
    return _StorageType(STORAGES[name])


def _tensor(
    machine: TorchUnpickler, storage: _Storage, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any,
    metadata: Any = None, kind: dtype | None = None,
) -> Tensor:  # fmt: skip
    if type(storage) is not _Storage or type(size) not in (tuple, Size) or (kind or storage.kind) is None:
        raise TypeError("a tensor has no storage, shape and type")
    if metadata:
        raise pickle.UnpicklingError(
            f"a tensor in the file is a view with the mark {list(metadata)}: call resolve_conj().resolve_neg() before torch.save"
        )
    _no_hooks(hooks)
    element = (kind or storage.kind).numpy  # type: ignore[union-attr]
    makers._all_of(int, (offset, *stride))
    steps = tuple(each * element.itemsize for each in stride)
    place = (offset * element.itemsize, tuple(size), steps, text_of(element))
    check_place(storage.memory, place)
    array_in(storage.memory, *place)  # NumPy's errors are errors of the file
    return makers._finish(Tensor, machine.placed(storage.memory, place, storage.where), requires_grad, {})


def _tensor_of_type(
    machine: TorchUnpickler, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, kind: dtype,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    makers._all_of((dtype, type(dtypes.bfloat16)), [kind])
    return _tensor(machine, storage, offset, size, stride, requires_grad, hooks, metadata, kind)


def _no_hooks(hooks: Any) -> None:
    if hooks is not None and (type(hooks) is not OrderedDict or hooks):
        raise TypeError("a tensor has hooks")


def _parameter(machine: TorchUnpickler, data: Tensor, requires_grad: bool, hooks: Any, state: Any = None) -> Tensor:
    _no_hooks(hooks)
    return makers._parameter(machine, named("mpigrad.nn.Parameter"), data, requires_grad, _attributes(state))


def _attributes(state: Any) -> dict[str, Any]:
    if type(state) is tuple and len(state) == 2 and not state[1]:  # attributes and slots
        state = state[0]
    return {} if state is None else state


def _with_attributes(machine: TorchUnpickler, function: Any, cls: Any, args: tuple[Any, ...], state: Any) -> Tensor:
    """The result of `function(*args)` for a tensor to which the user gave the attributes `state`, or for a buffer."""
    state = dict(_attributes(state))
    machine.charge(len(state))
    if type(function) is not _Function or cls not in (Tensor, named("mpigrad.nn.Parameter")):
        raise pickle.UnpicklingError("the file has tensors of a class that mpigrad does not have: load it with torch")
    made = function.make(machine, *args)
    makers._all_of((Tensor, named("mpigrad.nn.Parameter")), [made])
    if state.pop("_is_buffer", False) is True:
        made = makers._buffer(machine, made, state.pop("persistent", True))
    check_names(state, Tensor)
    made.__dict__.update(state)
    return made


def _sparse(machine: TorchUnpickler, layout: Any, parts: tuple[Any, ...]) -> Tensor:
    if layout is not layouts.sparse_coo:
        raise pickle.UnpicklingError("the file has a sparse tensor in another layout than COO, which mpigrad does not have")
    indices, values, size, *coalesced = parts
    makers._all_of(Tensor, (indices, values))
    makers._all_of(Size, [size])
    known = bool(coalesced and makers._all_of((bool, type(None)), coalesced)[0])
    array = makers._sparse_array(machine, host(indices._array), host(values._array), tuple(size), known)
    return wrap(array.moved(lambda each: move(each, values.device)))


def _layout(machine: TorchUnpickler, name: str) -> Any:
    known = {"torch.strided": layouts.strided, "torch.sparse_coo": layouts.sparse_coo}
    return known.get(name, name)


def _device(machine: TorchUnpickler, kind: str, index: int | None = None) -> device:
    return makers._device(machine, kind, index)


def _encoded(machine: TorchUnpickler, text: str, encoding: str) -> bytes:
    """A bytes object, from the text by which pickle protocol 2 represents it."""
    makers._all_of(str, (text, encoding))
    machine.charge(len(text))
    if encoding != "latin1":
        raise ValueError("bytes in an unknown encoding")
    return text.encode("latin1")


def _group(cls: type) -> Callable[..., Any]:
    def make(machine: TorchUnpickler, items: list[Any]) -> Any:
        makers._all_of(list, [items])
        machine.charge(len(items))
        return cls([machine.key(each) for each in items])

    return make


_MAKERS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_of_type,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._tensor._rebuild_from_type_v2": _with_attributes,
    "torch.serialization._get_layout": _layout,
    "torch.device": _device,
    "_codecs.encode": _encoded,
    "builtins.set": _group(set),
    "builtins.frozenset": _group(frozenset),
}
_FUNCTIONS = {name: _Function(name, make) for name, make in _MAKERS.items()}
_CLASSES = {
    "torch.Size": "mpigrad.Size",
    "torch.Tensor": "mpigrad.Tensor",
    "torch.nn.parameter.Parameter": "mpigrad.nn.Parameter",
    "torch.nn.parameter.Buffer": "mpigrad.nn.Buffer",
}

__all__: list[str] = []
