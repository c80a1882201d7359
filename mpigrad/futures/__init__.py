"""Futures: objects for values that another thread or another worker will supply, as `rpc.rpc_async` returns them."""

from __future__ import annotations

from mpigrad._core.future import Future
from mpigrad.futures._collect import collect_all, wait_all

__all__ = ["Future", "collect_all", "wait_all"]
