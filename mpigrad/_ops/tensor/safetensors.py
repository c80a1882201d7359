"""The safetensors format: 8 bytes with the length of the header, little-endian; the header, a JSON object with the element
type, shape and place of each tensor; the elements, without gaps.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from mpigrad._array.device import device as Device
from mpigrad._array.device import host, move, resolve
from mpigrad._array.dtype import bfloat16
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor

_NAMES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8", "I64": "<i8",
    "F16": "<f2", "F32": "<f4", "F64": "<f8", "C64": "<c8",
}  # fmt: skip
_KINDS = {np.dtype(kind): name for name, kind in _NAMES.items()}
_BFLOAT16 = "BF16"  # of the package ml_dtypes, which is imported for such tensors only
_METADATA = "__metadata__"
_LONGEST_HEADER = 100_000_000  # bytes, as in the reference implementation


class SafetensorError(RuntimeError):
    """Raised for a file that is not in the safetensors format, or is damaged."""


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Write a dictionary of tensors to the file `filename`, in the safetensors format. `metadata`: texts for the
    file's header.

    Raises a RuntimeError if tensors share memory.

    >>> import os, tempfile
    >>> import mpigrad
    >>> from mpigrad.utils.safetensors import load_file, save_file
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save_file({"weight": mpigrad.ones(2)}, path)
    >>> load_file(path)
    {'weight': tensor([1., 1.])}
    """
    with open(filename, "wb") as file:
        for part in _parts(tensors, metadata):
            file.write(part)


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of the file that `save_file` would write for these tensors."""
    return b"".join(_parts(tensors, metadata))


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The dictionary of tensors in a safetensors file, on `device`; on the CPU the file is memory-mapped and read on
    first use.
    """
    size = os.path.getsize(filename)
    content = np.memmap(filename, np.uint8, "c").view(np.ndarray) if size else np.empty(0, np.uint8)
    place = resolve(Device(device))
    return {name: wrap(move(array, place)) for name, array in arrays(content, os.fspath(filename))}


def load(data: bytes) -> dict[str, Tensor]:
    """The dictionary of tensors in `data`, the bytes of a safetensors file."""
    return {name: wrap(array) for name, array in arrays(np.frombuffer(bytearray(data), np.uint8), "the data")}


def _parts(tensors: dict[str, Tensor], metadata: dict[str, str] | None) -> Iterator[Any]:
    """Header and elements; larger element types first, so that each is aligned."""
    _check(tensors, metadata)
    found = {name: np.ascontiguousarray(host(each._array)) for name, each in tensors.items()}
    order = sorted(found, key=lambda name: (-found[name].dtype.itemsize, name))
    header: dict[str, Any] = {} if metadata is None else {_METADATA: metadata}
    at = 0
    for name in order:
        array = found[name]
        header[name] = {"dtype": _kind(array), "shape": list(tensors[name].shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    yield struct.pack("<Q", len(text)) + text
    for name in order:
        yield found[name].astype(found[name].dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8).data


def _kind(array: Any) -> str | None:
    """The format's name of an array's element type, or None if it has none."""
    return _BFLOAT16 if array.dtype.name == "bfloat16" else _KINDS.get(array.dtype.newbyteorder("<"))


def _check(tensors: dict[str, Tensor], metadata: dict[str, str] | None) -> None:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, mpigrad.Tensor] but received {type(tensors)}")
    for name, each in tensors.items():
        if not isinstance(name, str) or not isinstance(each, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected mpigrad.Tensor but received {type(each)}")
        if name == _METADATA or each.is_sparse or _kind(each._array) is None:
            raise ValueError(f"Key `{name}` is invalid: safetensors has no tensors of {each.layout}, {each.dtype} of this name")
    for name, value in (metadata or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ValueError(f"metadata must be a dict of texts, but {name!r} is {value!r}")
    _check_memory(tensors)


def _check_memory(tensors: dict[str, Tensor]) -> None:
    """Raise an error if tensors share memory: they would be loaded as separate ones."""
    spans = []
    for name, each in tensors.items():
        if isinstance(each._array, np.ndarray) and each._array.size:
            low, high = np.lib.array_utils.byte_bounds(each._array)
            spans.append((low, high, name))
    spans.sort()
    for (_, high, one), (low, _, other) in zip(spans, spans[1:]):
        if low < high and np.shares_memory(tensors[one]._array, tensors[other]._array):
            raise RuntimeError(
                f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading "
                f"them again: {{{one!r}, {other!r}}}. A potential way to correctly save your model is to save one of them only."
            )


def is_header(first: bytes) -> bool:
    """Whether a file that begins with these nine bytes (a length and the first character of JSON) may be a safetensors file."""
    return len(first) == 9 and first[-1:] == b"{" and int.from_bytes(first[:8], "little") <= _LONGEST_HEADER


def arrays(content: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The arrays in the bytes of a file; an error unless every byte belongs to exactly one of them."""
    length = int.from_bytes(content[:8].tobytes(), "little")
    if len(content) < 8 or length > min(len(content) - 8, _LONGEST_HEADER):
        raise SafetensorError(f"{name} is not in the safetensors format: it has {len(content)} bytes, its header {length}")
    try:
        header = json.loads(content[8 : 8 + length].tobytes(), object_pairs_hook=_without_repeats)
        header.pop(_METADATA, None)
        places = sorted((first, last, key) for key, each in header.items() for first, last in [each["data_offsets"]])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SafetensorError(f"the header of {name} is damaged: {type(error).__name__}: {error}") from error
    data, at = content[8 + length :], 0
    for first, last, key in places:
        array = _array(data, header[key], first, last, at)
        if array is None:
            raise SafetensorError(f"the header of {name} is damaged: {key!r} has no known type, shape and place")
        at = last
        yield key, array
    if at != len(data):
        raise SafetensorError(f"{name} is damaged: its tensors have {at} bytes, and there are {len(data)}")


def _array(data: Any, entry: dict[str, Any], first: Any, last: Any, at: int) -> Any:
    kind, shape = entry.get("dtype"), entry.get("shape")
    if not isinstance(shape, list) or not all(type(each) is int and 0 <= each < 2**62 for each in (*shape, first, last)):
        return None
    if not isinstance(kind, str) or kind not in (*_NAMES, _BFLOAT16) or first != at or last > len(data):
        return None
    dtype = bfloat16.numpy if kind == _BFLOAT16 else np.dtype(_NAMES[kind])
    if last - first != dtype.itemsize * math.prod(shape) or len(shape) > 32:
        return None
    found = data[first:last]
    if found.ctypes.data % dtype.itemsize:
        found = found.copy()
    return found.view(dtype).reshape(shape)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


__all__ = ["SafetensorError", "load", "load_file", "save", "save_file"]
