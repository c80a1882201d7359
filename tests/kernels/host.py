"""Kernel bodies compiled for the host, behind the same call as CuPy's RawKernel, with checks that hardware does not make."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from mpigrad._kernels.everything import all_functions
from mpigrad._kernels.kernel import Kernel, source
from mpigrad._kernels.table import TABLE

HEADER = Path(__file__).with_name("host.h")
EDGE = 64  # guard bytes before and after each array


def _entry(kernel: Kernel, letters: str) -> str:
    """A function that C can call: void run_X(blocks, threads, backwards, arguments)."""
    symbol, arguments = kernel.symbol(letters), ", ".join(f"*({t}*)a[{i}]" for i, t in enumerate(kernel.types()))
    return (
        f"namespace {symbol}_types {{\nstatic void call(void **a) {{ {symbol}({arguments}); }}\n"
        f'extern "C" void run_{symbol}(unsigned blocks, unsigned threads, int backwards, void **a) '
        f"{{ run_grid(blocks, threads, {str(kernel.together).lower()}, backwards, a, call); }}\n}}\n"
    )


def build(folder: Path) -> ctypes.CDLL:
    """Compile every kernel for every type into one library, once for all processes that share the folder."""
    functions = all_functions()
    text = f'#include "{HEADER}"\n{source(*functions)}' + "".join(_entry(*each) for each in functions)
    name = folder / hashlib.sha256((text + HEADER.read_text()).encode()).hexdigest()[:16]
    with open(f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not name.with_suffix(".so").exists():
            name.with_suffix(".cpp").write_text(text)
            made = subprocess.run(
                ["g++", "-O1", "-std=c++17", "-Wall", "-Wno-unused-function", "-Wno-parentheses", "-ffp-contract=off", "-shared",
                 "-fPIC", f"{name}.cpp", "-o", f"{name}.part"],
                capture_output=True, text=True,
            )  # fmt: skip
            assert made.returncode == 0 and not made.stderr, made.stderr[:5000]
            Path(f"{name}.part").rename(f"{name}.so")
    return ctypes.CDLL(f"{name}.so")


class HostKernel:
    """One compiled kernel: `kernel((blocks,), (threads,), arguments)`."""

    def __init__(self, library: ctypes.CDLL, kernel: Kernel, letters: str) -> None:
        assert letters in kernel.variants(), f"{kernel.name} has no variant {letters!r}"
        self.kernel, self.run = kernel, getattr(library, f"run_{kernel.symbol(letters)}")

    def __call__(self, grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...]) -> None:
        assert 0 < grid[0] < 2**31 and 0 < block[0] <= 1024 and block[0] & (block[0] - 1) == 0
        assert sum(_size(each) for each in arguments) <= 4096, "kernel parameters are limited to 4 KiB"
        if any(_is_table(each) for each in arguments):
            self._run(grid[0], block[0], arguments, backwards=False)
            return
        there, back = ([_Guarded(each) if _is_array(each) else each for each in arguments] for _ in range(2))
        self._run(grid[0], block[0], there, backwards=False)
        self._run(grid[0], block[0], back, backwards=True)
        for kind, given, one, other in zip(self.kernel.types(), arguments, there, back):
            if isinstance(one, _Guarded):
                one.check(f"{self.kernel.name}: {kind}")
                assert one.inner.tobytes() == other.inner.tobytes(), f"{self.kernel.name}: the order of threads matters"
                if kind.startswith("const"):
                    assert one.inner.tobytes() == given.tobytes(), f"{self.kernel.name} wrote to {kind}"
                else:
                    given.reshape(-1).view(np.uint8)[:] = one.inner

    def _run(self, blocks: int, threads: int, arguments: Any, backwards: bool) -> None:
        held = [_memory(each) for each in arguments]
        pointers = (ctypes.c_void_p * len(held))(*(each.ctypes.data for each in held))
        self.run(ctypes.c_uint(blocks), ctypes.c_uint(threads), ctypes.c_int(backwards), pointers)


class _Guarded:
    """A copy of an array with edges around it that must stay as they are."""

    def __init__(self, array: np.ndarray) -> None:
        assert array.flags.c_contiguous, "kernels walk contiguous arrays only"
        self.whole = np.full(array.nbytes + 2 * EDGE, 0xA5, np.uint8)
        self.inner = self.whole[EDGE : EDGE + array.nbytes]
        self.inner[:] = array.reshape(-1).view(np.uint8)

    def check(self, what: str) -> None:
        assert (self.whole[:EDGE] == 0xA5).all() and (self.whole[-EDGE:] == 0xA5).all(), f"{what}: written out of bounds"


def _is_table(each: Any) -> bool:
    return isinstance(each, np.ndarray) and each.dtype == TABLE


def _is_array(each: Any) -> bool:
    return isinstance(each, np.ndarray) and not _is_table(each)


def _size(each: Any) -> int:
    return each.nbytes if _is_table(each) or isinstance(each, np.generic) else 8


def _memory(each: Any) -> np.ndarray:
    """An array whose memory is the parameter: an address for arrays, the value itself for the rest."""
    if isinstance(each, _Guarded):
        return np.array(each.inner.ctypes.data, np.uint64)
    if _is_array(each):
        return np.array(each.ctypes.data, np.uint64)
    return np.asarray(each)
