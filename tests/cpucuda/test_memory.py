"""Access to device memory from the host or from another device raises an error."""

from __future__ import annotations

import subprocess
import sys

import cupy
import numpy as np
import pytest


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    command = [sys.executable, "-c", "import cupy, ctypes, numpy\n" + program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | environment)


@pytest.mark.parametrize("access", ["ctypes.string_at(a.data.ptr, 8)", "ctypes.memset(a.data.ptr, 0, 8)"])
def test_host_access_is_caught(access):
    done = run(f"a = cupy.arange(3.0); a.get(); print('so far', flush=True); {access}; print('not here')")
    assert done.stdout == "so far\n"
    assert done.returncode < 0
    assert "cpucuda: the host touched the address 0x" in done.stderr
    assert "of device 0" in done.stderr


def test_python_says_where():
    done = run("import faulthandler; faulthandler.enable(); a = cupy.zeros(3); ctypes.string_at(a.data.ptr, 8)")
    assert "the host touched the address" in done.stderr
    assert "Fatal Python error: Segmentation fault" in done.stderr


def test_kernel_may_not_touch_another_device():
    program = """
a = cupy.zeros(3)
with cupy.cuda.Device(1):
    kernel = cupy.RawKernel('extern "C" __global__ void poke(double *x) { x[0] = 1; }', 'poke')
    kernel((1,), (1,), (numpy.intp(a.data.ptr),))
    cupy.cuda.Device(1).synchronize()
"""
    done = run(program)
    assert done.returncode < 0
    assert "cpucuda: 'poke', running on device 1, touched the address 0x" in done.stderr
    assert "of device 0" in done.stderr


def test_arrays_of_two_devices_do_not_mix():
    with cupy.cuda.Device(0):
        here = cupy.zeros(3)
    with cupy.cuda.Device(1), pytest.raises(ValueError, match="device"):
        here + 1


def test_peer_access_on_demand():
    program = """
with cupy.cuda.Device(0): a = cupy.arange(3.0)
cupy.cuda.Device(0).synchronize()
with cupy.cuda.Device(1): print((a + 1).get().tolist())
"""
    assert run(program, CPUCUDA_PEER="1").stdout == "[1.0, 2.0, 3.0]\n"


def test_fresh_memory_is_poisoned():
    pool = cupy.cuda.MemoryPool()
    memory = pool.malloc(8 * 10)
    values = cupy.ndarray(10, "d", memory)
    assert np.isnan(values.get()).all()


def test_full_device_and_statistics():
    program = """
total = cupy.cuda.runtime.memGetInfo()[1]
try: cupy.empty(total + 1, 'b')
except cupy.cuda.memory.OutOfMemoryError: print('full')
pool = cupy.get_default_memory_pool()
a = cupy.empty(1 << 20, 'b'); print(pool.used_bytes(), total - cupy.cuda.runtime.memGetInfo()[0])
del a; pool.free_all_blocks(); print(pool.total_bytes(), total - cupy.cuda.runtime.memGetInfo()[0])
"""
    done = run(program, CPUCUDA_MEMORY=str(64 << 20))
    assert done.stdout.split() == ["full", str(1 << 20), str(1 << 20), "0", "0"], done.stderr


def test_copies_stay_within_their_allocations():
    values = cupy.zeros(4)
    free = cupy.get_default_memory_pool()
    free.free_all_blocks()
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="InvalidValue"):
        cupy.cuda.runtime.memcpy(values.data.ptr, np.zeros(1 << 20).ctypes.data, 8 << 20, 1)


def test_kind_of_a_pointer():
    runtime = cupy.cuda.runtime
    with cupy.cuda.Device(1):
        device = runtime.pointerGetAttributes(cupy.zeros(1).data.ptr)
    host = cupy.cuda.alloc_pinned_memory(8)
    assert (device.type, device.device) == (runtime.memoryTypeDevice, 1)
    assert runtime.pointerGetAttributes(host.ptr).type == runtime.memoryTypeHost
    assert runtime.pointerGetAttributes(np.zeros(1).ctypes.data).type == runtime.memoryTypeUnregistered


@pytest.mark.parametrize("devices", [1, 3])
def test_number_of_devices(devices):
    done = run("print(cupy.cuda.runtime.getDeviceCount())", CPUCUDA_DEVICES=str(devices))
    assert done.stdout == f"{devices}\n"


def test_host_may_look_when_asked():
    program = """
library = ctypes.CDLL('libcpucuda.so')
a = cupy.full(1, 2.0); cupy.cuda.Device().synchronize()
library.cpucuda_host_may_look(1)
print(ctypes.c_double.from_address(a.data.ptr).value, flush=True)
library.cpucuda_host_may_look(0)
ctypes.string_at(a.data.ptr, 1)
"""
    done = run(program)
    assert done.stdout == "2.0\n"
    assert "the host touched" in done.stderr
