"""CUDA C++ through g++: threads of a block that wait for each other, warps, atomics, limits."""

from __future__ import annotations

import subprocess
import sys

import cupy
import numpy as np
import pytest


def launch(source: str, name: str, block: int, *arguments: object, grid: int = 1, shared: int = 0) -> None:
    cupy.RawKernel(source, name)((grid,), (block,), arguments, shared_mem=shared)


def test_shared_memory_and_barriers():
    source = """extern "C" __global__ void scan(const float *x, float *y) {
      extern __shared__ float tile[];
      int t = threadIdx.x;
      tile[t] = x[blockIdx.x * blockDim.x + t];
      for (int step = 1; step < blockDim.x; step *= 2) {
        __syncthreads();
        float before = t >= step ? tile[t - step] : 0;
        __syncthreads();
        tile[t] += before;
      }
      y[blockIdx.x * blockDim.x + t] = tile[t]; }"""
    values = np.random.default_rng(0).standard_normal((3, 100)).astype("f")
    result = cupy.empty((3, 100), "f")
    launch(source, "scan", 100, cupy.asarray(values), result, grid=3, shared=400)
    np.testing.assert_allclose(result.get(), values.cumsum(1), rtol=1e-4, atol=1e-5)


def test_threads_that_left_are_not_waited_for():
    source = """extern "C" __global__ void early(int *y) {
      __shared__ int sum;
      if (threadIdx.x == 0) sum = 0;
      if (threadIdx.x >= 40) return;
      __syncthreads();
      atomicAdd(&sum, 1);
      __syncthreads();
      y[threadIdx.x] = sum; }"""
    result = cupy.zeros(64, "i")
    launch(source, "early", 64, result)
    assert result.get().tolist() == [40] * 40 + [0] * 24


def test_warp_exchanges():
    source = """extern "C" __global__ void warp(int *y) {
      int t = threadIdx.x, full = 0xffffffff;
      y[t] = __shfl_xor_sync(full, t, 5);
      y[64 + t] = __shfl_up_sync(full, t, 3);
      y[128 + t] = __shfl_down_sync(full, t, 3, 8);
      y[192 + t] = __shfl_sync(full, t, 7);
      y[256 + t] = __popc(__ballot_sync(full, t % 3 == 0));
      y[320 + t] = __any_sync(full, t == 33) + 10 * __all_sync(full, t < 32); }"""
    result = cupy.empty((6, 64), "i")
    launch(source, "warp", 64, result)
    t = np.arange(64)
    lane, base = t % 32, t // 32 * 32
    up = np.where(lane < 3, t, t - 3)
    down = np.where(t % 8 + 3 >= 8, t, t + 3)
    votes = np.full(64, 11)
    flags = np.where(t < 32, 10, 1)
    np.testing.assert_array_equal(result.get(), [base + (lane ^ 5), up, down, base + 7, votes, flags])


def test_syncthreads_count():
    source = """extern "C" __global__ void count(int *y) {
      for (int i = 0; i < 5; i++) y[i * 48 + threadIdx.x] = __syncthreads_count(threadIdx.x > 10 * i); }"""
    result = cupy.empty((5, 48), "i")
    launch(source, "count", 48, result)
    assert [set(row) for row in result.get().tolist()] == [{47}, {37}, {27}, {17}, {7}]


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f2", "f4", "f8"])
def test_scatter_add(dtype):
    target = cupy.zeros(3, dtype)
    cupy.add.at(target, cupy.array([0, 2, 0, 0, 2]), cupy.array([1, 2, 3, 4, 5], dtype))
    assert target.get().tolist() == [8, 0, 7]


def test_templates_by_name():
    source = "template <class T, int n> __global__ void times(T *x) { x[threadIdx.x] *= n; }"
    module = cupy.RawModule(code=source, name_expressions=["times<float, 3>", "times<long long, 5>"])
    real, whole = cupy.ones(4, "f"), cupy.ones(4, "q")
    module.get_function("times<float, 3>")((1,), (4,), (real,))
    module.get_function("times<long long, 5>")((1,), (4,), (whole,))
    assert real.get().tolist() == [3] * 4
    assert whole.get().tolist() == [5] * 4


def test_kernels_of_one_name_stay_apart():
    kernels = [cupy.RawKernel(f'extern "C" __global__ void same(int *x) {{ *x = {i}; }}', "same") for i in range(3)]
    results = [cupy.zeros(1, "i") for _ in kernels]
    for kernel, result in zip(kernels, results):
        kernel((1,), (1,), (result,))
    assert [result.item() for result in results] == [0, 1, 2]


def test_half_precision_rounds_as_numpy():
    values = np.random.default_rng(1).standard_normal(1000).astype("e")
    other = np.roll(values, 1)
    here, there = cupy.asarray(values), cupy.asarray(other)
    np.testing.assert_array_equal((here + there).get(), values + other)
    np.testing.assert_array_equal((here * there).get(), values * other)
    np.testing.assert_array_equal(here.astype("f").get(), values.astype("f"))


@pytest.mark.parametrize("block", [(1025, 1, 1), (32, 33, 1), (1, 1, 65)])
def test_blocks_too_large(block):
    kernel = cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")
    with pytest.raises(cupy.cuda.driver.CUDADriverError, match="INVALID_VALUE"):
        kernel((1,), block, ())


def test_too_much_shared_memory():
    kernel = cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")
    with pytest.raises(cupy.cuda.driver.CUDADriverError, match="INVALID_VALUE"):
        kernel((1,), (1,), (), shared_mem=49153)
    kernel.max_dynamic_shared_size_bytes = 65536
    kernel((1,), (1,), (), shared_mem=65536)


def test_compiler_messages_reach_the_user():
    kernel = cupy.RawKernel('extern "C" __global__ void broken() { undeclared = 1; }', "broken")
    with pytest.raises(cupy.cuda.compiler.CompileException, match="undeclared"):
        kernel((1,), (1,), ())


DIES = {
    "assertion": ("assert(threadIdx.x < 2);", "assertion failed: threadIdx.x < 2"),
    "divergence": ("if (threadIdx.x) __syncthreads(); else __syncwarp();", "wait at different barriers"),
}


@pytest.mark.parametrize("what", DIES)
def test_failing_kernels_end_the_device(what):
    body, message = DIES[what]
    program = f"""
import cupy
kernel = cupy.RawKernel('extern "C" __global__ void dies() {{ {body} }}', 'dies')
kernel((1,), (4,), ())
try: cupy.cuda.Device().synchronize()
except cupy.cuda.runtime.CUDARuntimeError as error: print(error)
try: cupy.zeros(1) + 1
except Exception as error: print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("cudaErrorAssert")
    assert len(done.stdout.splitlines()) == 2
    assert message.replace("threadIdx", "cpucuda_threadIdx") in done.stderr or message in done.stderr
