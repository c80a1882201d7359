"""The number of threads of NumPy's matrix products: `set_num_threads` and `get_num_threads`, through OpenBLAS."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads",
)
_HOW = "set OPENBLAS_NUM_THREADS, OMP_NUM_THREADS or MKL_NUM_THREADS before the program starts instead"


def _libraries() -> Iterator[Path]:
    """Paths of OpenBLAS: in NumPy's wheel, or as loaded by this process."""
    from pathlib import Path

    home = Path(np.__file__).parent
    for folder in (home.parent / "numpy.libs", home / ".libs", home / ".dylibs"):
        yield from folder.glob("*openblas*")
    maps = Path("/proc/self/maps")
    if maps.exists():
        yield from {Path(line.split()[-1]) for line in maps.read_text().splitlines() if "openblas" in line}


@functools.lru_cache(maxsize=1)
def _functions() -> tuple[Callable[[int], Any], Callable[[], int]] | None:
    import ctypes

    for library in _libraries():
        loaded = ctypes.CDLL(str(library))
        for name in _NAMES:
            if hasattr(loaded, name.format("set")):
                return getattr(loaded, name.format("set")), getattr(loaded, name.format("get"))
    return None


def set_num_threads(int: int) -> None:
    """Let NumPy's matrix products use `int` threads in this process (through OpenBLAS); 1 is best with one rank per
    core.

    >>> import mpigrad
    >>> before = mpigrad.get_num_threads()
    >>> mpigrad.set_num_threads(1)
    >>> mpigrad.get_num_threads()
    1
    >>> mpigrad.set_num_threads(before)
    """
    if isinstance(int, bool) or not hasattr(int, "__index__"):
        raise TypeError(f"set_num_threads expects an int, but got {type(int).__name__}")
    if int <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    found = _functions()
    if found is None:
        raise RuntimeError(f"set_num_threads supports OpenBLAS only, and this NumPy uses another BLAS; {_HOW}")
    found[0](int.__index__())


def get_num_threads() -> int:
    """The number of threads that matrix products use; the number of cores if NumPy's BLAS is not OpenBLAS."""
    found = _functions()
    return os.cpu_count() or 1 if found is None else found[1]()
