"""Compiles the modules on the way of every message and every pass; everything else about the package is in setup.cfg.

Cython translates the Python source as it is. MPIGRAD_COMPILED=0 leaves that out, MPIGRAD_COMPILED=1 makes a failure fatal;
otherwise a machine without a C compiler gets plain Python, which does the same, and a warning that says so.

With MPIGRAD_TRAINED=1 GCC compiles twice: first modules that count which ways they go, with which `tools/training.py` runs, then
modules that are laid out for those ways. It takes twice as long, and calls and passes take about nine tenths of the time.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
compiled = runpy.run_path(os.path.join(HERE, "mpigrad", "_compiled.py"), run_name="mpigrad._compiled")
wanted = compiled["wanted"]()
trained = os.environ.get("MPIGRAD_TRAINED", "") == "1"
TRAINING = os.path.join("tools", "training.py")


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
            if sys.byteorder != "little":
                raise RuntimeError("frames are little-endian, and so must be the machine that handles them in C")
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


class Train(Compile):
    """`Compile` by GCC with a profile of the modules at work."""

    COUNTING = ("-fprofile-generate", "-fprofile-update=atomic")  # atomic: several threads count
    # partial: what was not trained is compiled as without a profile; the record is by what `mpigrad doctor` knows trained modules
    KNOWING = ("-fprofile-use", "-fprofile-partial-training", "-Wno-missing-profile", "-frecord-gcc-switches")
    SECONDS = 600

    def build_extensions(self) -> None:
        stamp, sources = Path(self.build_temp) / "trained", self._sources()
        if stamp.exists() and stamp.read_text() == sources and all(map(os.path.exists, self.get_outputs())):
            return
        self.force = True
        for counts in Path(self.build_temp).rglob("*.gcda"):
            counts.unlink()
        self._build(self.COUNTING)
        self._run(Path(self.build_temp) / "training")
        self._build(self.KNOWING)
        stamp.write_text(sources)

    def _sources(self) -> str:
        """What stands for the C sources and the training, to see whether anything has changed."""
        files = ["setup.py", TRAINING, *(file for extension in self.extensions for file in extension.sources)]
        return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()

    def _build(self, flags: tuple[str, ...]) -> None:
        usual = [extension.extra_compile_args for extension in self.extensions]
        for extension in self.extensions:
            extension.extra_compile_args = [*extension.extra_compile_args, *flags]
            extension.extra_link_args = list(flags)
        super().build_extensions()
        for extension, args in zip(self.extensions, usual):
            extension.extra_compile_args = args

    def _run(self, place: Path) -> None:
        """Run the training with the modules that count; they write down their counts when the process ends."""
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree("mpigrad", place / "mpigrad", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        for made in self.get_outputs():
            shutil.copy(made, place / os.path.relpath(made, self.build_lib))
        environment = {**os.environ, "PYTHONPATH": os.path.abspath(place), "MPIGRAD_COMPILED": ""}
        subprocess.run([sys.executable, TRAINING], env=environment, check=True, timeout=self.SECONDS)
        if not any(Path(self.build_temp).rglob("*.gcda")):
            raise RuntimeError("the training left no counts: MPIGRAD_TRAINED=1 needs GCC")


def source(name: str) -> str:
    """The file of a module that is compiled: its own, or one that was written to be compiled in its place."""
    stem = os.path.join("mpigrad", *name.split("."))
    return stem + (".pyx" if os.path.exists(os.path.join(HERE, stem + ".pyx")) else ".py")


def translate(extensions: list[Extension], processes: int) -> None:
    """Have the extensions' C written, below build/, and say where NumPy's headers are."""
    import numpy
    from Cython.Build import cythonize

    if any(HOST_KERNELS in extension.sources for extension in extensions):
        write_host_kernels()
    written = cythonize(
        [Extension(extension.name, extension.sources, language=extension.language) for extension in extensions],
        build_dir="build/cython",
        nthreads=processes,
        language_level=3,
        compiler_directives={
            "emit_code_comments": False,  # of the source, in the C that is made of it
            "annotation_typing": False,  # annotations are for readers and mypy; what C is to know is in `.pxd` files
            "nonecheck": True,  # None where an object was expected is an error, as ever
        },
        quiet=True,
    )
    sources = {extension.name: extension.sources for extension in written}
    for extension in extensions:
        extension.sources = sources[extension.name]
        extension.include_dirs = [*extension.include_dirs, numpy.get_include()]


# Rows and elements in any order, as NumPy's own loops take them; nan and inf stay what they are.
VECTORS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fassociative-math", "-fno-signed-zeros"]
HOST_KERNELS = os.path.join("build", "host_kernels.cpp")


def kernels() -> Extension:
    """The kernels' bodies for the host, in C++ that is written from the text of the GPU's kernels; and what calls them."""
    return Extension(
        "mpigrad._core.kernels",
        ["mpigrad/_core/kernels.pyx", HOST_KERNELS],
        include_dirs=[os.path.join("mpigrad", "_kernels")],
        extra_compile_args=[*VECTORS, "-g0", "-w"],
        define_macros=[("CYTHON_CLINE_IN_TRACEBACK", "0"), ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        language="c++",
    )


def write_host_kernels() -> None:
    """Write the C++ of the kernels, with the package as plain Python."""
    found = os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])  # with what pip gives a build
    environment = {**os.environ, "PYTHONPATH": found, compiled["SETTING"]: "0"}
    os.makedirs("build", exist_ok=True)
    subprocess.run([sys.executable, "-W", "ignore", "-m", "mpigrad._kernels.on_host", HOST_KERNELS], env=environment, check=True)


def extension(name: str) -> Extension:
    if name == "_core.kernels":
        return kernels()
    loops = ["-O3", "-ffp-contract=off"] if name == "_core.loops" else ["-O2"]  # with each rounding of NumPy's
    return Extension(
        f"mpigrad.{name}",
        [source(name)],
        # Cython takes methods that C calls for objects of another type when they are passed on, and only the compiler sees it
        extra_compile_args=[*loops, "-g0", "-fno-plt", "-Wno-unused-function", "-Werror=incompatible-pointer-types"],
        # tracebacks name the Python source
        define_macros=[("CYTHON_CLINE_IN_TRACEBACK", "0"), ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
    )


options: dict[str, Any] = {}
if wanted is not False:
    build = Train if trained else Compile
    options = {"ext_modules": [extension(name) for name in compiled["MODULES"]], "cmdclass": {"build_ext": build}}
setup(**options)
