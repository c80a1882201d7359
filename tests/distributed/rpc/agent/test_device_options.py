"""Device options without a GPU: what can be said of maps, ways of transfer, tables and binding on any machine."""

from __future__ import annotations

import fcntl
import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.rpc as rpc
from mpigrad._array.device import CPU, device
from mpigrad._core.rpc.payload import MOVING, TENSOR, describe_moving, parse, take
from mpigrad.distributed._gpu import binding, claims, detection
from mpigrad.distributed._gpu.transfers import checked_way, pieces
from mpigrad.distributed.rpc._agent.device_maps import Profile, Route, check_profiles, devices_in_use, reverse_maps
from mpigrad.distributed.rpc._transport.device.transfers import aligned, entry, read_entry

CUDA = [device("cuda", index) for index in range(4)]


def test_maps_are_devices_however_they_are_written() -> None:
    options = rpc.TensorPipeRpcBackendOptions(device_maps={"a": {0: "cuda:1", "cpu": device("cuda:0")}}, devices=[0, "cuda:1"])
    assert options.device_maps == {"a": {CUDA[0]: CUDA[1], CPU: CUDA[0]}}
    assert options.devices == CUDA[:2]
    options.set_device_map("a", {1: 2})
    options.set_device_map("b", {"cuda:0": "cuda:0"})
    options.set_devices(["cuda:3"])
    assert options.device_maps == {"a": {CUDA[0]: CUDA[1], CPU: CUDA[0], CUDA[1]: CUDA[2]}, "b": {CUDA[0]: CUDA[0]}}
    assert options.devices == [CUDA[3]]


def test_maps_name_each_target_once() -> None:
    with pytest.raises(ValueError, match="`device_map` only supports 1-to-1 mapping, trying to map cuda:1 and cuda:0 to cuda:1"):
        rpc.MPIRpcBackendOptions(device_maps={"a": {0: 1, 1: 1}})
    options = rpc.MPIRpcBackendOptions(device_maps={"a": {0: 1}})
    options.set_device_map("a", {0: 1})
    text = "`set_device_map` only supports 1-to-1 mapping, trying to map cuda:0 to cuda:0 and cuda:1"
    with pytest.raises(ValueError, match=text):
        options.set_device_map("a", {0: 0})


def test_devices_are_gpus() -> None:
    with pytest.raises(ValueError, match="`set_devices` expect a list of CUDA devices, but got device type cpu."):
        rpc.MPIRpcBackendOptions(devices=["cpu"])


def test_the_way_of_transfer_is_an_option_with_a_safe_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MPIGRAD_DEVICE_TRANSFERS", raising=False)
    assert rpc.MPIRpcBackendOptions().device_transfers == "staged"
    monkeypatch.setenv("MPIGRAD_DEVICE_TRANSFERS", "cuda_aware")
    assert rpc.MPIRpcBackendOptions().device_transfers == "cuda_aware"
    assert rpc.MPIRpcBackendOptions(device_transfers="detect").device_transfers == "detect"
    monkeypatch.setenv("MPIGRAD_DEVICE_TRANSFERS", "teleport")
    text = "MPIGRAD_DEVICE_TRANSFERS must be one of 'staged', 'cuda_aware', 'detect', got 'teleport'"
    with pytest.raises(ValueError, match=text):
        checked_way(None)
    with pytest.raises(ValueError, match="device_transfers must be one of"):
        rpc.MPIRpcBackendOptions(device_transfers="fast")


def profiles(**maps: Any) -> dict[str, Profile]:
    made = {"a": Profile(2, [], {}), "b": Profile(2, [], {})}
    for name, given in maps.items():
        made[name] = Profile(2, [], rpc.MPIRpcBackendOptions(device_maps=given).device_maps, ["x", "y"])
    return made


def test_profiles_travel() -> None:
    sent = Profile(2, CUDA[:1], {"b": {CUDA[0]: CPU}}, ["x"])
    assert Profile.decode(sent.encode()) == sent
    assert not Profile.decode(b"") and Profile.decode(b"").available == 0


WRONG = [
    (profiles(a={"b": {0: 2}}), "Node a has target devices with invalid indices in its device map for b"),
    (profiles(a={"b": {2: 0}}), "Node a has source devices with invalid indices in its device map for b"),
    (profiles(a={"c": {0: 0}}), "Node a has invalid target node names in its device maps"),
    ({"a": Profile(2, [CUDA[0]] * 2, {})}, "Node a has duplicated devices"),
    ({"a": Profile(2, [CUDA[2]], {})}, "Node a has devices with invalid indices"),
    ({"a": Profile(2, [CUDA[1]], {"a": {CUDA[0]: CUDA[1]}})}, "Node a has unexpected source devices in its device map for a"),
    ({"a": Profile(2, [CUDA[1]], {"a": {CUDA[1]: CUDA[0]}})}, "Node a has unexpected target devices in its device map for a"),
    ({"a": Profile(2, [], {"a": {CUDA[0]: CUDA[1], CUDA[1]: CUDA[1]}})}, "Node a has duplicated target devices in its"),
]


