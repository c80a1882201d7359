"""Compiled kernels are shared: the first process compiles, and no process sees half a file."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from cpucuda import compiler

SOURCES = {
    'extern "C" __global__ void f(int *x) {}': ["f"],
    'extern "C" __global__\nvoid __launch_bounds__(64, 2) g(int *x) {}': ["g"],
    "__global__ __launch_bounds__(64) void h(const CArray<float, 1, 1, 1> x) {}": ["h"],
    "template <class T, int n>\n__global__ void t(T *x) {} __global__ void u() {}": ["u"],
    "__device__ int helper(int x) { return x; }": [],
}


@pytest.mark.parametrize("source", SOURCES)
def test_kernel_names(source):
    assert compiler.kernel_names(source) == SOURCES[source]


def test_dynamic_shared_memory_becomes_a_pointer():
    code = compiler.translate("__global__ void f() { extern __shared__ __align__(16) char raw[]; __syncthreads(); }", {})
    assert "char *raw = (char *)cpucuda_dynamic_shared;" in code
    assert "CPUCUDA_EXPORT(f, 1, f)" in code


def test_options_for_nvrtc_are_left_out():
    assert compiler.wanted_options(("-DN=3", "-ftz=true", "--std=c++17", "-I/some/where", "-I/x/_cccl/cub")) == (
        "-DN=3",
        "-I/some/where",
    )


def test_processes_compile_once(tmp_path):
    program = """
import cupy
from cpucuda import compiler
build, built = compiler.build, []
compiler.build = lambda *arguments: built.append(build(*arguments))
x = cupy.zeros(2, 'i')
cupy.RawKernel('extern "C" __global__ void one(int *x) { x[threadIdx.x] = 1; }', 'one')((1,), (2,), (x,))
print(len(built), x.get().tolist())
"""
    environment = os.environ | {"CPUCUDA_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)]
    answers = sorted(process.communicate(timeout=120)[0] for process in processes)
    assert answers == ["0 [1, 1]\n", "0 [1, 1]\n", "1 [1, 1]\n"]
    assert len(list(tmp_path.glob("*.so"))) == 1
    assert not list(tmp_path.glob("*.tmp"))
