"""Helpers for tests: `assert_close` for tensors, `FileCheck` for texts such as graphs, `World` for tests on several ranks.

`pytest --mpigrad N` runs tests that use the fixture `rpc_world` on N ranks, with one verdict: docs/guides/testing.md.
"""

from __future__ import annotations

from ._assert_close import assert_close
from ._file_check import FileCheck
from ._world import World

__all__ = ["FileCheck", "World", "assert_close"]
