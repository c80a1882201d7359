"""New agents, with every layer that plugs itself into RPC."""

from __future__ import annotations

import importlib
from typing import Any

from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.base import Transport

from .._protocol import extensions
from .shutdown import Closing

LAYERS = (
    "mpigrad._core.rpc.wire",
    "mpigrad._core.rpc.remote",
    "mpigrad.distributed.rpc._rref.adoption",
    "mpigrad.distributed.rpc._agent.profiling",
    "mpigrad.distributed.autograd",
    "mpigrad._watchdog.install",
)
"""Modules that plug themselves in when imported, which every worker must have done."""

PACKAGES = ("mpigrad.sparse", "mpigrad.nn", "mpigrad.optim", "mpigrad.distributed.optim", "mpigrad.distributed.nn")
"""Packages that calls may need, preloaded so that pool threads never see half-imported modules: Python gives such a module to a
thread that imports a package while another thread imports a module inside it (each holds the lock that the other waits for)."""


def load_layers() -> None:
    """Import the layers above, so that this worker can take part in what others do with them."""
    for name in LAYERS + PACKAGES:
        importlib.import_module(name)


def new_agent(name: str, transport: Transport, options: Any, cls: type[Agent] = Agent) -> Agent:
    """An agent that has not started yet."""
    load_layers()
    agent = cls(name, transport, options.num_worker_threads, options.rpc_timeout)
    agent.options = options
    agent.closing_protocol = Closing(agent)
    for hook in extensions.start_hooks:
        hook(agent)
    return agent
