"""docs/tour.md: its program takes the steps that the page describes, on the workers that it names, in that order."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import clean_environment
from tests.test_docs import DOCS, SECONDS, programs

pytestmark = pytest.mark.deadline(200)
PAGE = "tour.md"
WATCH = """
import os, sys, threading
steps = []
def watch(frame, event, _):
    file = frame.f_code.co_filename.partition("/mpigrad/")[2].removeprefix("distributed/")
    if event == "call" and file.startswith(("_core/", "rpc/")):
        steps.append((file, frame.f_code.co_name))
threading.setprofile(watch)
sys.setprofile(watch)
"""
WRITE = """
sys.setprofile(None)
with open(f"steps{world.rank}", "w") as file:
    file.writelines(f"{name} {function}\\n" for name, function in list(steps))
"""
STEP = re.compile(r"`((?:rpc|_core)/[\w/]+\.py)`, `(\w+)`")


def described() -> dict[str, list[tuple[str, str, int]]]:
    """By section of the page: file, function and worker of each step."""
    text = (DOCS / PAGE).read_text()
    found: dict[str, list[tuple[str, str, int]]] = {}
    for title in ("Follow one call", "Follow one backward pass", "The end of the context"):
        section = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        worker, steps = 0, found.setdefault(title, [])
        for line in section.replace("\n   ", " ").splitlines():
            named = re.match(r"On worker(\d)|The answer takes .* On worker(\d)|`\w+.*On worker(\d)", line)
            if named:
                worker = int(next(filter(None, named.groups())))
            steps += [(file, function, worker) for file, function in STEP.findall(line)]
    return found


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[str, str]]]:
    """The functions that each worker entered, in order."""
    (program,) = programs(PAGE)
    where = tmp_path_factory.mktemp("tour")
    (where / "program.py").write_text(WATCH + program + WRITE)
    command = [sys.executable, "-m", "mpigrad", "run", "-n", "2", "program.py"]
    environment = {**clean_environment(), "MPIGRAD_COMPILED": "0", "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert "tensor([1., 1., 1.])" in done.stdout
    steps = [(where / f"steps{rank}").read_text().splitlines() for rank in range(2)]
    return [[tuple(line.split()) for line in lines] for lines in steps]  # type: ignore[misc]


def test_the_page_has_the_steps_of_both_walks() -> None:
    found = described()
    assert [len(steps) > 0 for steps in found.values()] == [True] * 3
    assert {worker for _, _, worker in found["Follow one call"]} == {0, 1}
    assert {worker for _, _, worker in found["Follow one backward pass"]} == {0, 1}
    for steps in found.values():
        assert len({file for file, _, _ in steps}) <= 16, "short enough to follow"


def test_the_program_takes_the_steps(taken) -> None:
    for title, steps in described().items():
        for file, function, worker in steps:
            assert (file, function) in taken[worker], f"{title}: {file}, {function} on worker{worker}"


def test_the_caller_takes_its_steps_in_this_order(taken) -> None:
    """The first steps of both walks, on the thread of the program. What waits or comes as an answer has no fixed place."""
    ends = {
        "Follow one call": ("_core/rpc/progress.py", "wait"),
        "Follow one backward pass": ("_core/autograd/passes.py", "send"),
    }
    for title, last in ends.items():
        steps = [(file, function) for file, function, _ in described()[title]]
        steps = steps[: 1 + next(place for place, step in enumerate(steps) if step == last)]
        main = [step for step in steps if step[1] not in ("padded_bytes", "encode", "path_below", "sharing_with")]
        start = len(taken[0]) - 1 - taken[0][::-1].index(main[0])  # the last call of rpc_sync or backward
        rest = iter(taken[0][start:])
        assert all(step in rest for step in main), f"{title}: another order than {main}"
