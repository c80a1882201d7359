"""Tests of the CPU-backed CUDA runtime itself: only where build.py has put it below CuPy."""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("cpucuda") is None:
    collect_ignore_glob = ["test_*.py"]
