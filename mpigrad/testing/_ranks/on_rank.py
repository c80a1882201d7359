"""One rank of the job that `pytest --mpigrad` starts: runs pytest, which executes the requested tests on all ranks.

Run by `mpigrad._launch.start`; environment variables tell it how to reach the first process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from mpigrad.testing._ranks.channel import Channel
from mpigrad.testing._ranks.deadline import DEFAULT_SECONDS
from mpigrad.testing._ranks.link import Link, connect
from mpigrad.testing._ranks.session import NAME, RankSession, with_rpc
from mpigrad.testing._world import World

VARIABLE = "MPIGRAD_PYTEST"
IDLE_PAUSE = 0.005


def seconds_of(item: pytest.Item) -> float:
    """The number of seconds that a test may take."""
    mark = item.get_closest_marker("mpigrad")
    return float(mark.kwargs.get("deadline", DEFAULT_SECONDS) if mark else DEFAULT_SECONDS)


class OnRank(RankSession):
    """The pytest plugin of a rank: runs the tests that pytest's first process requests, in its order, and reports
    their results.
    """

    def __init__(self, channel: Channel, link: Link | None) -> None:
        super().__init__(channel, seconds_of)
        self.channel: Channel = channel
        self._link = link
        self.__name__ = NAME  # under which pytest registers it

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        config.option.xmlpath = None  # the first process writes it

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Run the requested tests. The first process sends the next one each time, as ranks may have collected them
        in different orders.
        """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            return None  # pytest reports the error
        items = {item.nodeid: item for item in session.items}
        while (order := self._order()) is not None:
            if order["test"] not in items:
                raise pytest.UsageError(f"rank {self.channel.rank} did not collect {order['test']}, as other ranks did")
            item = items[order["test"]]
            item.ihook.pytest_runtest_protocol(item=item, nextitem=items.get(order["next"]))
            self._tell({"finished": item.nodeid})
        return True

    def _order(self) -> Any:
        """The next test and the one after it, or None at the end; the same on all ranks."""
        return self.channel.gather("order", self._link.receive() if self._link else None, pause=IDLE_PAUSE)[0]

    def _tell(self, value: Any) -> None:
        if self._link is not None:
            self._link.send(value)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        mark = item.get_closest_marker("mpigrad")
        wanted = mark.kwargs.get("min_size", 1) if mark else 1
        if self.channel.size < wanted:
            pytest.skip(f"needs {wanted} ranks: pytest --mpigrad {wanted}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tell({"report": self._config.hook.pytest_report_to_serializable(config=self._config, report=report)})

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config
        super().pytest_configure(config)

    def rpc_world(self, item: pytest.Item) -> Iterator[World]:
        """The value of the fixture of that name."""
        import mpigrad.distributed.rpc as rpc

        mark = item.get_closest_marker("mpigrad")
        options = mark.kwargs.get("rpc") if mark else None
        arguments = {} if options is None else {"rpc_backend_options": rpc.MPIRpcBackendOptions(**options)}
        yield from with_rpc(self.world(), **arguments)


def main() -> int:
    """Run pytest as this rank; failed tests are reported to the first process and do not fail the job."""
    spec = json.loads(os.environ.pop(VARIABLE))
    sys.path[:] = spec["path"]
    channel = Channel()
    link = connect(*spec["address"]) if channel.rank == 0 else None
    code = pytest.main(spec["arguments"], plugins=[OnRank(channel, link)])
    return 0 if code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) else int(code)


if __name__ == "__main__":
    sys.exit(main())
