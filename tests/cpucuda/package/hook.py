"""Runs when `cupy` is imported: lets it find the stand-ins of its libraries here, and passes its kernels to the host compiler."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
# What CuPy opens by these names: each is an empty library that needs libcpucuda.so, where everything is.
LIBRARIES = ("libcuda.so.1", "libcublasLt.so.12", "libcublas.so.12", "libcusolver.so.11", "libcufft.so.11")
# ... and what it asks NVIDIA's path finder for.
OURS = {"cublasLt": "libcublasLt.so.12", "cublas": "libcublas.so.12", "cusolver": "libcusolver.so.11"}


class Loaded:
    """What the path finder of CuPy returns for a library."""

    def __init__(self, name: str) -> None:
        self.abs_path = str(HERE / "lib" / name)
        self._handle_uint = ctypes.CDLL(self.abs_path)._handle


def load_libraries() -> None:
    """Load the stand-ins once: a library that is in memory already is found by its name, wherever it is."""
    os.environ.setdefault("CUPY_ACCELERATORS", "")  # CUB kernels come as device code only
    library = ctypes.CDLL(str(HERE / "lib" / "libcpucuda.so"), mode=ctypes.RTLD_GLOBAL)
    library.cpucuda_use_blas(str(openblas()).encode())
    for name in LIBRARIES:
        ctypes.CDLL(str(HERE / "lib" / name), mode=ctypes.RTLD_GLOBAL)


def openblas() -> Path:
    """Return the path of the OpenBLAS library (with LAPACK) in NumPy's wheel."""
    spec = importlib.util.find_spec("numpy")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parents[1] / "numpy.libs"
    found = sorted(folder.glob("libscipy_openblas64*.so"))
    if not found:
        raise ImportError(f"cpucuda needs the OpenBLAS of NumPy's wheel, but {folder} has no libscipy_openblas64*.so")
    return found[0]


class Finder:
    """An import finder that replaces two modules of CuPy, and notices the first import of its back end."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "cupy_backends":
            load_libraries()
        elif name == "cupy.cuda.thrust":
            return importlib.util.spec_from_file_location(name, HERE / "thrust.py")
        elif name == "cupy.cuda.compiler":
            return self._with_our_compiler(name, path)
        elif name == "cuda.pathfinder":
            return self._with_our_paths(name, path)
        return None

    def _after(self, name: str, path: Sequence[str] | None, change: Any) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _with_our_compiler(self, name: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
        def change(module: Any) -> None:
            from cpucuda import compiler

            module._compile_with_cache_cuda = compiler.compile_with_cache

        return self._after(name, path, change)

    def _with_our_paths(self, name: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
        def change(module: Any) -> None:
            find = module.load_nvidia_dynamic_lib
            module.load_nvidia_dynamic_lib = lambda name: Loaded(OURS[name]) if name in OURS else find(name)

        return self._after(name, path, change)


sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]
