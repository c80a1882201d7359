"""Futures: values that another thread or another worker will supply."""

from __future__ import annotations

from mpigrad.futures._collect import collect_all, wait_all
from mpigrad.futures._future import Future

__all__ = ["Future", "collect_all", "wait_all"]
