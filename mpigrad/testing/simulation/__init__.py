"""Simulation of many RPC workers in one process: the real code of RPC and distributed autograd, virtual time, a model of the
network.

`Simulation(10_000)` starts 10,000 workers without a thread each, runs programs on them, and counts messages, bytes, the
messages on the critical path, virtual time and memory.

For readers of the code: `_scheduler` runs events in the order of virtual time, on threads of which one runs at a
time; `_network` computes how long a message takes; `_transport` and `_progress` connect agents with both; `_clock` replaces the
clock of the process.
"""

from __future__ import annotations

from mpigrad.testing.simulation._network import Network
from mpigrad.testing.simulation._world import Phase, Simulation

__all__ = ["Network", "Phase", "Simulation"]
