"""Simulate worlds of many workers and record what each phase costs: ``python -m benchmarks.scaling.simulate [WORKERS ...]``.

Writes benchmarks/results/simulation.json; `--bench FILE` takes the constants of the network from `mpigrad bench --json FILE`.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.scaling import programs
from mpigrad.testing.simulation import Network, Phase, Simulation

RESULTS = Path(__file__).parents[1] / "results" / "simulation.json"
SIZES = (16, 64, 256, 1024, 4096, 10_000)


def simulate(size: int, network: Network | None = None, memory: bool = False) -> list[dict[str, Any]]:
    """Run all programs in one world of `size` workers; returns their phases."""
    with Simulation(size, network, measure_memory=memory) as world:
        world.on(0, lambda: programs.call_each(size), "calls from one worker to each")
        world.on_each(programs.call_first, name="calls of all workers to one")
        world.on(0, lambda: programs.group_call(size), "call to a group")
        _record(world, "group", grouped=True)
        _record(world, "nested calls", grouped=False)
        world.on(0, lambda: programs.spread_reference(size), "an RRef to all workers")
    phases = [*world.phases, *lose_one(size, network)]
    return [{**phase._asdict(), "threads": world.scheduler.fibers} for phase in phases]


def _record(world: Simulation, name: str, grouped: bool) -> None:
    recorded = programs.Recorded(world.size, grouped)
    world.on(0, recorded.forward, f"{name}: forward")
    world.on(0, recorded.backward, f"{name}: backward")
    world.on(0, recorded.release, f"{name}: release")


def lose_one(size: int, network: Network | None) -> list[Phase]:
    """All workers keep an RRef of worker0 when one in the middle of the tree is lost; all others learn of it at the same time."""
    with Simulation(size, network) as world:
        world.on(0, lambda: programs.spread_reference(size, keep=True))
        lost = (1 + size) // 2  # its parent in the tree is worker0
        world.lose(lost)
        world.tell_lost(lost)
        for rank in (lost - 1, lost + 1):  # the RRefs that came through it, and others, still have their value
            assert world.on(rank, lambda rank=rank: programs.KEPT[rank].to_here()) == 42
        programs.KEPT.clear()
        world.shutdown("shutdown after a loss")
        return [phase for phase in world.phases if "loss" in phase.name]


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, metavar="WORKERS")
    parser.add_argument("--bench", metavar="FILE", help="constants of the network, from `mpigrad bench --json FILE`")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args(words)
    network = Network.from_bench(json.loads(Path(args.bench).read_text())) if args.bench else Network()
    logging.basicConfig(level=logging.ERROR)
    runs = []
    for size in args.sizes:
        began = time.perf_counter()
        runs += simulate(size, network, memory=True)
        print(f"{size} workers: {time.perf_counter() - began:.1f} s", flush=True)
        args.out.write_text(json.dumps({"network": network._asdict(), "phases": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
