"""The CUDA source of every kernel, compiled by nvrtc for the architectures of GPUs old and new. No GPU is needed for that."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mpigrad._kernels.everything import FILES, all_functions
from mpigrad._kernels.kernel import KERNELS, OPTIONS, Kernel, source


@pytest.fixture(scope="module")
def nvrtc() -> Any:
    spec = find_spec("nvidia.cuda_nvrtc")
    assert spec is not None, "nvrtc is missing: install mpigrad[kernels] (nvidia-cuda-nvrtc-cu12)"
    (folder,) = spec.submodule_search_locations  # type: ignore[misc]
    return ctypes.CDLL(str(next(Path(folder, "lib").glob("libnvrtc.so.*"))))


def compiled(nvrtc: Any, text: str, arch: str) -> bytes:
    """Machine code for one architecture; any word of the compiler is an error, but for the age of an architecture."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None) == 0
    options = [each.encode() for each in (*OPTIONS, f"-arch={arch}")]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    said = [line for line in log.value.decode().splitlines() if line.strip() and "deprecated" not in line]
    assert not failed and not said, "\n".join(said)[:5000]
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    made = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, made)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return made.raw


def newest(nvrtc: Any) -> str:
    count = ctypes.c_int()
    nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    known = (ctypes.c_int * count.value)()
    nvrtc.nvrtcGetSupportedArchs(known)
    return f"sm_{max(known)}"


def usual(letters: str) -> bool:
    """Half and single precision, with 64-bit targets: other types differ in typedefs only, and take most of the time."""
    return set(letters) <= set("efq") and letters != "q"


def test_every_file_with_a_kernel_is_known() -> None:
    folder = Path(FILES[0].__file__ or "").parent
    found = {path.stem for path in folder.glob("*.py") if "= Kernel(" in path.read_text()}
    assert found == {each.__name__.rpartition(".")[2] for each in FILES}
    assert len(KERNELS) >= 20


@pytest.mark.deadline(300)
@pytest.mark.parametrize("arch", ["sm_70", "sm_80", "sm_90"])
def test_compiles(nvrtc: Any, arch: str) -> None:
    functions = [each for each in all_functions() if usual(each[1])]
    assert {kernel for kernel, _ in functions} == set(KERNELS.values())
    assert_complete(compiled(nvrtc, source(*functions), arch), functions)


@pytest.mark.deadline(300)
def test_every_type_compiles_for_the_newest(nvrtc: Any) -> None:
    functions = all_functions()
    assert_complete(compiled(nvrtc, source(*functions), newest(nvrtc)), functions)


def assert_complete(binary: bytes, functions: list[tuple[Kernel, str]]) -> None:
    assert binary[:4] == b"\x7fELF"
    missing = [kernel.symbol(letters) for kernel, letters in functions if kernel.symbol(letters).encode() not in binary]
    assert not missing, f"not in the compiled code: {missing}"


def test_one_kernel_alone_compiles_as_cupy_gets_it(nvrtc: Any) -> None:
    kernel = KERNELS["softmax"]
    assert b"mpigrad_softmax_e" in compiled(nvrtc, source((kernel, "e")), "sm_80")


def test_a_mistake_is_found(nvrtc: Any) -> None:
    with pytest.raises(AssertionError, match="undefined"):
        compiled(nvrtc, source() + 'extern "C" __global__ void f(float* x) { x[0] = nothing; }', "sm_80")