@pytest.mark.parametrize("given, text", WRONG, ids=[text for _, text in WRONG])
def test_maps_that_cannot_be(given: dict[str, Profile], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        check_profiles(given)


def test_maps_that_can() -> None:
    check_profiles(profiles(a={"b": {0: 1, "cpu": "cpu"}}, b={"a": {1: 1, 0: "cpu"}, "b": {0: 1}}))
    later = profiles(a={"later": {0: 0}})
    check_profiles(later, static=False)
    with pytest.raises(ValueError, match="Node a has invalid target node names in its device maps"):
        check_profiles(later)


def test_answers_take_the_way_back() -> None:
    known = profiles(a={"b": {0: 1}, "a": {1: 0}}, b={"a": {0: 0}})
    assert reverse_maps("b", known) == {"a": {CUDA[1]: CUDA[0]}}
    assert reverse_maps("a", known) == {"a": {CUDA[0]: CUDA[1]}, "b": {CUDA[0]: CUDA[0]}}
    assert devices_in_use(known["b"], reverse_maps("b", known)) == CUDA[:2]
    assert devices_in_use(Profile(2, [CUDA[1], CUDA[0]], {}), {}) == CUDA[:2]
    assert devices_in_use(Profile(2, [], {"a": {CPU: CUDA[0]}}), {}) == []


def test_tensors_without_a_way() -> None:
    route = Route("Request", "b", {})
    assert route.target(CPU) is CPU
    text = "Request device mapping is not available for destination b, but found tensor on device: cuda:0"
    with pytest.raises(RuntimeError, match=text):
        route.target(CUDA[0])
    route = Route("Response", "b", {CUDA[1]: CUDA[0]})
    assert route.target(CUDA[1]) == CUDA[0]
    text = "Response device mapping is not available for destination b for device cuda:0 but received"
    with pytest.raises(RuntimeError, match=text):
        route.target(CUDA[0])


def test_entries_of_the_table() -> None:
    for size in (0, 1, 5 << 40):
        for place in (CPU, CUDA[0], device("cuda:15")):
            assert read_entry(entry(size, place)) == (size, place, 1 << 22)
    for wrong in (1 << 46, 22 << 56, 1 << 63):
        with pytest.raises(ValueError, match="is not a device transfer"):
            read_entry(wrong)


def test_pieces_cover_a_transfer() -> None:
    assert pieces(0, 4) == []
    assert pieces(4, 4) == [(0, 4)]
    assert pieces(9, 4) == [(0, 4), (4, 8), (8, 9)]
    assert [aligned(size) for size in (0, 1, 256, 257)] == [0, 256, 256, 512]


def test_layouts_that_lie_are_errors() -> None:
    import numpy as np

    text = describe_moving(TENSOR, np.zeros((2, 3), np.float32), CUDA[0], CPU, 0, 256)
    ((kind, kind_of_elements, moving, nbytes),) = parse(text)
    assert (kind, kind_of_elements, nbytes) == (TENSOR + MOVING, np.dtype("f4"), 24)
    assert moving == ((2, 3), CUDA[0], CPU, 0, 256)
    values, tensors = take(parse(text), b"", 0, [np.zeros(280, np.uint8)], ())
    assert tensors[0].shape == (2, 3) and tensors.origins == {0: CUDA[0]}
    for followed in ([], [np.zeros(279, np.uint8)]):
        with pytest.raises(ValueError, match="arrived without its bytes"):
            take(parse(text), b"", 0, followed, ())
    with pytest.raises(RuntimeError, match="came to a worker that does not use it"):
        take(parse(describe_moving(TENSOR, np.zeros(2), CPU, CUDA[0], 0, 0)), b"", 0, [np.zeros(16, np.uint8)], ())
    with pytest.raises(ValueError, match="malformed message"):
        parse(text[:-1])


# -- which GPU -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"])
def test_the_number_on_the_host_comes_from_the_launcher(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    from mpigrad._process.rank import LOCAL_RANK_VARIABLES

    for each in LOCAL_RANK_VARIABLES:
        monkeypatch.delenv(each, raising=False)
    with pytest.raises(RuntimeError, match="LOCAL_RANK is not in the environment"):
        dist.get_node_local_rank()
    assert dist.get_node_local_rank(7) == 7
    monkeypatch.setenv(name, "3")
    assert dist.get_node_local_rank() == 3


class Runtime:
    """As much of CuPy as binding uses."""

    chosen: list[int] = []

    class cuda:
        class runtime:
            @staticmethod
            def setDevice(index: int) -> None:
                Runtime.chosen.append(index)


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(binding, "device_count", lambda: 2)
    monkeypatch.setattr(binding, "cupy", lambda: Runtime)
    monkeypatch.setattr(binding.Bound, "place", None)
    monkeypatch.setattr(Runtime, "chosen", [])
    monkeypatch.delenv("MPIGRAD_BIND_DEVICE", raising=False)
    return Runtime.chosen


def test_each_rank_gets_its_gpu_and_shared_ones_are_told_of(
    two_gpus: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(binding, "local_size", lambda: 2)
    with caplog.at_level(logging.WARNING):
        assert [dist.bind_device(number) for number in (0, 1)] == CUDA[:2]
        assert not caplog.records
        monkeypatch.setattr(binding, "local_size", lambda: 3)
        assert dist.bind_device(2) == CUDA[0]
    assert "3 processes share 2 GPU(s)" in caplog.text
    assert Runtime.chosen == [0, 1, 0]


def test_binding_is_asked_for(two_gpus: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "local_rank", lambda: 1)
    binding.bind_if_asked()
    assert Runtime.chosen == []
    monkeypatch.setenv("MPIGRAD_BIND_DEVICE", "1")
    binding.bind_if_asked()
    binding.bind_if_asked()
    assert Runtime.chosen == [1] and binding.Bound.place == CUDA[1]
    monkeypatch.setenv("MPIGRAD_BIND_DEVICE", "perhaps")
    with pytest.raises(ValueError, match="MPIGRAD_BIND_DEVICE must be 0 or 1, got 'perhaps'"):
        binding.asked_for()


def test_without_a_launcher_the_number_must_be_given(two_gpus: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "local_rank", lambda: None)
    with pytest.raises(RuntimeError, match="the local rank of this process is unknown"):
        dist.bind_device()


def test_workers_that_share_a_gpu(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert binding.warn_of_sharing([("a", "1 of x"), ("b", "2 of x"), ("c", "1 of y")]) == []
        assert not caplog.records
        assert binding.warn_of_sharing([("a", "1 of x"), ("b", "1 of x")]) == ["GPU 1 of x is used by a, b"]
    assert "several workers share a GPU" in caplog.text


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Path]:
    """A folder for the locks of GPUs that are called after their index."""
    held: dict[int, int | None] = {}
    monkeypatch.setattr(claims, "_held", held)
    monkeypatch.setattr(claims, "identity", lambda index: f"0000:0{index}:00")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with caplog.at_level(logging.WARNING):
        yield tmp_path
    for file in held.values():
        if file is not None:
            os.close(file)


def test_a_gpu_that_another_process_uses(locks: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open(locks / f"mpigrad-gpu-{os.getuid()}-0000.01.00", "w") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        claims.claim(CUDA[0])
        assert not caplog.records
        for _ in range(3):
            claims.claim(CUDA[1])
        (told,) = caplog.messages
        assert told.startswith("another process on this host uses the GPU of cuda:1, too")
    with open(locks / f"mpigrad-gpu-{os.getuid()}-0000.00.00") as late, pytest.raises(BlockingIOError):
        fcntl.flock(late, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_no_place_for_the_locks_of_gpus(locks: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(locks / "missing"))
    for _ in range(2):
        claims.claim(CUDA[2])
    (told,) = caplog.messages
    assert told.startswith("cannot tell whether other processes on this host use the GPU of cuda:2: ")


# -- detection -----------------------------------------------------------------------------------------------------------
@pytest.fixture
def fresh() -> Any:
    detection.detect.cache_clear()
    yield
    detection.detect.cache_clear()


def test_detection_never_raises_and_says_why(fresh: None) -> None:
    verdict = detection.detect()
    assert verdict.why
    assert verdict.works is False or mpigrad.cuda.is_available()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("raise SystemExit('no MPI here')", "failed with code 1: no MPI here"),
        ("import time; time.sleep(30)", "no answer within 1 s"),
    ],
)
def test_whatever_happens_in_the_trial(
    fresh: None, monkeypatch: pytest.MonkeyPatch, program: str, words: str
) -> None:
    monkeypatch.setattr(detection, "_CHILD", program)
    verdict = detection.detect(1.0 if "sleep" in program else 30.0)
    assert not verdict.works and words in verdict.why


def test_the_trial_is_no_rank_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OMPI_MCA_btl", "self")
    kept = detection.without_launcher(os.environ)
    assert not {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"} & set(kept)
    assert kept["OMPI_MCA_btl"] == "self" and "PATH" in kept
