"""Peak memory of the training step of mlp.py: how much a new process grows."""

from __future__ import annotations

import gc

from benchmarks.memory import peak_above_start
from benchmarks.programs.mlp import perceptron, train
from benchmarks.timing import Sample, summarise

USES_RPC = False
STEPS = 5


def build_and_train() -> None:
    """The model, its optimizer, one batch and a few steps."""
    parts = perceptron()
    for _ in range(STEPS):
        train(*parts)


def mlp_peak(seconds: float) -> Sample:
    """The increase of memory at its highest point; a tiny model runs first, so that loading code does not count."""
    train(*perceptron(width=8, batch=2))
    gc.collect()
    return summarise([float(peak_above_start(build_and_train))], unit="B")


MEASURES = {"mlp_peak": mlp_peak}
