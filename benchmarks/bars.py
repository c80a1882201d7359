"""The bars, goals for mpigrad's measures, as data; ``python -m benchmarks.bars`` lists the bars that are missed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.compare import Rounds, Spread, largest_gap, present, ratio, rounds_from_json, rounds_of, spread

RESULTS = Path(__file__).resolve().parent / "results"
LATEST = RESULTS / "latest.json"
OURS = "mpigrad"
LOSS_GAP = 1e-4


@dataclass(frozen=True)
class Bar:
    """A goal for a measure of mpigrad: a ratio to another library, a difference from it, or an absolute limit.

    ``against`` is the other library (None: `limit` is an absolute one), ``other`` its measure, if that has another name.
    ``faster``: at least `limit` times as fast as the other; otherwise at most `limit` times as slow. ``more``: at most
    `limit` more than the other.
    """

    title: str
    measure: str
    limit: float
    against: str | None = None
    faster: bool = True
    other: str | None = None
    more: bool = False

    def found(self, results: Rounds) -> Spread | None:
        """The ratio (times faster or times slower) or the value; None if a measure is missing."""
        ours = rounds_of(results, self.measure, OURS)
        if self.against is None:
            return spread(present(ours))
        theirs = rounds_of(results, self.other or self.measure, self.against)
        if self.more:
            return spread([a - b for a, b in zip(ours, theirs) if a is not None and b is not None])
        return ratio(theirs, ours) if self.faster else ratio(ours, theirs)

    def cleared(self, found: Spread) -> bool:
        """Whether the median over the rounds meets the goal."""
        wants_more = self.against is not None and self.faster and not self.more
        return found.median >= self.limit if wants_more else found.median <= self.limit

    def wanted(self) -> str:
        """The goal in words."""
        if self.against is None:
            return f"at most {self.limit:g}"
        if self.more:
            return f"at most {self.limit:g} more than {self.against}"
        if self.faster:
            return f"{self.limit:g}x faster than {self.against}"
        rival = f"{self.against}'s" if self.against != OURS else "its own"
        return f"at most {self.limit:g}x {rival} {self.other or 'figure'}"


def faster(title: str, measure: str, times: float, than: str = "torch") -> Bar:
    return Bar(title, measure, times, than)


def within(title: str, measure: str, times: float, of: str = "torch", other: str | None = None) -> Bar:
    return Bar(title, measure, times, of, faster=False, other=other)


def beyond(title: str, measure: str, seconds: float, of: str = "raw") -> Bar:
    return Bar(title, measure, seconds, of, more=True)


ECHOES = tuple(
    bar
    for size in (1, 16, 64, 256)
    for bar in (
        faster(f"echo of {size} MiB", f"calls.echo_{size}", 2.0),
        within(f"echo of {size} MiB, 0.8 of the raw bandwidth", f"calls.echo_{size}", 1.25, "raw"),
    )
)

BARS = (
    faster("empty rpc_sync", "calls.empty", 15.0),
    within("empty rpc_sync beside a raw ping-pong", "calls.empty", 6.0, "raw"),
    faster("Python function on 3x3 tensors in a context", "calls.small_in_context", 10.0),
    faster("64 calls in flight", "calls.in_flight", 8.0),
    *ECHOES,
    faster("context, forward and backward of one remote add", "backward.remote_add", 8.0),
    faster("backward(retain_graph=True) over one hop", "backward.retained", 8.0),
    faster("training loop of six remote adds and an RRef", "backward.training_loop", 8.0),
    faster("remote add with backward, two ranks calling each other at once", "mutual.remote_add", 8.0),
    faster("nine nested calls between two ranks, forward and backward", "mutual.bounce_9", 8.0),
    faster("chain of 8 nested hops over 4 ranks", "nested.chain_of_8", 5.0),
    faster("4 ranks, each server and trainer at once", "four_ranks.trainers", 4.0),
    faster("empty rpc_sync with 4 ranks alive", "four_ranks.pair", 10.0),
    faster("empty rpc_sync, 4 ranks calling at once", "four_ranks.ring", 10.0),
    faster("parameter-server step, 10 MB, 3 trainers", "parameter_server.step", 2.0),
    faster("pipeline step, 4 layers on 2 workers", "pipeline.step", 2.0),
    faster("the same torch program: small call in a context", "torch_calls.small_in_context", 12.0),
    faster("the same torch program: context, forward and backward of one remote add", "torch_backward.remote_add", 5.0),
    faster("the same torch program: pipeline step, 4 layers on 2 workers", "torch_pipeline.step", 2.0),
    faster("the same torch program: parameter-server step, 10 MB, 3 trainers", "torch_parameter_server.step", 2.0),
    within("small call: torch tensors instead of ours", "torch_calls.small_in_context", 3.0, OURS, "own_calls.small_in_context"),
    within("remote add: torch tensors instead of ours", "torch_backward.remote_add", 3.0, OURS, "own_backward.remote_add"),
    *(
        within(f"all_reduce of {size} MiB beside mpi4py's Allreduce", f"collectives.all_reduce_{size}", 1.15, "raw")
        for size in (1, 16, 64)
    ),
    beyond("a small differentiable all_reduce beside mpi4py's Allreduce, in seconds", "collectives.small_sum", 10e-6),
    beyond("a small differentiable all_gather beside mpi4py's Allgather, in seconds", "collectives.small_gather", 10e-6),
    beyond("a small differentiable all_to_all beside mpi4py's Alltoall, in seconds", "collectives.small_exchange", 10e-6),
    faster("DDP step of a 10 MB model", "ddp.step", 1.3),
    Bar("DDP step beside its computation, with communication half as long", "ddp.overlap", 1.155),
    faster("sparse Embedding step, 1,000,000 x 64", "embedding.rows_1m", 3.0),
    faster("sparse EmbeddingBag step, 1,000,000 x 64", "embedding.bag_1m", 3.0),
    within("sparse step with 1,000,000 rows beside 100,000", "embedding.rows_1m", 1.3, OURS, "embedding.rows_100k"),
    faster("local chain of 2,000 operators", "local.chain_2000", 2.0, "autograd"),
    within("local chain of 2,000 operators", "local.chain_2000", 4.0),
    within("MLP step 784-512-512-10, batch 128", "mlp.mlp_step", 1.3),
    within("peak memory of the MLP step", "memory.mlp_peak", 1.3),
    within("memory per idle rank", "idle.resident", 0.5),
    Bar("CPU of an idle rank, percent of a core", "idle.cpu", 2.0),
    faster("start to first RPC answered, 4 ranks", "start.launch", 1.0),
    faster("digits_split per step", "example_digits_split.step", 2.0),
    faster("parameter_server per step", "example_parameter_server.step", 2.0),
    faster("rnn_lm per step", "example_rnn_lm.step", 2.0),
)


def verdict(bar: Bar, results: Rounds) -> str | None:
    """The reason why a measure misses its bar; None if it does not."""
    found = bar.found(results)
    if found is None:
        return f"{bar.title} ({bar.measure}): wanted {bar.wanted()}, but it was not measured"
    if bar.cleared(found):
        return None
    return (
        f"{bar.title} ({bar.measure}): wanted {bar.wanted()}, "
        f"found {found.median:.3g} (rounds {found.low:.3g} to {found.high:.3g})"
    )


def shortfalls(results: Rounds, bars: tuple[Bar, ...] = BARS) -> list[str]:
    """One line for each bar that is missed, or whose measure is missing."""
    return [line for bar in bars if (line := verdict(bar, results)) is not None]


def different_losses(document: Mapping[str, Any]) -> list[str]:
    """One line for each example whose losses differ from torch's: speed counts only for the same result."""
    gaps = {measure: largest_gap(document, measure, "torch", OURS) for measure in document["measures"]}
    return [
        f"{measure}: losses differ from torch's by up to {gap:.3g}, wanted at most {LOSS_GAP:g}"
        for measure, gap in gaps.items()
        if gap is not None and gap > LOSS_GAP
    ]


def main(path: str = str(LATEST)) -> int:
    """Print the bars that are missed; the exit code is 1 if there are any."""
    if not Path(path).exists():
        print(f"no results at {path}: run `make bench` (python -m benchmarks.run) first", file=sys.stderr)
        return 1
    document = json.loads(Path(path).read_text())
    missed, different = shortfalls(rounds_from_json(document)), different_losses(document)
    for line in [*missed, *different]:
        print("SHORT", line)
    print(f"{len(BARS) - len(missed)} of {len(BARS)} bars cleared")
    return 1 if missed or different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
