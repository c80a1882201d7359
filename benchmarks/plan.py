"""The measures: each family of them, the number of ranks, and the program of each contestant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from benchmarks.bars import OURS
from benchmarks.contestants import BEFORE


@dataclass(frozen=True)
class Family:
    """Measures that share one job per contestant."""

    name: str
    ranks: int
    programs: Mapping[str, str]
    measures: tuple[str, ...]
    budget: float = 0.5
    deadline: float = 120.0
    fresh: bool = False  # a new process for every round, if earlier measures would influence this one
    without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tensors: str = ""  # the library of the tensors for all contestants; by default each uses its own

    def program(self, contestant: str) -> str:
        """The program of a contestant; an earlier state of mpigrad runs the program of the present one."""
        return self.programs[OURS if contestant == BEFORE else contestant]

    def contestants_of(self, measure: str) -> list[str]:
        """The contestants of a measure that are installed."""
        return [name for name in self.programs if measure not in self.without.get(name, ()) and _installed(name)]


def _installed(contestant: str) -> bool:
    """mpi4jax has to be compiled for the MPI at hand, so `make bench` does not install it."""
    return contestant != "mpi4jax" or find_spec("mpi4jax") is not None


def both(program: str) -> dict[str, str]:
    """A family with the same program for torch and mpigrad."""
    return {"torch": program, "mpigrad": program}


CALL_MEASURES = ("empty", "small_in_context", "in_flight", "echo_1", "echo_16", "echo_64", "echo_256")

FAMILIES = (
    Family(
        "calls",
        2,
        {**both("calls"), "raw": "raw_calls"},
        CALL_MEASURES,
        without={"raw": ("small_in_context",)},
    ),
    Family("backward", 2, both("backward"), ("remote_add", "retained", "training_loop")),
    Family("mutual", 2, both("mutual"), ("empty", "remote_add", "bounce_9")),
    Family("nested", 4, both("nested"), ("chain_of_8",)),
    Family("four_ranks", 4, both("four_ranks"), ("pair", "ring", "trainers")),
    Family("groups", 8, {"mpigrad": "groups"}, ("loop", "tree", "loop_backward", "tree_backward")),
    Family("parameter_server", 4, both("parameter_server"), ("step",), budget=1.0),
    Family("pipeline", 3, both("pipeline"), ("step",)),
    Family("torch_calls", 2, both("calls"), ("small_in_context",), tensors="torch"),
    Family("torch_backward", 2, both("backward"), ("remote_add", "retained"), tensors="torch"),
    Family("own_calls", 2, {"mpigrad": "calls"}, ("small_in_context",)),  # beside the two before: what torch's tensors cost
    Family("own_backward", 2, {"mpigrad": "backward"}, ("remote_add", "retained")),
    Family("torch_pipeline", 3, both("pipeline"), ("step",), tensors="torch"),
    Family("torch_parameter_server", 4, both("parameter_server"), ("step",), budget=1.0, tensors="torch"),
    Family(
        "collectives",
        2,
        {**both("collectives"), "raw": "raw_collectives"},
        ("all_reduce_1", "all_reduce_16", "all_reduce_64", "small_sum", "small_gather", "small_exchange"),
    ),
    Family("ddp", 2, both("ddp"), ("step", "overlap", "overlap_slow"), 1.0, without={"torch": ("overlap", "overlap_slow")}),
    Family(
        "shallow_water",
        2,
        {"mpigrad": "shallow_water mpigrad", "mpi4jax": "shallow_water mpi4jax"},
        ("forward_256", "gradient_256", "forward_1024", "gradient_1024"),
        budget=1.0,
    ),
    Family("embedding", 2, both("embedding"), ("rows_100k", "rows_1m", "bag_1m"), budget=1.0),
    Family("local", 1, {**both("local"), "autograd": "local_autograd"}, ("chain_2000",)),
    Family("mlp", 1, both("mlp"), ("mlp_step",), budget=1.0),
    Family("memory", 1, both("mlp_memory"), ("mlp_peak",), fresh=True),
    Family("idle", 4, both("idle"), ("resident", "proportional", "cpu")),
    Family("start", 4, both("start"), ("launch",)),
    *(
        Family(f"example_{name}", 4, both(f"examples {name}"), ("step",), deadline=300.0, fresh=True)
        for name in ("digits_split", "parameter_server", "rnn_lm")
    ),
)


def chosen(names: list[str]) -> list[Family]:
    """Families by name; all if no name is given."""
    known = {family.name: family for family in FAMILIES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown benchmark families {unknown}: expected some of {list(known)}")
    return [known[name] for name in names] if names else list(FAMILIES)
