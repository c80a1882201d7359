"""Helpers for tests: `FileCheck` for texts such as graphs, `assert_close` for tensors."""

from __future__ import annotations

from ._assert_close import assert_close
from ._file_check import FileCheck

__all__ = ["FileCheck", "assert_close"]
