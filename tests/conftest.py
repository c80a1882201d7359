"""Fixtures and rules for all tests: deadlines, leaked threads, joint verdicts of the ranks, worlds, runs of Python."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mpigrad import _compiled
from tests.support import device
from tests.support.channel import Channel
from tests.support.commands import run_python
from tests.support.deadline import DEFAULT_SECONDS, Deadline
from tests.support.threads import describe, leaked_threads
from tests.support.verdicts import JointVerdicts
from tests.support.world import World

DEADLINE = pytest.StashKey[Deadline]()
CHANNEL = pytest.StashKey[Channel]()
VERDICTS = pytest.StashKey[JointVerdicts]()


def pytest_addoption(parser: pytest.Parser) -> None:
    device.add_option(parser)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    device.deselect(config, items)


def _runs_on_ranks(config: pytest.Config) -> bool:
    return bool(config.getoption("--with-mpi") or config.getoption("--only-mpi"))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    device.use(config.getoption("--device"))
    _refuse_old_modules()
    channel = Channel() if _runs_on_ranks(config) else None
    deadline = Deadline(channel.rank if channel else 0, os.dup(2))
    config.stash[DEADLINE] = deadline
    if channel is not None:
        verdicts = JointVerdicts(channel, deadline)
        config.stash[CHANNEL], config.stash[VERDICTS] = channel, verdicts
        config.pluginmanager.register(verdicts, "joint-verdicts")
        _own_directory(config, channel.rank)
        if channel.rank != 0:
            _silence(config)


def _refuse_old_modules() -> None:
    """What runs must be what the files say."""
    if _compiled.wanted() is not False and (old := _compiled.stale()):
        raise pytest.UsageError(f"{', '.join(old)} changed after compilation: `make compile`, or set MPIGRAD_COMPILED=0")


def _own_directory(config: pytest.Config, rank: int) -> None:
    """Temporary files of each rank in a directory of its own: pytest would clean one that all share, under the others' feet."""
    made = tempfile.mkdtemp(prefix=f"mpigrad-tests-rank{rank}-")
    config.add_cleanup(lambda: shutil.rmtree(made, ignore_errors=True))
    config._tmp_path_factory._given_basetemp = Path(made)  # type: ignore[attr-defined]


def _silence(config: pytest.Config) -> None:
    """One rank's progress and summary are enough: it has everyone's failures."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter._tw._file = open(os.devnull, "w")


def pytest_unconfigure(config: pytest.Config) -> None:
    deadline = config.stash.get(DEADLINE, None)
    channel = config.stash.get(CHANNEL, None)
    if deadline is not None and channel is not None:
        deadline.start("the end of the session", DEFAULT_SECONDS)
        channel.close()
    if deadline is not None:
        deadline.stop()


def pytest_internalerror(excrepr: Any) -> None:
    os.write(2, f"internal error of pytest:\n{excrepr}\n".encode())


def pytest_collection_finish(session: pytest.Session) -> None:
    verdicts = session.config.stash.get(VERDICTS, None)
    if verdicts is not None:
        deadline = session.config.stash[DEADLINE]
        deadline.start("the collection of tests on all ranks", DEFAULT_SECONDS)
        verdicts.check_collection([item.nodeid for item in session.items])
        deadline.finish()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    mark = item.get_closest_marker("deadline")
    deadline = item.config.stash[DEADLINE]
    patience = device.patience(item.config.getoption("--device"))
    deadline.start(item.nodeid, patience * (float(mark.args[0]) if mark else DEFAULT_SECONDS))
    try:
        return (yield)
    finally:
        deadline.finish()


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
    stash = request.config.stash
    return World(stash.get(CHANNEL, None), stash.get(VERDICTS, None))


@pytest.fixture
def rpc_world(request: pytest.FixtureRequest, world: World) -> Iterator[World]:
    """The ranks, with RPC between workers called worker0, worker1, ...; shut down gracefully afterwards."""
    import mpigrad.distributed.rpc as rpc

    mark = request.node.get_closest_marker("rpc")
    arguments = device.rpc_arguments(world, mark.kwargs if mark is not None else {})
    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size, **arguments)
    yield world
    rpc.shutdown()
