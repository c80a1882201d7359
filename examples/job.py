"""Common parts of the examples: rank and size, options, and output of results."""

from __future__ import annotations

import argparse
import json
import os
import random

import mpigrad


def rank_and_size() -> tuple[int, int]:
    """The rank of this process and the number of ranks, from the launcher's environment; (0, 1) without a launcher."""
    for rank, size in (
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
        ("RANK", "WORLD_SIZE"),
    ):
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return 0, 1


def seeded(module, seed: int):
    """Set the weights of a module to numbers that depend on the seed only, not on the library or on other random numbers."""
    chance = random.Random(seed)
    with mpigrad.no_grad():
        for parameter in module.parameters():
            bound = parameter.shape[-1] ** -0.5
            drawn = [chance.uniform(-bound, bound) for _ in range(parameter.numel())]
            parameter.copy_(mpigrad.tensor(drawn).reshape(parameter.shape))
    return module


def options(doc: str, **sizes: int | float) -> argparse.ArgumentParser:
    """Parse the options of an example: its sizes with their defaults, and the options that all examples have."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"{default} if not given")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--plot", help="draw the curve into this PNG file (needs matplotlib)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def results(path: str | None, **values: object) -> None:
    """Write results as JSON, if a path was given."""
    if path:
        with open(path, "w") as file:
            json.dump(values, file)


def plot(path: str | None, values: list[float], what: str, along: str = "step") -> None:
    """Draw a curve into a PNG file, if a path was given."""
    if not path:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.plot(values)
    axes.set(xlabel=along, ylabel=what)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
