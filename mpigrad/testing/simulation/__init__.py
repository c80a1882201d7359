"""Simulation of large worlds in one process: real agents, RRefs, contexts and backward passes; virtual time, modelled network.

`Simulation(10_000)` starts workers without a thread each, runs programs on them, and counts messages, bytes, the messages on the
critical path, virtual time and memory. `_scheduler` runs events in the order of virtual time, on threads of which one runs at a
time; `_network` computes how long a message takes; `_transport` and `_progress` connect agents with both; `_clock` replaces the
clock of the process.
"""

from __future__ import annotations

from mpigrad.testing.simulation._network import Network
from mpigrad.testing.simulation._world import Phase, Simulation

__all__ = ["Network", "Phase", "Simulation"]
