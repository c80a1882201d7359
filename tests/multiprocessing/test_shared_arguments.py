"""Shared tensors, queues and managers as arguments of `spawn`, plainly and under a launcher; Python's processes."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.multiprocessing as mp

PROGRAM = """
import sys
import mpigrad
import mpigrad.multiprocessing as mp

def train(rank, counts, model, queue, found):
    counts[rank] += 1
    optimizer = mpigrad.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        ((model(mpigrad.ones(4, 3)) - 1) ** 2).mean().backward()
        optimizer.step()
    if queue is not None:
        queue.put((rank, counts.is_shared()))
        found[rank] = "from the manager"

if __name__ == "__main__":
    counts, model = mpigrad.zeros(2), mpigrad.nn.Linear(3, 1)
    queue = manager = None
    if "explicit" in sys.argv:
        counts.share_memory_(), model.share_memory()
    else:
        queue, manager = mp.get_context("spawn").Queue(), mp.Manager()
    if "queue" in sys.argv:
        queue = mp.get_context("spawn").Queue()
    found = manager.dict() if manager else None
    mp.spawn(train, args=(counts, model, queue, found), nprocs=2)  # Hogwild
    print(counts.tolist(), ((model(mpigrad.ones(1, 3)) - 1) ** 2).item() < 1e-3)
    if manager:
        print(sorted(queue.get(timeout=10) for _ in range(2)), sorted(found.items()))
"""


@pytest.fixture
def program(tmp_path) -> str:
    (tmp_path / "program.py").write_text(PROGRAM)
    return "program.py"


def test_a_program_that_starts_its_ranks(python, program: str) -> None:
    """As in PyTorch all tensors among the arguments are shared."""
    done = python(program)
    assert done.stdout.splitlines() == [
        "[1.0, 1.0] True",
        "[(0, True), (1, True)] [(0, 'from the manager'), (1, 'from the manager')]",
    ], done.stderr


def test_ranks_of_a_launcher_share_what_rank_0_has_made(python, program: str) -> None:
    done = python("-m", "mpigrad", "run", "-n", "2", program, "explicit")
    assert [line for line in done.stdout.splitlines() if line] == ["[1.0, 1.0] True"] * 2, done.stderr


def test_queues_between_ranks_of_a_launcher_are_refused(python, program: str) -> None:
    done = python("-m", "mpigrad", "run", "-n", "2", program, "explicit", "queue")
    assert done.returncode != 0
    assert "a Queue of Python's multiprocessing cannot connect ranks that a launcher has started" in done.stderr


NOTEBOOK = """
import mpigrad.multiprocessing as mp
scale = 3
def main(rank, x):
    print("rank", rank, x * scale)
mp.spawn(main, args=(2,), nprocs=2)
context = mp.spawn(main, args=(3,), nprocs=2, join=False)
print(len(context.processes), len(context.sentinels), all(context.pids()), context.join())
print([process.exitcode for process in context.processes])
"""


def test_functions_of_a_notebook(python) -> None:
    """They are in no file that ranks could import; one called `main` is not mpigrad's."""
    done = python("-c", NOTEBOOK)
    lines = [line for line in done.stdout.splitlines() if line]
    assert sorted(lines[:2]) + sorted(lines[2:4]) == ["rank 0 6", "rank 1 6", "rank 0 9", "rank 1 9"], done.stderr
    assert lines[4:] == ["2 2 True True", "[0, 0]"]


def add_one(x: mpigrad.Tensor, answers, taken) -> None:
    x += 1
    answers.put(x)
    taken.wait(30)  # as in PyTorch a sender lives until its tensors have been taken


@pytest.mark.host
def test_python_processes_share_tensors_too() -> None:
    """Arguments are shared; what goes through a queue is copied unless it is shared already."""
    context = mp.get_context("spawn")
    x, answers, taken = mpigrad.zeros(2), context.Queue(), context.Event()
    process = context.Process(target=add_one, args=(x, answers, taken))
    process.start()
    came = answers.get(timeout=30)
    taken.set()
    process.join()
    assert process.exitcode == 0
    assert x.tolist() == [1, 1]
    assert came.is_shared()
    x[0] = 7
    assert came.tolist() == [7, 1]
    answers.put(mpigrad.ones(1))
    assert not answers.get(timeout=30).is_shared()
    answers.close()
    answers.join_thread()


def test_results_of_operators_are_not_sent() -> None:
    x = mpigrad.ones(1, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        mp.reductions.ForkingPickler.dumps(x)
