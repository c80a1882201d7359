"""Compiles the modules of `_core`, through which every message and every pass goes; the package metadata is in setup.cfg.

Cython translates the unchanged Python source. MPIGRAD_COMPILED=0 skips the compilation, MPIGRAD_COMPILED=1 makes a failure fatal;
otherwise a machine without a C compiler gets plain Python modules, which do the same, and a warning.

MPIGRAD_TRAINED=1 enables profile-guided optimisation: GCC compiles instrumented modules, `tools/training.py` runs with them, and
GCC compiles again with the recorded profile. The build takes twice as long; calls and backward passes become 10 to 16 % faster.

MPIGRAD_SOURCE_URL is the address of this repository's files, for the links of the page on an index of packages.
"""

from __future__ import annotations

import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Set
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
    """Warn that the package will be plain Python, or fail if compiled modules are required."""
    if wanted:
        raise SystemExit(f"mpigrad: the modules could not be compiled: {why}")
    print(f"mpigrad: WARNING: installed as plain Python, with slower calls: {why}", file=sys.stderr)


class Compile(build_ext):
    """`build_ext` that falls back to plain Python for all modules if one fails, unless compiled modules are required."""

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
        """Remove the modules that were compiled before the failure: compiled and plain modules cannot be mixed."""
        for made in map(self.get_ext_fullpath, [extension.name for extension in self.extensions]):
            if os.path.exists(made):
                os.remove(made)
        self.extensions = self.distribution.ext_modules = []


class Train(Compile):
    """`Compile` with profile-guided optimisation by GCC."""

    COUNTING = ("-fprofile-generate", "-fprofile-update=atomic")  # atomic: several threads increment the counters
    # partial training: code that did not run is compiled as without a profile. Recorded switches: `mpigrad doctor` reads them
    KNOWING = ("-fprofile-use", "-fprofile-partial-training", "-Wno-missing-profile", "-frecord-gcc-switches")
    SECONDS = 600

    def build_extensions(self) -> None:
        stamp, sources = Path(self.build_temp) / "trained", self._sources()
        if stamp.exists() and stamp.read_text() == sources and all(map(os.path.exists, self.get_outputs())):
            return
        self.force = True
        for counts in Path(self.build_temp).rglob("*.gcda"):
            counts.unlink()
        # Resolvers that choose vector instructions run while the module is loaded, when the counters cannot be used yet.
        self._build(self.COUNTING, {"mpigrad._core.kernels"})
        self._run(Path(self.build_temp) / "training")
        self._build(self.KNOWING)
        stamp.write_text(sources)

    def _sources(self) -> str:
        """A hash of the C sources and the training program, to detect changes."""
        files = ["setup.py", TRAINING, *(file for extension in self.extensions for file in extension.sources)]
        return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()

    def _build(self, flags: tuple[str, ...], without: Set[str] = frozenset()) -> None:
        """Build all extensions with these flags, those in `without` as usual."""
        usual = [extension.extra_compile_args for extension in self.extensions]
        for extension in self.extensions:
            if extension.name in without:
                continue
            args = ["-O2" if each == "-O1" else each for each in extension.extra_compile_args]
            extension.extra_compile_args = [*args, *flags]
            extension.extra_link_args = list(flags)
        super().build_extensions()
        for extension, args in zip(self.extensions, usual):
            extension.extra_compile_args = args

    def _run(self, place: Path) -> None:
        """Run the training with the instrumented modules, which write their counters at exit."""
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree("mpigrad", place / "mpigrad", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        for made in self.get_outputs():
            shutil.copy(made, place / os.path.relpath(made, self.build_lib))
        environment = {**os.environ, "PYTHONPATH": os.path.abspath(place), "MPIGRAD_COMPILED": ""}
        subprocess.run([sys.executable, TRAINING], env=environment, check=True, timeout=self.SECONDS)
        if not any(Path(self.build_temp).rglob("*.gcda")):
            raise RuntimeError("the training left no counts: MPIGRAD_TRAINED=1 needs GCC")


def source(name: str) -> str:
    """The source file of a compiled module: the Python file, or the `.pyx` file that replaces it."""
    stem = os.path.join("mpigrad", *name.split("."))
    return stem + (".pyx" if os.path.exists(os.path.join(HERE, stem + ".pyx")) else ".py")


def translate(extensions: list[Extension], processes: int) -> None:
    """Translate the extensions to C, below build/, and set the include path of NumPy."""
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
            "emit_code_comments": False,  # no source lines in the generated C
            "auto_pickle": False,  # classes that are pickled define how
            "annotation_typing": False,  # annotations are for readers and mypy; C types are in `.pxd` files
            "nonecheck": True,  # None instead of an object raises an error, as in Python
        },
        quiet=True,
    )
    sources = {extension.name: extension.sources for extension in written}
    for extension in extensions:
        extension.sources = sources[extension.name]
        extension.include_dirs = [*extension.include_dirs, numpy.get_include()]


# Sums may be reordered, as in NumPy's loops; nan and inf are respected.
VECTORS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fassociative-math", "-fno-signed-zeros"]
HOST_KERNELS = os.path.join("build", "host_kernels.cpp")


def kernels() -> Extension:
    """The extension with the kernels for the host, whose C++ source is generated from that of the GPU kernels."""
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
    found = os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])  # includes the build environment of pip
    environment = {**os.environ, "PYTHONPATH": found, compiled["SETTING"]: "0"}
    os.makedirs("build", exist_ok=True)
    subprocess.run([sys.executable, "-W", "ignore", "-m", "mpigrad._kernels.on_host", HOST_KERNELS], env=environment, check=True)


def extension(name: str) -> Extension:
    if name == "_core.kernels":
        return kernels()
    if name == "_core.loops":
        effort = ["-O3", "-ffp-contract=off"]  # rounds as NumPy does
    else:  # code of calls and branches: -O2 would take half as long again to compile
        effort = ["-O1", "-freorder-blocks-and-partition"]
    return Extension(
        f"mpigrad.{name}",
        [source(name)],
        # Cython takes methods that C calls for objects of another type when they are passed on, and only the compiler sees it
        extra_compile_args=[*effort, "-g0", "-fno-plt", "-Wno-unused-function", "-Werror=incompatible-pointer-types"],
        # so that tracebacks name the Python source
        define_macros=[("CYTHON_CLINE_IN_TRACEBACK", "0"), ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
    )


def index_page(readme: str, source: str) -> str:
    """The README for an index of packages, which has none of the files that it links to: they are found below `source`, a URL of
    this repository's files; without one, pictures are left out and links are plain text.
    """

    def absolute(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        if re.match(r"[a-z]+://|#", target):
            return match[0]
        if not source:
            return "" if picture else text
        return f"{picture}[{text}]({source.rstrip('/')}/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", absolute, readme)


readme = Path(HERE, "README.md").read_text()
options: dict[str, Any] = {"long_description": index_page(readme, os.environ.get("MPIGRAD_SOURCE_URL", ""))}
if os.environ.get("MPIGRAD_SOURCE_URL"):
    options["project_urls"] = {"Source": os.environ["MPIGRAD_SOURCE_URL"]}
if wanted is not False:
    build = Train if trained else Compile
    options |= {"ext_modules": [extension(name) for name in compiled["MODULES"]], "cmdclass": {"build_ext": build}}
setup(**options)
