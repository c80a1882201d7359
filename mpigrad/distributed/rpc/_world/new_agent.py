"""Creates agents, after importing every layer that takes part in RPC."""

from __future__ import annotations

import importlib
from typing import Any

from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.transport import Transport

from .._protocol import extensions
from .shutdown import Closing

LAYERS = (
    "mpigrad._core.rpc.rref",
    "mpigrad.distributed.rpc._rref.adoption",
    "mpigrad.distributed.rpc._agent.profiling",
    "mpigrad.distributed.rpc._world.lost",
    "mpigrad.distributed.autograd",
    "mpigrad._watchdog.install",
)
"""Modules that register handlers and hooks when imported; every worker needs them to serve the others."""

PACKAGES = ("mpigrad.sparse", "mpigrad.nn", "mpigrad.optim", "mpigrad.distributed.optim", "mpigrad.distributed.nn")
"""Packages that calls may need, preloaded so that pool threads never see half-imported modules: to break a deadlock between two
import locks, Python gives a thread that imports a package a module that another thread is still importing."""


def load_layers() -> None:
    """Import all layers that register themselves with RPC, and the packages in `PACKAGES`."""
    for name in LAYERS + PACKAGES:
        importlib.import_module(name)


def new_agent(name: str, transport: Transport, options: Any, cls: type[Agent] = Agent) -> Agent:
    """Create an agent whose threads have not started yet."""
    load_layers()
    agent = cls(name, transport, options.num_worker_threads, options.rpc_timeout)
    agent.options = options
    transport.epochs = agent.epochs
    agent.closing_protocol = Closing(agent)
    for hook in extensions.start_hooks:
        hook(agent)
    return agent
