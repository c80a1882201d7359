"""The allocation of a batch system: the number of tasks and the nodes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple


class Allocation(NamedTuple):
    """The allocation of a batch system (`SLURM`, `PBS`): the id of its job, the numbers of tasks and of nodes."""

    system: str
    job: str
    tasks: int
    nodes: int


def expand_counts(text: str) -> list[int]:
    """Expand SLURM's compact list of counts to one number per node.

    >>> expand_counts("4(x2),3")
    [4, 4, 3]
    """
    counts: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if match is None:
            raise ValueError(f"{part!r} in {text!r} is not a count such as 4 or 4(x2)")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _slurm() -> Allocation | None:
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return None
    per_node = expand_counts(os.environ.get("SLURM_TASKS_PER_NODE") or os.environ.get("SLURM_JOB_CPUS_PER_NODE", "1"))
    tasks = int(os.environ.get("SLURM_NTASKS") or sum(per_node))
    return Allocation("SLURM", job, tasks, int(os.environ.get("SLURM_JOB_NUM_NODES", len(per_node))))


def _pbs() -> Allocation | None:
    file = os.environ.get("PBS_NODEFILE")
    if file is None:
        return None
    try:
        slots = Path(file).read_text().split()
    except OSError as error:
        raise ValueError(f"PBS_NODEFILE={file!r} cannot be read ({error}); run inside the PBS job") from None
    return Allocation("PBS", os.environ.get("PBS_JOBID", "?"), len(slots), len(set(slots)))


def current_allocation() -> Allocation | None:
    """The allocation that this process runs in, or None."""
    return _slurm() or _pbs()
