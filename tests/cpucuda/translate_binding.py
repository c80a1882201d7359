"""Cython to C++ for one module of CuPy's source, with the settings of CuPy's wheels: SOURCE MODULE.pyx"""

from __future__ import annotations

import os
import sys

from Cython.Build import cythonize
from Cython.Compiler import Errors
from setuptools import Extension

SETTINGS = {
    "CUPY_USE_CUDA_PYTHON": False,
    "CUPY_CUFFT_STATIC": False,
    "CUPY_CYTHON_VERSION": "3.2",
    "CUPY_CUDA_VERSION": 12090,
    "CUPY_HIP_VERSION": 0,
}
DIRECTIVES = {"embedsignature": True, "language_level": 3, "freethreading_compatible": True}

Errors.LEVEL = 9  # CuPy lives with what Cython deprecates
source, module = sys.argv[1:]
os.chdir(source)
name = module.removesuffix(".pyx").replace("/", ".")
extension = Extension(name, [module], language="c++")
cythonize([extension], compiler_directives=DIRECTIVES, compile_time_env=SETTINGS, force=True, quiet=True)
