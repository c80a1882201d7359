"""Fixtures and rules for all tests: deadlines, leaked threads, joint verdicts of the ranks, worlds, runs of Python."""

from __future__ import annotations

import functools
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpigrad import _compiled
from mpigrad.testing import World
from mpigrad.testing._ranks.channel import Channel
from mpigrad.testing._ranks.deadline import DEFAULT_SECONDS
from mpigrad.testing._ranks.session import NAME, RankSession, with_rpc
from tests.support import device
from tests.support.commands import run_python
from tests.support.threads import describe, leaked_threads


def pytest_addoption(parser: pytest.Parser) -> None:
    device.add_option(parser)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """In a run on ranks (`-m "mpi and ..."`), do not import test files without tests on ranks: every rank would import them."""
    if collection_path.suffix == ".py" and config.getoption("markexpr").startswith("mpi"):
        return True if "mark.mpi" not in collection_path.read_text() else None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    device.deselect(config, items)


def _runs_on_ranks(config: pytest.Config) -> bool:
    return bool(config.getoption("--with-mpi") or config.getoption("--only-mpi"))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    device.use(config.getoption("--device"))
    _refuse_old_modules()
    channel = Channel() if _runs_on_ranks(config) else None
    config.pluginmanager.register(RankSession(channel, _seconds), NAME)


def _seconds(item: pytest.Item) -> float:
    mark = item.get_closest_marker("deadline")
    return device.patience(item.config.getoption("--device")) * (float(mark.args[0]) if mark else DEFAULT_SECONDS)


def _refuse_old_modules() -> None:
    """Stop if a compiled module is older than its source in this checkout, as the tests would test old code.

    Not for an installed package: times of its files say nothing.
    """
    here = Path(_compiled.__file__).parents[1] == Path(__file__).parents[1]
    if here and _compiled.wanted() is not False and (old := _compiled.stale()):
        raise pytest.UsageError(f"{', '.join(old)} changed after compilation: `make compile`, or set MPIGRAD_COMPILED=0")


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    leaked = leaked_threads(before)
    if leaked:
        pytest.fail(describe(leaked), pytrace=False)


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python with arguments, in an empty directory."""
    return functools.partial(run_python, tmp_path)


@pytest.fixture
def world(request: pytest.FixtureRequest) -> World:
    """The ranks, without RPC."""
    return request.config.pluginmanager.get_plugin(NAME).world()


@pytest.fixture
def rpc_world(request: pytest.FixtureRequest, world: World) -> Iterator[World]:
    """The ranks, with RPC between workers called worker0, worker1, ...; shut down gracefully afterwards."""
    mark = request.node.get_closest_marker("rpc")
    yield from with_rpc(world, **device.rpc_arguments(world, mark.kwargs if mark is not None else {}))
