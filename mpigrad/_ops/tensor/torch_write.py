"""Files that `torch.load(weights_only=True)` reads, written without torch; `torch_read.py` describes the format."""

from __future__ import annotations

import codecs
import io
import pickle
import sys
import zipfile
from collections import Counter, OrderedDict
from typing import Any

import numpy as np

from mpigrad._array.device import device, device_of, guard, host, pointer
from mpigrad._array.dtype import dtype, from_numpy_dtype
from mpigrad._array.layout import layout, sparse_coo, strided
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Size, Tensor

from .file_names import named
from .pickling import memory_of
from .torch_read import STORAGES

_ALIGN = 64
_FOLDER = "archive/"
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, OrderedDict, Counter)
_STORAGE_OF = {kind: name for name, kind in STORAGES.items()}


class _Global:
    """Something of torch, by name: pickle must not import it."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        """Never called; it exists because pickle requires a callable object here."""


class _Storage:
    """The memory block of tensors, which the pickle refers to by a persistent id."""

    def __init__(self, key: str, memory: Any, kind: dtype) -> None:
        self.memory, self.kind = memory, kind
        typed = kind in _STORAGE_OF
        name, count = (_STORAGE_OF[kind], memory.nbytes // kind.itemsize) if typed else ("storage.UntypedStorage", memory.nbytes)
        self.pid = ("storage", _torch(name), key, str(device_of(memory)), count)


def _torch(path: str) -> _Global:
    return _KNOWN.setdefault(path, _Global(*f"torch.{path}".rsplit(".", 1)))  # one object each, so that pickle repeats no name


_KNOWN: dict[str, _Global] = {}


_PythonPickler: Any = pickle._Pickler  # type: ignore[attr-defined]  # the one in C imports what it names


class _Pickler(_PythonPickler):
    """Writes plain data as pickle does, and tensors as torch does."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=2)
        self.storages: dict[tuple[Any, ...], _Storage] = {}

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, dtype):
            obj = _torch(obj.name)
        if type(obj) is _Global and id(obj) not in self.memo:
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
            self.memoize(obj)
            return
        super().save(obj, save_persistent_id)

    def persistent_id(self, obj: Any) -> Any:
        return obj.pid if type(obj) is _Storage else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if type(obj) is Size:
            return _torch("Size"), (tuple(obj),)
        if type(obj) is device:
            return _torch("device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if type(obj) is layout and obj in (strided, sparse_coo):
            return _torch("serialization._get_layout"), (f"torch.{obj._name}",)
        if type(obj) in _PLAIN or any(obj is each for each in (*_PLAIN, codecs.encode)):
            return NotImplemented
        raise pickle.PicklingError(
            f'mpigrad.save(format="torch") writes tensors and plain data, which torch.load reads with weights_only=True, '
            f"but there is a {type(obj).__module__}.{type(obj).__qualname__}"
        )

    # -- tensors -------------------------------------------------------------------------------------------------------
    def _tensor(self, x: Tensor) -> tuple[Any, ...]:
        state = dict(x.__dict__)
        if isinstance(x, named("mpigrad.nn.Parameter")):
            args: tuple[Any, ...] = (wrap(x._array), x._requires, OrderedDict())
            if state:
                return _torch("_utils._rebuild_parameter_with_state"), (*args, state)
            return _torch("_utils._rebuild_parameter"), args
        if isinstance(x, named("mpigrad.nn.Buffer")):
            state["_is_buffer"] = True
        elif type(x) is not Tensor:
            raise pickle.PicklingError(f"torch has no class {type(x).__qualname__}: save its tensors as mpigrad.Tensor")
        if x.is_sparse:
            return self._sparse(x, state)
        function, args = self._strided(x._array, x._requires)
        if state:
            return _torch("_tensor._rebuild_from_type_v2"), (function, _torch("Tensor"), args, state)
        return function, args

    def _sparse(self, x: Tensor, state: dict[str, Any]) -> tuple[Any, ...]:
        if state or x._requires:
            raise pickle.PicklingError("torch's files keep no attributes and no requires_grad of sparse tensors: detach() first")
        array: Any = x._array
        parts = wrap(array.indices), wrap(array.values), Size(array.shape), array.is_coalesced
        return _torch("_utils._rebuild_sparse_tensor"), (sparse_coo, parts)

    def _strided(self, array: Any, requires_grad: bool) -> tuple[_Global, tuple[Any, ...]]:
        kind = from_numpy_dtype(array.dtype)
        size = array.dtype.itemsize
        memory, offset = memory_of(array)
        if not memory.flags.forc or min(array.strides, default=0) < 0 or any(each % size for each in (offset, *array.strides)):
            with guard(array):
                memory, offset = array.copy(), 0
            array = memory
        storage = self._storage(memory, kind)
        args: tuple[Any, ...] = (storage, offset // size, array.shape, wrap(array).stride(), requires_grad, OrderedDict())
        if kind in _STORAGE_OF:
            return _torch("_utils._rebuild_tensor_v2"), args
        return _torch("_utils._rebuild_tensor_v3"), (*args, kind)

    def _storage(self, memory: Any, kind: dtype) -> _Storage:
        """The `_Storage` of a memory block, made on first use; torch gives each storage a single element type."""
        key: tuple[Any, ...] = device_of(memory), pointer(memory), memory.nbytes
        if not memory.nbytes:
            key += (len(self.storages),)
        if key not in self.storages:
            self.storages[key] = _Storage(str(len(self.storages)), memory, kind)
        if self.storages[key].kind is not kind:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return self.storages[key]


def write(obj: Any, file: Any) -> None:
    """Write one object to an open file."""
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _put(archive, "data.pkl", stream.getbuffer())
        _put(archive, "byteorder", sys.byteorder.encode())
        for storage in pickler.storages.values():
            with guard(storage.memory):
                content = host(storage.memory).ravel(order="K").view(np.uint8).data
            _put(archive, f"data/{storage.pid[2]}", content)
        _put(archive, "version", b"3\n")


def _put(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    """Add a member whose content begins at a multiple of 64 bytes, so that it can be memory-mapped."""
    info = zipfile.ZipInfo(_FOLDER + name)
    start = archive.start_dir + 30 + len(info.filename) + 4  # type: ignore[attr-defined]
    info.extra = b"FB" + (-start % _ALIGN).to_bytes(2, "little") + b"Z" * (-start % _ALIGN)
    archive.writestr(info, content)


__all__: list[str] = []
