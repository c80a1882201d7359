"""Creates agents, after importing every layer that takes part in RPC."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.transport import Transport
from mpigrad._graph.tracing import activity_hooks

from .._protocol import extensions
from .shutdown import Closing

LAYERS = (
    "mpigrad._core.rpc.rref",
    "mpigrad.distributed.rpc._rref.adoption",
    "mpigrad.distributed.rpc._world.lost",
    "mpigrad.distributed.autograd",
    "mpigrad._watchdog.install",
    "mpigrad._ops.elementwise.arithmetic",
    "mpigrad._ops.reduce.sums",
)
"""Modules that register handlers and hooks when imported; every worker needs them to serve the others. The operators at the end
are those that backward passes use: imported here, they do not delay the first one."""

def load_layers() -> None:
    """Import all layers that register themselves with RPC.

    The layer that profiles calls is imported now if a profiler is active, otherwise when the first one starts.
    """
    for name in LAYERS:
        importlib.import_module(name)
    profiler = sys.modules.get("mpigrad.autograd.profiler")
    _load_profiling(profiler is not None and bool(profiler.active))


def _load_profiling(active: bool) -> None:
    if active:
        importlib.import_module("mpigrad.distributed.rpc._agent.profiling")


activity_hooks.append(_load_profiling)


def new_agent(name: str, transport: Transport, options: Any, cls: type[Agent] = Agent) -> Agent:
    """Create an agent and let all layers add their state; its threads have not started yet.

    `options` are `MPIRpcBackendOptions`; `cls` is the class of the agent.
    """
    load_layers()
    agent = cls(name, transport, options.num_worker_threads, options.rpc_timeout)
    agent.options = options
    transport.epochs = agent.epochs
    agent.closing_protocol = Closing(agent)
    for hook in extensions.start_hooks:
        hook(agent)
    return agent
