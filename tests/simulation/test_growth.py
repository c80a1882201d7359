"""How the costs of the real protocols grow with the number of workers.

The costs of each worker must not grow; the critical path may grow logarithmically.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator

import pytest

from benchmarks.scaling.simulate import simulate

SIZES = (16, 64, 256)
BUSIEST = 170  # messages of one worker: four for each of at most 32 children in a tree, and a few; 512 if all of 256 asked it
TREES = {  # phase -> messages on the critical path for each doubling of the workers, and messages for each worker
    "call to a group": (4.5, 2.7),
    "group: forward": (4.5, 2.7),
    "group: backward": (4.5, 2.1),
    "group: release": (4.5, 2.1),
    "nested calls: forward": (3.5, 2.1),
    "nested calls: backward": (12.0, 11.0),
    "nested calls: release": (2.5, 2.1),
    "an RRef to all workers": (5.0, 4.1),
    "shutdown": (15.0, 13.0),
    "loss of a worker": (9.0, 5.1),
    "shutdown after a loss": (17.0, 30.0),  # four for each doubling: neighbours without the tree
}


@pytest.fixture(scope="module")
def phases() -> Iterator[dict[int, dict[str, dict[str, float]]]]:
    yield {size: {each["name"]: each for each in simulate(size)} for size in SIZES}


@pytest.mark.parametrize("name", TREES)
def test_the_critical_path_is_logarithmic(phases: dict[int, dict[str, dict[str, float]]], name: str) -> None:
    slope, each = TREES[name]
    for size in SIZES:
        found = phases[size][name]
        assert found["sequential"] <= slope * math.log2(size), (size, found)
        assert found["messages"] <= each * size, (size, found)
        assert found["busiest"] <= BUSIEST, (size, found)


def test_calls_from_one_worker_are_not(phases: dict[int, dict[str, dict[str, float]]]) -> None:
    """A check of the test above: a program with linear costs is measured as linear, so that test can fail."""
    for size in SIZES:
        assert phases[size]["calls from one worker to each"]["sequential"] >= size


def test_memory_for_each_worker() -> None:
    """An agent with its call table, RRefs and contexts takes a few kilobytes, and a phase leaves nothing behind."""
    tracemalloc.start()
    try:
        phases = {each["name"]: each for each in simulate(64, memory=True)}
    finally:
        tracemalloc.stop()
    assert 1_000 < phases["start"]["memory"] < 60_000
    assert phases["nested calls: forward"]["memory"] > 500  # the recorded graph
    kept = [phases[f"nested calls: {step}"]["memory"] for step in ("forward", "backward", "release")]
    assert sum(kept) < 1_500, kept
