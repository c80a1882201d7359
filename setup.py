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


def sources() -> list[str]:
    return [os.path.join("mpigrad", *name.split(".")) + ".py" for name in compiled["MODULES"]]


def translate(extensions: list[Extension], processes: int) -> None:
    """Have the extensions' C written, below build/."""
    from Cython.Build import cythonize

    written = cythonize(
        [Extension(extension.name, extension.sources) for extension in extensions],
        build_dir="build/cython",
        nthreads=processes,
        language_level=3,
        compiler_directives={"annotation_typing": False},  # annotations are for readers and mypy, not for C
        quiet=True,
    )
    sources = {extension.name: extension.sources for extension in written}
    for extension in extensions:
        extension.sources = sources[extension.name]


def extension(source: str) -> Extension:
    name = source[: -len(".py")].replace(os.sep, ".")
    return Extension(name, [source], extra_compile_args=["-O2", "-g0", "-Wno-unused-function"])


options: dict[str, Any] = {}
if wanted is not False:
    options = {"ext_modules": [extension(source) for source in sources()], "cmdclass": {"build_ext": Compile}}
setup(**options)
