"""Tests take their worlds from `tests.support`, which gives them the device maps that other devices than the CPU need."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
PLAIN = "rpc._world.in_process import"


def test_workers_in_memory_can_send_tensors_of_the_device_of_the_tests() -> None:
    users = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py") if PLAIN in path.read_text()}
    assert users == {"support/in_memory.py", "harness/test_worlds.py", "attack/frames.py"}  # the last has no tensors of GPUs
