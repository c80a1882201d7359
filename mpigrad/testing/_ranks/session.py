"""pytest's session on one rank: deadlines, the same collected tests on all ranks, joint verdicts, and the `World` for fixtures.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from mpigrad.testing._ranks.channel import Channel
from mpigrad.testing._ranks.deadline import DEFAULT_SECONDS, Deadline
from mpigrad.testing._ranks.verdicts import JointVerdicts
from mpigrad.testing._world import World

NAME = "mpigrad-ranks"


class RankSession:
    """The pytest plugin of one rank; without a channel, of a single process with deadlines and a world of one.

    `seconds` says how long a test may take. To be registered under NAME.
    """

    def __init__(self, channel: Channel | None, seconds: Callable[[pytest.Item], float]) -> None:
        self.channel = channel
        self._seconds = seconds
        self._verdicts: JointVerdicts | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        self._deadline = Deadline(self.channel.rank if self.channel else 0, os.dup(2))
        if self.channel is not None:
            self._verdicts = JointVerdicts(self.channel, self._deadline)
            config.pluginmanager.register(self._verdicts, "joint-verdicts")
            _own_directory(config, self.channel.rank)
            if self.channel.rank != 0:
                _silence(config)

    def world(self) -> World:
        """The `World` object for the tests on this rank."""
        return World(self.channel, self._verdicts)

    def pytest_unconfigure(self) -> None:
        if self.channel is not None:
            self._deadline.start("the end of the session", DEFAULT_SECONDS)
            self.channel.close()
        self._deadline.stop()

    def pytest_internalerror(self, excrepr: Any) -> None:
        os.write(2, f"internal error of pytest:\n{excrepr}\n".encode())

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if self._verdicts is not None:
            self._deadline.start("the collection of tests on all ranks", DEFAULT_SECONDS)
            self._verdicts.check_collection([item.nodeid for item in session.items])
            self._deadline.finish()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._deadline.start(item.nodeid, self._seconds(item))
        try:
            return (yield)
        finally:
            self._deadline.finish()


def with_rpc(world: World, **arguments: Any) -> Iterator[World]:
    """The world with RPC between workers called worker0, worker1, ...; shut down gracefully afterwards."""
    import mpigrad.distributed.rpc as rpc

    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size, **arguments)
    yield world
    rpc.shutdown()


def _own_directory(config: pytest.Config, rank: int) -> None:
    """Give each rank a separate directory for temporary files: pytest would delete files of other ranks in a shared one."""
    made = tempfile.mkdtemp(prefix=f"mpigrad-tests-rank{rank}-")
    config.add_cleanup(lambda: shutil.rmtree(made, ignore_errors=True))
    config._tmp_path_factory._given_basetemp = Path(made)  # type: ignore[attr-defined]


def _silence(config: pytest.Config) -> None:
    """Only one rank prints progress and summary, which contain the failures of all ranks."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter._tw._file = open(os.devnull, "w")
