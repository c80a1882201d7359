"""CUDA C++ to a shared object by g++, kept in a cache on disk that all processes share."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Kernels of one name and different types are loaded side by side: no symbol may be shared (gnu-unique, visibility).
ALONE = ("-fvisibility=hidden", "-fno-gnu-unique")
FLAGS = ("-std=c++17", "-O1", "-w", "-fpermissive", "-fPIC", "-fno-strict-aliasing", *ALONE)
LINK = ("-shared", "-nostdlib")  # what a kernel calls is in the process already, and linking takes less time
COOPERATIVE = re.compile(r"__sync|__shfl|__ballot|__any_sync|__all_sync")
KERNEL = re.compile(r"(template\s*<[^;{}]*>\s*)?(?:extern\s+\"C\"\s+)?__global__([^(){};]*(?:\([^()]*\)[^(){};]*)?)\(")
DYNAMIC_SHARED = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w:<>\s]+?)\s+(\w+)\s*\[\s*\]")


def compile_with_cache(
    source: str,
    options: Sequence[str],
    arch: Any = None,
    extra_source: Any = None,
    backend: str = "nvrtc",
    enable_cooperative_groups: bool = False,
    name_expressions: Sequence[str] | None = None,
    log_stream: Any = None,
    cache_in_memory: bool = False,
    jitify: bool = False,
    to_ltoir: bool = False,
) -> Any:
    """As CuPy's function of this name, but for the host: gives a loaded `cupy.cuda.function.Module`."""
    from cupy.cuda import function

    names = {expression: f"expression_{i}" for i, expression in enumerate(name_expressions or ())}
    module = function.Module()
    module.load(str(shared_object(translate(source, names), wanted_options(options))).encode() + b"\0")
    module._set_mapping(names)
    return module


def kernel_names(source: str) -> list[str]:
    """Return the names of the kernels in a source that are not templates, in order.

    >>> kernel_names('extern "C" __global__ void __launch_bounds__(64) f(int n) {} template <class T> __global__ void g(T x) {}')
    ['f']
    """
    heads = (match[2] for match in KERNEL.finditer(source) if not match[1])
    return list(dict.fromkeys(re.findall(r"\w+", re.sub(r"\([^()]*\)", "", head))[-1] for head in heads))


def translate(source: str, names: dict[str, str]) -> str:
    """The kernel's source with its entry points exported."""
    cooperative = int(COOPERATIVE.search(source) is not None)
    exported = {name: name for name in kernel_names(source)} | names
    lines = [f"CPUCUDA_EXPORT({symbol}, {cooperative}, {name})" for name, symbol in exported.items()]
    body = DYNAMIC_SHARED.sub(r"\1 *\2 = (\1 *)cpucuda_dynamic_shared", source)
    return "\n".join([body, *lines, ""])


def wanted_options(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options that g++ needs: definitions and include directories, without those of CUDA's own headers."""
    kept = (option for option in options if option.startswith(("-D", "-U", "-I")))
    return tuple(option for option in kept if "_cccl" not in option and "cuda_runtime" not in option)


def shared_object(code: str, options: tuple[str, ...]) -> Path:
    """The path of the compiled code; the first process compiles, others wait for it."""
    key = hashlib.sha256("\0".join([toolchain(), *options, code]).encode()).hexdigest()[:24]
    result = cache() / f"{key}.so"
    if not result.exists():
        with locked(cache() / f"{key}.lock"):
            if not result.exists():
                build(code, options, result)
    return result


def build(code: str, options: tuple[str, ...], result: Path) -> None:
    source = result.with_suffix(".cpp")
    source.write_text(code)
    unfinished = result.with_suffix(f".{os.getpid()}.tmp")
    command = ["g++", *FLAGS, *LINK, "-include", prefix(), *options, *includes(), str(source), "-lgcc", "-o", str(unfinished)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        from cupy.cuda import compiler

        raise compiler.CompileException(run.stderr[:4000], code, str(source), tuple(command), "g++")
    os.replace(unfinished, result)
    source.unlink()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    path.unlink(missing_ok=True)


@functools.cache
def cache() -> Path:
    folder = Path(os.environ.get("CPUCUDA_CACHE") or HERE / "cache")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@functools.cache
def includes() -> tuple[str, ...]:
    cupy = Path(sysconfig.get_paths()["platlib"]) / "cupy" / "_core" / "include"
    return (f"-I{HERE / 'include'}", f"-I{cupy}")


@functools.cache
def toolchain() -> str:
    """Return what the compiled code depends on besides the source: compiler, options, headers."""
    version = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    headers = "".join(path.read_text() for path in sorted((HERE / "include").glob("*.h")))
    return "\0".join([version, *FLAGS, headers])


@functools.cache
def prefix() -> str:
    """Return the header that precedes every kernel. It is precompiled, which saves more than half of the compile time."""
    key = hashlib.sha256(toolchain().encode()).hexdigest()[:24]
    header = cache() / f"prefix-{key}.h"
    precompiled = header.with_suffix(".h.gch")
    with locked(header.with_suffix(".lock")):
        if not precompiled.exists():
            header.write_text('#include "cpucuda_prefix.h"\n')
            unfinished = f"{precompiled}.{os.getpid()}"
            subprocess.run(["g++", *FLAGS, "-x", "c++-header", *includes(), str(header), "-o", unfinished], check=True)
            os.replace(unfinished, precompiled)
    return str(header)
