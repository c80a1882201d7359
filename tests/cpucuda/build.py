"""Puts the CPU-backed CUDA runtime below the CuPy of this interpreter's virtual environment.

    .venv/cuda/bin/python tests/cpucuda/build.py

CuPy stays as it is, with one exception: its binding of the CUDA runtime contains NVIDIA's runtime, so that it is
built again, from CuPy's own source, on top of ours. Everything else is found by name when `import cupy` looks for it
(package/hook.py). A second call does only what has changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
SITE = Path(sysconfig.get_paths()["platlib"])
TARGET = SITE / "cpucuda"
LIBRARY = TARGET / "lib" / "libcpucuda.so"
OBJECTS = TARGET / "build"
EXTENSION = sysconfig.get_config_var("EXT_SUFFIX")
HEADERS = ("nvidia-cuda-nvcc-cu12==12.9.*", "nvidia-cuda-profiler-api-cu12==12.9.*")
# Each is empty but for the functions that we do not have and that a binding of CuPy is linked with.
SHELLS = {
    "libcuda.so.1": None,
    "libcublasLt.so.12": None,
    "libcublas.so.12": ("cupy_backends/cuda/libs/cublas", "cublas", 15),
    "libcusolver.so.11": ("cupy_backends/cuda/libs/cusolver", "cusolver", 9),
    "libcufft.so.11": ("cupy/cuda/cufft", "cufft", 16),
}
NOT_SUPPORTED = 801


def main() -> None:
    for folder in (TARGET, OBJECTS, LIBRARY.parent):
        folder.mkdir(parents=True, exist_ok=True)
    headers = cuda_headers()
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the compilers run elsewhere
        binding = pool.submit(binding_object, headers)
        build_library(pool, headers)
        build_shells()
        build_binding(binding.result())
    shutil.copytree(HERE / "package", TARGET, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (SITE / "cpucuda.pth").write_text("import cpucuda.hook\n")


def run(command: Sequence[str | Path], **environment: str) -> None:
    subprocess.run([str(part) for part in command], check=True, env=os.environ | environment)


def pip(*arguments: str | Path, **environment: str) -> None:
    run([sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments], **environment)


def is_newer(made: Path, *sources: Path) -> bool:
    return made.exists() and all(made.stat().st_mtime > source.stat().st_mtime for source in sources)


def cuda_headers() -> list[str]:
    """The compiler's options for CUDA's headers: those of the runtime are in the environment, the rest is fetched."""
    extra = OBJECTS / "headers"
    if not extra.exists():
        pip("install", "--no-deps", "--target", extra, *HEADERS)
    folders = [SITE / "nvidia" / "cuda_runtime", *(extra / "nvidia").iterdir()]
    return [f"-I{folder / 'include'}" for folder in folders]


def build_library(pool: ThreadPoolExecutor, headers: Sequence[str]) -> None:
    common = sorted((HERE / "runtime").glob("*.h"))

    def compiled(source: Path) -> Path:
        made = OBJECTS / f"{source.stem}.o"
        if not is_newer(made, source, *common):
            run(["g++", "-std=c++17", "-O2", "-Wall", "-fPIC", *headers, "-c", source, "-o", made])
        return made

    objects = list(pool.map(compiled, sorted((HERE / "runtime").glob("*.cpp"))))
    if not is_newer(LIBRARY, *objects):
        link(LIBRARY, *objects)


def link(result: Path, *parts: str | Path) -> None:
    """Through a temporary name: processes may be using the old file."""
    unfinished = result.with_name(f"{result.name}.new")
    origin = ["-Wl,-rpath,$ORIGIN", f"-Wl,-rpath,{LIBRARY.parent}"]
    run(["g++", "-shared", *origin, f"-Wl,-soname,{result.name}", "-o", unfinished, *parts, "-lpthread", "-ldl"])
    os.replace(unfinished, result)


def symbols(file: Path, *options: str) -> set[str]:
    listing = subprocess.run(["nm", *options, str(file)], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines()}


def stubs(name: str, needed: set[str], status: int) -> Path:
    """An object file with a function for each name that libcpucuda lacks; calling it says "not supported"."""
    missing = sorted(needed - symbols(LIBRARY, "-D", "--defined-only"))
    source = OBJECTS / f"{name}_rest.c"
    source.write_text("".join(f"int {symbol}() {{ return {status}; }}\n" for symbol in missing) or "\n")
    made = source.with_suffix(".o")
    run(["gcc", "-w", "-fPIC", "-c", source, "-o", made])
    return made


def build_shells() -> None:
    for name, rest in SHELLS.items():
        parts: list[Path] = []
        if rest:
            module, prefix, status = rest
            needed = symbols(SITE / f"{module}{EXTENSION}", "-D", "--undefined-only")
            parts = [stubs(prefix, {symbol for symbol in needed if symbol.startswith(prefix)}, status)]
        link(LIBRARY.parent / name, *parts, "-Wl,--no-as-needed", LIBRARY)


def binding_object(headers: Sequence[str]) -> Path:
    """CuPy's `cupy_backends.cuda.api.runtime`, compiled from its own source."""
    release = version("cupy-cuda12x")
    compiled = OBJECTS / f"binding-{release}{EXTENSION}.o"
    if not compiled.exists():
        with tempfile.TemporaryDirectory() as scratch:
            compile_binding(Path(scratch), release, compiled, headers)
    return compiled


def build_binding(compiled: Path) -> None:
    """Build CuPy's binding of the CUDA runtime, linked with our runtime in place of NVIDIA's."""
    needed = {symbol for symbol in symbols(compiled, "-u") if symbol.startswith("cuda")}
    rest = stubs("cuda", needed, NOT_SUPPORTED)
    result = SITE / "cupy_backends" / "cuda" / "api" / f"runtime{EXTENSION}"
    link(result, compiled, rest, "-Wl,--no-as-needed", LIBRARY)


def compile_binding(scratch: Path, release: str, made: Path, headers: Sequence[str]) -> None:
    tools = scratch / "tools"
    pip("install", "--target", tools, "Cython>=3.2,<3.3")
    pip("download", "--no-deps", "--no-binary", "cupy", "-d", scratch, f"cupy=={release}", CUPY_INSTALL_USE_STUB="1")
    shutil.unpack_archive(scratch / f"cupy-{release}.tar.gz", scratch)
    source = scratch / f"cupy-{release}"
    pyx = "cupy_backends/cuda/api/runtime.pyx"
    run([sys.executable, HERE / "translate_binding.py", source, pyx], PYTHONPATH=str(tools))
    python = f"-I{sysconfig.get_paths()['include']}"
    folders = [f"-I{source}", f"-I{source / 'cupy_backends'}"]
    cpp = source / pyx.replace(".pyx", ".cpp")
    unfinished = made.with_suffix(".new")
    run(["g++", "-std=c++17", "-O1", "-w", "-fPIC", python, *headers, *folders, "-c", cpp, "-o", unfinished])
    os.replace(unfinished, made)


if __name__ == "__main__":
    main()
