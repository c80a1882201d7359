"""A complete example program, as users run it; the time is taken between the updates of its progress bar.

``python -m benchmarks.rank examples digits_split``. For torch the examples directory is copied with the word
`mpigrad` replaced; nothing else is changed.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tqdm

from benchmarks.contestants import ROOT
from benchmarks.library import NAME
from benchmarks.timing import Sample, summarise

USES_RPC = False
EXAMPLES = ROOT / "examples"
WARM_UP_STEPS = 3

ticks: list[float] = []
losses: list[float] = []


@dataclass(frozen=True)
class Trained(Sample):
    """Seconds per step, with the losses that the progress bar showed, to compare them between libraries."""

    losses: tuple[float, ...] = ()


class Recorder(tqdm.tqdm):  # type: ignore[type-arg]
    """A progress bar that records the end of each step and the loss that it shows."""

    iterating = False

    def update(self, n: float | None = 1) -> Any:
        if not self.iterating:  # a bar that iterates updates itself only from time to time
            ticks.append(time.perf_counter())
        return super().update(n)

    def __iter__(self) -> Any:
        self.iterating = True
        for item in super().__iter__():
            yield item
            ticks.append(time.perf_counter())

    def set_postfix(self, ordered_dict: Any = None, refresh: bool | None = True, **shown: Any) -> None:
        note_loss(shown if ordered_dict is None else {**ordered_dict, **shown})
        super().set_postfix(ordered_dict, refresh, **shown)


def note_loss(shown: dict[str, Any]) -> None:
    """Record the loss from the values shown beside a progress bar."""
    if "loss" in shown:
        losses.append(float(shown["loss"]))


def ported(examples: Path, word: str, where: Path) -> Path:
    """A copy of the examples for another library: the name is replaced in the sources, data are linked."""
    for source in examples.iterdir():
        target = where / source.name
        if source.suffix == ".py":
            target.write_text(source.read_text().replace("mpigrad", word))
        else:
            target.symlink_to(source)
    return where


def run(name: str) -> None:
    """Run an example as the main program of this rank."""
    with tempfile.TemporaryDirectory() as directory:
        script = ported(EXAMPLES, NAME, Path(directory)) / f"{name}.py"
        sys.argv = [str(script)]
        sys.path.insert(0, directory)
        tqdm.tqdm = Recorder  # type: ignore[misc]
        tqdm.trange = lambda *args, **kwargs: Recorder(range(*args), **kwargs)
        runpy.run_path(str(script), run_name="__main__")


def measure(seconds: float) -> Sample:
    """The time between two updates of rank 0's progress bar."""
    run(sys.argv[2])
    steps = [after - before for before, after in zip(ticks, ticks[1:])][WARM_UP_STEPS:]
    found = summarise(steps)
    return Trained(**found.as_json(), losses=tuple(losses))


def follow() -> None:
    """Run the program on the other ranks."""
    run(sys.argv[2])


MEASURES = {"step": measure}
