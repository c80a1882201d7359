"""What `mpigrad.cuda` says where there is no GPU: PyTorch's answers and errors, and nothing else breaks."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
from mpigrad import cuda
from mpigrad._array import device

pytestmark = pytest.mark.host


@pytest.fixture(autouse=True, params=["no CuPy", "no GPU"])
def nothing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A machine without CuPy, or with CuPy and no device."""

    def cupy() -> Any:
        if request.param == "no CuPy":
            raise device.NoCudaError("mpigrad not compiled with CUDA enabled: ...")
        raise RuntimeError("No CUDA GPUs are available: ...")

    monkeypatch.setattr(device, "cupy", cupy)
    monkeypatch.setattr(device, "is_loaded", lambda: False)
    return request.param


def test_questions_are_answered() -> None:
    assert cuda.is_available() is False and cuda.device_count() == 0 and cuda.is_initialized() is False
    assert cuda.memory_allocated() == cuda.max_memory_allocated() == cuda.memory_reserved() == 0
    assert cuda.memory_stats() == cuda.memory_stats_as_nested_dict() == {}
    assert cuda.get_arch_list() == [] and cuda.get_rng_state_all() == []
    assert cuda.empty_cache() is None and cuda.manual_seed(1) is None and cuda.manual_seed_all(1) is None
    with cuda.stream(None), cuda.device(-1):
        assert mpigrad.ones(2).is_pinned() is False and mpigrad.ones(2).get_device() == -1


CALLS: dict[str, Any] = {
    "zeros": lambda: mpigrad.zeros(2, device="cuda"),
    "index": lambda: mpigrad.zeros(2, device=1),
    "cuda": lambda: mpigrad.zeros(2).cuda(),
    "to": lambda: mpigrad.zeros(2).to("cuda:1"),
    "module": lambda: mpigrad.nn.Linear(2, 2).cuda(),
    "generator": lambda: mpigrad.Generator("cuda"),
    "current device": cuda.current_device,
    "synchronize": cuda.synchronize,
    "stream": cuda.Stream,
    "event": cuda.Event,
    "current stream": cuda.current_stream,
    "name": cuda.get_device_name,
    "init": cuda.init,
}


@pytest.mark.parametrize("name", CALLS)
def test_using_one_says_what_is_missing(name: str, nothing: str) -> None:
    expected = "mpigrad not compiled with CUDA enabled" if nothing == "no CuPy" else "No CUDA GPUs are available"
    with pytest.raises(RuntimeError, match=expected) as caught:
        CALLS[name]()
    assert isinstance(caught.value, AssertionError) == (nothing == "no CuPy")


def test_profilers_have_nothing_to_see() -> None:
    for call in (lambda: cuda.nvtx.range_push("x"), cuda.nvtx.range_pop, lambda: cuda.nvtx.mark("x")):
        with pytest.raises(RuntimeError, match="NVTX functions not installed. Are you sure you have a CUDA build?"):
            call()


def test_pinning_needs_a_gpu() -> None:
    for call in (lambda: mpigrad.zeros(2).pin_memory(), lambda: mpigrad.zeros(2, pin_memory=True)):
        with pytest.raises(RuntimeError, match="pin_memory=True requires a CUDA or other accelerator backend"):
            call()


def test_the_default_device_is_checked_when_it_is_used() -> None:
    with mpigrad.device("cuda"), pytest.raises(RuntimeError):
        mpigrad.zeros(2)
    assert mpigrad.zeros(2).device == mpigrad.get_default_device() == mpigrad.device("cpu")


def test_names_of_devices() -> None:
    assert mpigrad.device("cuda", 1) == mpigrad.device("cuda:1") == mpigrad.device(1) != mpigrad.device("cuda")
    for wrong in ("cuda:-1", "cuda:01", "cuda:x"):
        with pytest.raises(RuntimeError, match="Invalid device string"):
            mpigrad.device(wrong)
    with pytest.raises(RuntimeError, match="Device string must not be empty"):
        mpigrad.device("")
    with pytest.raises(RuntimeError, match="Device index must not be negative"):
        mpigrad.device("cuda", -1)
