"""Compiles the modules on the way of every message and every pass; everything else about the package is in setup.cfg.

Cython translates the Python source as it is. MPIGRAD_COMPILED=0 leaves that out, MPIGRAD_COMPILED=1 makes a failure fatal;
otherwise a machine without a C compiler gets plain Python, which does the same, and a warning that says so.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
compiled = runpy.run_path(os.path.join(HERE, "mpigrad", "_compiled.py"), run_name="mpigrad._compiled")
wanted = compiled["wanted"]()


def plain_python(why: object) -> None:
    """Say that the package will be plain Python; or stop, if that is not wanted."""
    if wanted:
        raise SystemExit(f"mpigrad: the modules could not be compiled: {why}")
    print(f"mpigrad: WARNING: installed as plain Python, with slower calls: {why}", file=sys.stderr)


class Compile(build_ext):
    """`build_ext` whose failure leaves plain Python, all of it or nothing, unless compiled modules are demanded."""

    def run(self) -> None:
        self.parallel = self.parallel or os.cpu_count()
        try:
            translate(self.extensions, self.parallel)
            super().run()
        except Exception as error:
            plain_python(error)
            self.discard()

    def discard(self) -> None:
        """Take back what was compiled before the failure: compiled modules rely on each other's form."""
        for made in map(self.get_ext_fullpath, [extension.name for extension in self.extensions]):
            if os.path.exists(made):
                os.remove(made)
        self.extensions = self.distribution.ext_modules = []


def source(name: str) -> str:
    """The file of a module that is compiled: its own, or one that was written to be compiled in its place."""
    stem = os.path.join("mpigrad", *name.split("."))
    return stem + (".pyx" if os.path.exists(os.path.join(HERE, stem + ".pyx")) else ".py")


def translate(extensions: list[Extension], processes: int) -> None:
    """Have the extensions' C written, below build/."""
    from Cython.Build import cythonize

    written = cythonize(
        [Extension(extension.name, extension.sources) for extension in extensions],
        build_dir="build/cython",
        nthreads=processes,
        language_level=3,
        compiler_directives={
            "annotation_typing": False,  # annotations are for readers and mypy; what C is to know is in `.pxd` files
            "nonecheck": True,  # None where an object was expected is an error, as ever
        },
        quiet=True,
    )
    sources = {extension.name: extension.sources for extension in written}
    for extension in extensions:
        extension.sources = sources[extension.name]


def extension(name: str) -> Extension:
    loops = ["-O3", "-ffp-contract=off"] if source(name).endswith(".pyx") else ["-O2"]  # with each rounding of NumPy's
    return Extension(
        f"mpigrad.{name}",
        [source(name)],
        # Cython takes methods that C calls for objects of another type when they are passed on, and only the compiler sees it
        extra_compile_args=[*loops, "-g0", "-fno-plt", "-Wno-unused-function", "-Werror=incompatible-pointer-types"],
        define_macros=[("CYTHON_CLINE_IN_TRACEBACK", "0")],  # tracebacks name the Python source
    )


options: dict[str, Any] = {}
if wanted is not False:
    options = {"ext_modules": [extension(name) for name in compiled["MODULES"]], "cmdclass": {"build_ext": Compile}}
setup(**options)
