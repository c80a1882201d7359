"""The model of the network (LogGP): how long a message takes, from four constants and the traffic on its links.

Each send and each receive occupies its worker for the *overhead*. A message then waits until the link of its sender's node is
free, occupies it for its bytes divided by the *bandwidth*, travels for the *latency*, and occupies the link of the receiver's
node in the same way. Messages within a node use no link and have a latency of their own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

NETWORK_LATENCY = 2e-6  # one way, added to what was measured within one host; typical of InfiniBand and Slingshot


class Network(NamedTuple):
    """The network that a `Simulation` models: times in seconds, the bandwidth in bytes per second.

    The defaults are costs measured between two ranks of one computer (docs/costs.json), and an assumed latency of 2 us between
    nodes (the computers of a cluster).

    - `latency`: how long a message travels between two nodes, one way.
    - `overhead`: how long one send or one receive occupies its worker.
    - `bandwidth`: of the link of a node, in each direction.
    - `ranks_per_node`: how many workers share a node and its link; worker r is on node r // ranks_per_node.
    - `host_latency`: how long a message travels within a node.
    """

    latency: float = NETWORK_LATENCY
    overhead: float = 3.3e-6
    bandwidth: float = 13e9
    ranks_per_node: int = 1
    host_latency: float = 0.0

    @classmethod
    def from_bench(cls, results: dict[str, Any], ranks_per_node: int = 1) -> Network:
        """Compute the constants from `results`, the content of a file that `mpigrad bench --json` wrote.

        `results` is what `json.load` returns. With many calls in flight, a call costs each of its two workers one send and one
        receive; so one of these takes half of the measured time per call. An empty call takes two sends, two receives and
        twice the latency, which gives the latency (0 if that would be negative, as on one host).
        """
        kinds = {row["name"]: row for row in results["kinds"]}
        many = next(row for name, row in kinds.items() if name.startswith("rpc_async"))
        call, bandwidth = kinds["rpc_sync, empty"]["median_us"] / 1e6, results["sizes"][-1]["mb_s"] * 1e6
        return cls.from_costs(call, 1 / many["per_second"], bandwidth, ranks_per_node)

    @classmethod
    def from_costs(cls, call: float, in_flight: float, bandwidth: float, ranks_per_node: int = 1) -> Network:
        """Compute the constants from costs measured between two nodes; see `from_bench` for how.

        Args:
            call: seconds that an empty call takes.
            in_flight: seconds per call when many calls are in flight at once.
            bandwidth: in bytes per second.
            ranks_per_node: how many workers share a node.
        """
        return cls(max(0.0, call / 2 - in_flight), in_flight / 2, bandwidth, ranks_per_node)

    def allgather(self, size: int, nbytes: int) -> float:
        """The time of an MPI all-gather of `nbytes` from each of `size` ranks.

        It takes log2(size) exchanges, and all bytes go through the link of each node.
        """
        return math.ceil(math.log2(max(size, 2))) * (self.latency + 2 * self.overhead) + size * nbytes / self.bandwidth


class Links:
    """The links of all nodes: until which time each is occupied, in each direction."""

    def __init__(self, network: Network, size: int) -> None:
        self._network = network
        nodes = -(-size // network.ranks_per_node)
        self._out, self._in = [0.0] * nodes, [0.0] * nodes

    def arrival(self, src: int, dst: int, nbytes: int, at: float) -> float:
        """The time at which a message arrives that is sent at the time `at`; occupies the links on its way."""
        if src == dst:
            return at
        net = self._network
        start, end = src // net.ranks_per_node, dst // net.ranks_per_node
        if start == end:
            return at + net.host_latency
        seconds = nbytes / net.bandwidth
        self._out[start] = max(at, self._out[start]) + seconds
        # cut-through: the first byte arrives while the last one is still being sent, so the two links overlap
        self._in[end] = max(self._out[start] + net.latency, self._in[end] + seconds)
        return self._in[end]
