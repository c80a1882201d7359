"""Programs that start their ranks in a loop of `Process`, as PyTorch's tutorial does; processes that are no ranks."""

from __future__ import annotations

import pytest

PROGRAM = """
import os, sys
import mpigrad
import mpigrad.distributed as dist
import mpigrad.multiprocessing as mp

def run(rank, size):
    tensor = mpigrad.ones(1) * (rank + 1)
    dist.all_reduce(tensor)
    print("rank", rank, "of", size, tensor.item())

def init_process(rank, size, fn, backend="gloo"):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29500"
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)
    if sys.argv[2:] == ["fail"] and rank == 1:
        sys.exit(3)

if __name__ == "__main__":
    size, processes = 2, []
    mp.set_start_method(sys.argv[1])
    for rank in range(size):
        process = mp.Process(target=init_process, args=(rank, size, run))
        process.start()
        processes.append(process)
        if sys.argv[2:] == ["one"]:
            break
    for process in processes:
        process.join()
    print("codes", [process.exitcode for process in processes], [process.is_alive() for process in processes])
"""


@pytest.fixture
def program(tmp_path) -> str:
    (tmp_path / "program.py").write_text(PROGRAM)
    return "program.py"


def lines(done) -> list[str]:
    return sorted(filter(None, done.stdout.splitlines()))


def test_a_loop_is_one_job(python, program: str) -> None:
    done = python(program, "spawn")
    assert lines(done) == ["codes [0, 0] [False, False]", "rank 0 of 2 3.0", "rank 1 of 2 3.0"], done.stderr


def test_a_loop_in_a_launched_program(python, program: str) -> None:
    done = python("-m", "mpigrad", "run", "-n", "2", program, "spawn")
    assert lines(done) == ["codes [0, 0] [False, False]"] * 2 + ["rank 0 of 2 3.0", "rank 1 of 2 3.0"], done.stderr


def test_exit_codes(python, program: str) -> None:
    done = python(program, "spawn", "fail")
    assert any(f"codes [{code}, 3] [False, False]" in done.stdout for code in (0, -15)), done.stdout + done.stderr


def test_a_world_that_is_not_started_whole(python, program: str) -> None:
    done = python(program, "spawn", "one")
    assert "RuntimeError: 1 of 2 ranks were started. MPI starts the ranks of a job together: `mpiexec -n 2" in done.stderr


def test_forked_processes_are_refused_before_mpi_is_touched(python, program: str) -> None:
    done = python("-m", "mpigrad", "run", "-n", "2", program, "fork")
    assert done.stderr.count("was started by Python's multiprocessing inside a process that uses MPI") == 4
    assert "mpigrad.multiprocessing.spawn, or set_start_method('spawn')" in done.stderr
    assert "codes [1, 1]" in done.stdout


HELPER = """
import mpigrad.multiprocessing as mp
from mpi4py import MPI  # the process imports this module again

def help(queue):
    queue.put((MPI.COMM_WORLD.size, "PMIX_RANK" in __import__("os").environ))

if __name__ == "__main__":
    context = mp.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=help, args=(queue,))
    process.start()
    print(MPI.COMM_WORLD.size, *queue.get(timeout=30))
    process.join()
"""


def test_processes_of_a_rank_are_not_taken_for_it(python, tmp_path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    done = python("-m", "mpigrad", "run", "-n", "2", "helper.py")
    assert lines(done) == ["2 1 False"] * 2, done.stderr


@pytest.mark.parametrize("words", [["--rank", "1"], ["--rank=1"]])
def test_ranks_started_by_hand_are_told_how(python, tmp_path, words: list[str]) -> None:
    (tmp_path / "main.py").write_text("import mpigrad.distributed as dist\ndist.init_process_group(rank=1, world_size=2)")
    done = python("main.py", *words)
    assert f"or, if the ranks have different arguments, `mpiexec -n 1 python main.py {' '.join(words)} : -n 1" in done.stderr
