"""pytest's plugin for tests on MPI ranks: `pytest --mpigrad N`, the mark `mpigrad`, the fixtures `rpc_world` and `mpi_world`.

pytest loads this module in every session of an environment where mpigrad is installed. So it is outside of the package, and
imports mpigrad only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mpigrad.testing import World

RANKS = "mpigrad-ranks"
MARK = (
    "mpigrad(min_size=1, deadline=60, rpc=None): run the test on all ranks of `pytest --mpigrad N`; min_size: skip it with "
    "fewer; deadline: seconds until stacks are dumped and the ranks end; rpc: options for init_rpc, as a dict"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mpigrad", "tests on MPI ranks")
    group.addoption(
        "--mpigrad", type=int, metavar="N", help="start N ranks, for tests with the mark mpigrad or the fixture rpc_world"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)
    ranks = config.getoption("--mpigrad")
    if ranks is not None and not config.pluginmanager.has_plugin(RANKS):
        from mpigrad.testing._ranks.job import OnRanks

        config.pluginmanager.register(OnRanks(config, ranks), "mpigrad-job")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("mpigrad") is not None:
        _this_rank(item.config)


def _this_rank(config: pytest.Config) -> Any:
    """The plugin of this rank; outside of ranks the test is skipped."""
    found = config.pluginmanager.get_plugin(RANKS)
    if found is None:
        pytest.skip("needs ranks: pytest --mpigrad N")
    return found


@pytest.fixture
def mpi_world(request: pytest.FixtureRequest) -> World:
    """The ranks that run this test, without RPC: a `mpigrad.testing.World`."""
    return _this_rank(request.config).world()


@pytest.fixture
def rpc_world(request: pytest.FixtureRequest) -> Iterator[World]:
    """The ranks that run this test, with RPC between workers called worker0, worker1, ...: a `mpigrad.testing.World`."""
    yield from _this_rank(request.config).rpc_world(request.node)
