"""The process group of tests of domain decomposition."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

import mpigrad.distributed as dist


@pytest.fixture
def group(world) -> Iterator[object]:
    dist.init_process_group(timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()
