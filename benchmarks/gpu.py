"""The local benchmarks on a GPU: `python -m benchmarks.gpu`, beside the same programs on the CPU, and copies both ways.

The programs are those of `programs/`, with the GPU as default device; each measured call ends by waiting for the device.
With MPIGRAD_BENCH_LIBRARY=torch (see `contestants.py`) the same runs on PyTorch, for comparison on one machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from benchmarks.library import NAME, library
from benchmarks.programs import mlp
from benchmarks.timing import Sample, repeat

MEBIBYTE = 1 << 20


def _waiting(function: Callable[[], Any], place: str) -> Callable[[], Any]:
    if place == "cpu":
        return function

    def call() -> None:
        function()
        library.cuda.synchronize()

    return call


def chain(place: str, seconds: float, operators: int) -> Sample:
    """Forward and backward of a chain of operators on 3x3 tensors, where launching takes longer than computing."""
    start, other = library.ones(3, 3, requires_grad=True), library.full((3, 3), 0.5)

    def step() -> None:
        value: Any = start
        for _ in range(operators // 4):
            value = library.tanh(library.sin((value + other) * other))
        value.sum().backward()
        start.grad = None

    return repeat(_waiting(step, place), seconds)


def training(place: str, seconds: float, width: int) -> Sample:
    """A training step of a multi-layer perceptron."""
    parts = mlp.perceptron(width)
    return repeat(_waiting(lambda: mlp.train(*parts), place), seconds)


def product(place: str, seconds: float, size: int) -> Sample:
    """A product of two square matrices."""
    a, b = library.rand(size, size), library.rand(size, size)
    return repeat(_waiting(lambda: a @ b, place), seconds)


def copies(seconds: float, mebibytes: int) -> dict[str, Sample]:
    """Copies to the GPU and back, from pinned and from ordinary memory."""
    plain = library.zeros(mebibytes * MEBIBYTE // 4, device="cpu")
    pinned, there = plain.pin_memory(), plain.to("cuda")
    moves: dict[str, Callable[[], Any]] = {
        "to the GPU": lambda: plain.to("cuda"),
        "to the GPU, pinned": lambda: pinned.to("cuda", non_blocking=True),
        "to the host": lambda: there.to("cpu"),
        "to the host, pinned": lambda: there.to("cpu", non_blocking=True),
    }
    return {name: repeat(_waiting(move, "cuda"), seconds) for name, move in moves.items()}


def measure(seconds: float, small: bool) -> dict[str, Any]:
    """All measured times in seconds, by name and device."""
    operators, width, size, mebibytes = (40, 16, 32, 1) if small else (2000, 512, 2048, 64)
    found: dict[str, Any] = {}
    for place in ("cpu", "cuda"):
        with library.device(place):
            found[f"chain of {operators} operators on {place}"] = chain(place, seconds, operators).value
            found[f"perceptron of width {width} on {place}"] = training(place, seconds, width).value
            found[f"product of {size}x{size} on {place}"] = product(place, seconds, size).value
    found |= {f"{mebibytes} MiB {name}": each.value for name, each in copies(seconds, mebibytes).items()}
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each number")
    parser.add_argument("--small", action="store_true", help="tiny sizes: to see whether it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="numbers for programs")
    options = parser.parse_args()
    if not library.cuda.is_available():
        raise SystemExit("benchmarks.gpu: no CUDA device here; it needs mpigrad[gpu] and a GPU")
    found = measure(options.seconds, options.small)
    name = library.cuda.get_device_name()
    if options.json:
        print(json.dumps({"library": NAME, "device": name, "seconds": found}, indent=1))
        return
    print(f"{NAME} on {name}")
    for title, value in found.items():
        print(f"{value * 1e6:12.1f} us  {title}")


if __name__ == "__main__":
    main()
