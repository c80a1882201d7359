"""Stands in for `cupy.cuda.thrust`: sorting by libcpucuda.so, queued on the current stream like everything else."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
from cupy.cuda import stream

available = True
_library = ctypes.CDLL(str(Path(__file__).resolve().parent / "lib" / "libcpucuda.so"))
_address, _size = ctypes.c_void_p, ctypes.c_size_t
_library.cpucuda_sort.argtypes = [ctypes.c_int, _address, _size, _size, _address]
_library.cpucuda_argsort.argtypes = [ctypes.c_int, _address, _address, _size, _size, _address]
_library.cpucuda_lexsort.argtypes = [ctypes.c_int, _address, _address, _size, _size, _address]
_CODES = {character: code for code, character in enumerate("?bBhHiIlLqQefdFD")}


def get_build_version() -> int:
    return 0


def _code(dtype: Any, error: type[Exception], what: str) -> int:
    character = numpy.dtype(dtype).char
    if character not in _CODES:
        raise error(f"Sorting {what} with dtype '{dtype}' is not supported")
    return _CODES[character]


def _check(code: int) -> None:
    from cupy.cuda import runtime

    if code:
        raise runtime.CUDARuntimeError(code)


def _rows(shape: Sequence[int]) -> tuple[int, int]:
    return int(numpy.prod(shape[:-1], dtype=numpy.int64)), shape[-1]


def sort(dtype: Any, data: int, keys: int, shape: Sequence[int]) -> None:
    """Sort each row in place."""
    code = _code(dtype, NotImplementedError, "arrays")
    _check(_library.cpucuda_sort(code, data, *_rows(shape), stream.get_current_stream().ptr))


def argsort(dtype: Any, index: int, data: int, keys: int, shape: Sequence[int]) -> None:
    """Write the order of each row to `index` (stable, NaN last) and sort the row."""
    code = _code(dtype, NotImplementedError, "arrays")
    _check(_library.cpucuda_argsort(code, index, data, *_rows(shape), stream.get_current_stream().ptr))


def lexsort(dtype: Any, index: int, keys: int, count: int, length: int) -> None:
    """Write the order by `count` rows of keys, the last one first."""
    code = _code(dtype, TypeError, "keys")
    _check(_library.cpucuda_lexsort(code, index, keys, count, length, stream.get_current_stream().ptr))
