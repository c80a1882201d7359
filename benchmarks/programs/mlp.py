"""One process, no RPC: a training step of a multi-layer perceptron."""

from __future__ import annotations

from typing import Any

from benchmarks.library import library, part
from benchmarks.timing import Sample, repeat

nn = part("nn")
optim = part("optim")

USES_RPC = False
BATCH = 128


def perceptron(width: int = 512, batch: int = BATCH) -> tuple[Any, Any, Any, Any]:
    """784-512-512-10 with its optimizer, one batch and its labels."""
    library.manual_seed(0)
    layers = [nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)]
    model = nn.Sequential(*layers)
    return model, optim.SGD(model.parameters(), lr=0.01), library.randn(batch, 784), library.randint(0, 10, (batch,))


def train(model: Any, optimizer: Any, batch: Any, labels: Any) -> None:
    """One step: forward, loss, backward, update."""
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(batch), labels).backward()
    optimizer.step()


def mlp_step(seconds: float) -> Sample:
    """Seconds per training step."""
    parts = perceptron()
    return repeat(lambda: train(*parts), seconds)


MEASURES = {"mlp_step": mlp_step}
