"""What the examples share: who am I, and where do results go."""

from __future__ import annotations

import json
import os


def rank_and_size() -> tuple[int, int]:
    """This process's rank and how many there are, from the launcher's environment; (0, 1) without one."""
    for rank, size in (
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
        ("RANK", "WORLD_SIZE"),
    ):
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return 0, 1


def results(path: str | None, **values: object) -> None:
    """Write results as JSON, if a path was given."""
    if path:
        with open(path, "w") as file:
            json.dump(values, file)
