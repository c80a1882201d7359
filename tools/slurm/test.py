"""Submit every batch script of slurm/ to a cluster on this machine and check what it prints: tools/slurm/test.py

tools/slurm/up.sh must have started the cluster (make test-slurm does it all). SLURM_CONF names its configuration.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
HELLO = """
import os
from mpi4py import MPI
import mpigrad.distributed.rpc as rpc
comm = MPI.COMM_WORLD
rpc.init_rpc(f"worker{comm.rank}", rank=comm.rank, world_size=comm.size)
there = rpc.rpc_sync(f"worker{(comm.rank + 1) % comm.size}", os.getenv, args=("SLURMD_NODENAME",))
gpu = os.environ.get("CUDA_VISIBLE_DEVICES")
print(f"rank {comm.rank} of {comm.size} next on {there} gpu {gpu}\\n", end="", flush=True)  # in one piece
rpc.shutdown()
"""
FAIL = """
from mpi4py.MPI import COMM_WORLD as world
import mpigrad.distributed.rpc as rpc
rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
if world.rank == 1:
    raise KeyError("bad thing")
rpc.shutdown()
"""
DIE = """
import os, signal
from mpi4py.MPI import COMM_WORLD as world
import mpigrad.distributed.rpc as rpc
rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
if world.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
rpc.shutdown()
"""
PLACED = """
import os
import mpigrad.distributed.rpc as rpc
rank = int(os.environ["SLURM_PROCID"])
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=4)
"""
SURVIVES = """
import os, signal, sys, threading, time
import mpigrad.distributed.rpc as rpc
rank, size, life = (int(os.environ.get(name, 0)) for name in ("RANK", "WORLD_SIZE", "MPIGRAD_INCARNATION"))
over = threading.Event()
def die(): os.kill(os.getpid(), signal.SIGKILL)
def end(): over.set()
def where(): return os.environ["SLURM_NODEID"], life
rpc.init_rpc(f"worker{rank}", rank=rank, dynamic=True)
if rank == 0:
    for other in range(1, size):
        rpc.wait_for_worker(f"worker{other}")
    first = rpc.get_worker_info("worker1")
    rpc.rpc_async("worker1", die)
    while rpc.wait_for_worker("worker1", 60) == first:
        time.sleep(0.01)
    print("worker1 is back:", rpc.rpc_sync("worker1", where)[1], "of", size, "ranks", flush=True)
    for info in rpc.get_worker_infos():
        rpc.rpc_sync(info, end)
over.wait(60)
rpc.shutdown()
if "--too-few" in sys.argv and os.environ.get("SLURM_RESTART_COUNT", "0") == "0":
    sys.exit(75)
"""
# MPICH from the wheel publishes more bytes than its address: memory behind it sometimes makes lines too long for SLURM's pmi2
# (strace shows docstrings of NumPy), the more often the more was imported before MPI. With one network device addresses are
# shorter and it is rare, so the test tries again. slurm/site.sh chooses mpirun for this MPI.
PMI2_REFUSED = "mpi/pmi2: value not properly terminated in client request"
ATTEMPTS = 5
TWO_NODES = ("--nodes=2", "--ntasks-per-node=2")


class Cluster:
    """Jobs of one environment, submitted from a scratch directory that holds the batch scripts."""

    def __init__(self, venv: str, launch: str) -> None:
        self.venv, self.launch, self.name = venv, launch, f"{Path(venv).name} {launch}"
        self.pmi2 = launch == "srun" and (Path(venv) / "bin" / "mpichversion").exists()
        self.directory = Path(tempfile.mkdtemp(prefix="mpigrad-slurm-test-"))
        (self.directory / "slurm").symlink_to(ROOT / "slurm")
        for name, program in {"hello": HELLO, "fail": FAIL, "die": DIE, "placed": PLACED, "survives": SURVIVES}.items():
            (self.directory / f"{name}.py").write_text(program)
        # the "nodes" share the cores of this machine, so ranks must not be bound
        settings = {"PYTHONPATH": str(ROOT), "PRTE_MCA_hwloc_default_binding_policy": "none"}
        settings |= {"UCX_NET_DEVICES": "lo"} if self.pmi2 else {}
        self._environment = {**os.environ, **settings, "VENV": venv, "LAUNCH": launch}

    def submit(self, *arguments: str) -> str:
        """Submit a batch script and return the job's id."""
        command = ["sbatch", "--parsable", "--output=%j.out", *arguments]
        done = subprocess.run(command, cwd=self.directory, env=self._environment, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: {done.stderr}")
        return done.stdout.strip()

    def batch(self, *lines: str) -> str:
        """Run lines of a batch script on two nodes, and return their output."""
        script = self.directory / "lines.sh"
        script.write_text("\n".join(["#!/bin/bash", 'source "$SLURM_SUBMIT_DIR/slurm/site.sh"', *lines, "true\n"]))
        return self.finish(self.submit(*TWO_NODES, str(script)))

    def output(self, job: str) -> str:
        """The output of the job so far."""
        file = self.directory / f"{job}.out"
        return file.read_text() if file.exists() else ""

    def state(self, job: str) -> str:
        """The job's state; unknown if a busy controller does not answer in time."""
        done = subprocess.run(["scontrol", "show", "job", job], capture_output=True, text=True)
        match = re.search(r"JobState=(\w+)", done.stdout)
        return match[1] if match else "GONE" if "Invalid job id" in done.stderr else "UNKNOWN"

    def wait(self, job: str, condition: Callable[[], bool], what: str, seconds: float = 180) -> None:
        """Wait until the condition holds, or fail with the job's output."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                subprocess.run(["scancel", job])
                raise AssertionError(f"job {job} ({self.state(job)}): {what} did not happen:\n{self.output(job)}")
            time.sleep(0.2)

    def finish(self, job: str) -> str:
        """Wait for a job that must succeed, and return its output."""
        states = ["UNKNOWN"]

        def ended() -> bool:
            states.append(self.state(job))
            return states[-1] not in ("UNKNOWN", "PENDING", "RUNNING", "COMPLETING", "CONFIGURING")

        self.wait(job, ended, "the end")
        if states[-1] != "COMPLETED":
            raise AssertionError(f"job {job} is {states[-1]}:\n{self.output(job)}")
        return self.output(job)


def expect(text: str, *patterns: str) -> None:
    """Fail unless every pattern is found."""
    for pattern in patterns:
        if not re.search(pattern, text, re.MULTILINE):
            raise AssertionError(f"{pattern!r} is not in:\n{text}")


def one_node(cluster: Cluster) -> None:
    output = cluster.finish(cluster.submit("--ntasks-per-node=2", "slurm/cpu_one_node.sh", "hello.py"))
    expect(output, *(rf"rank {rank} of 2 next on n\d" for rank in range(2)))


def from_another_folder(cluster: Cluster) -> None:
    """The script is given by its path, and submitted from a directory that contains neither it nor site.sh."""
    script, program = cluster.directory / "slurm" / "cpu_one_node.sh", cluster.directory / "hello.py"
    elsewhere = cluster.directory / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    options = (f"--chdir={elsewhere}", f"--output={cluster.directory}/%j.out", "--ntasks-per-node=2")
    job = cluster.submit(*options, str(script), str(program))
    expect(cluster.finish(job), *(rf"rank {rank} of 2 next on n\d" for rank in range(2)))


def several_nodes(cluster: Cluster) -> None:
    output = cluster.finish(cluster.submit(*TWO_NODES, "slurm/cpu_nodes.sh", "hello.py"))
    expect(output, r"^mpigrad \d", *(rf"rank {rank} of 4 next on n\d" for rank in range(4)))
    if len(set(re.findall(r"next on (n\d)", output))) != 2:
        raise AssertionError(f"the ranks are not on two nodes:\n{output}")


def gpus(cluster: Cluster) -> None:
    output = cluster.finish(cluster.submit("--nodes=1", "slurm/gpu.sh", "hello.py"))
    seen = re.findall(r"rank (\d) of 2 .* gpu (\S+)", output)
    # each rank sees one device, and all see different ones
    if sorted(device for _, device in seen) != ["0", "1"]:
        raise AssertionError(f"not one device for each rank: {seen}\n{output}")


def scaling(cluster: Cluster) -> None:
    job = cluster.submit("--nodes=2", "slurm/bench_scaling.sh", "--quick")
    output = cluster.finish(job)
    expect(output, r"== 1 node\(s\), 2 ranks", r"== 2 node\(s\), 4 ranks", r"rpc_sync")
    files = sorted(path.name for path in (cluster.directory / f"bench-{job}").iterdir())
    if files != ["nodes-1.json", "nodes-2.json"]:
        raise AssertionError(f"results {files}\n{output}")


def requeue(cluster: Cluster) -> None:
    """Interrupt a run in the middle; the requeued job must end with the same loss as an uninterrupted run."""
    arguments = ["slurm/checkpoint_requeue.sh", "slurm/train_checkpoint.py", "--steps", "30", "--every", "5"]
    whole = cluster.finish(cluster.submit(*arguments))
    job = cluster.submit(*arguments, "--pause", "0.2")
    cluster.wait(job, lambda: "saved step 10" in cluster.output(job), "the second checkpoint")
    subprocess.run(["scancel", "--batch", "--signal=USR1", job], check=True)
    cluster.wait(job, lambda: "back to the queue" in cluster.output(job), "the interruption")
    cluster.wait(job, lambda: "final loss" in cluster.output(job), "the end after the requeue")
    output = cluster.finish(job)
    expect(output, "== start number 1", "== start number 2", "begin at step 0", r"resume at step [12]\d")
    loss = re.compile(r"final loss (\S+) after 30 steps")
    first, second = loss.search(whole), loss.search(output)
    if not first or not second or first[1] != second[1]:
        raise AssertionError(f"not the same final loss:\n{whole}\n----\n{output}")


def commands(cluster: Cluster) -> None:
    """`mpigrad run` and `doctor` work inside an allocation, and a rank that fails ends the job with its traceback."""
    if cluster.launch == "mpirun":  # without -n: as many ranks as the allocation has tasks
        output = cluster.batch(*(f"python -m mpigrad {words}; code=$?; echo; echo code $code" for words in
                                 ("run hello.py", "doctor", "run --prefix fail.py")))  # fmt: skip
        expect(output, r"^allocation +SLURM job \d+: 4 tasks on 2 node", "rank 1 failed and ends the job")
    else:
        output = cluster.batch(*(f'"${{LAUNCHER[@]}}" python {words}; code=$?; echo; echo code $code' for words in
                                 ("hello.py", "-m mpigrad doctor", "fail.py")))  # fmt: skip
    expect(output, *(rf"rank {rank} of 4 next on n\d" for rank in range(4)), r"^ranks +4 on ", "KeyError: 'bad thing'")
    codes = re.findall(r"^code (\d+)", output, re.MULTILINE)
    if codes[:2] != ["0", "0"] or len(codes) != 3 or codes[2] == "0":
        raise AssertionError(f"exit codes {codes} of run, doctor and a failing program:\n{output}")


def killed(cluster: Cluster) -> None:
    """A killed rank ends the step, long before calls of the other ranks time out."""
    output = cluster.batch(
        'SECONDS=0; timeout 100 "${LAUNCHER[@]}" python die.py; code=$?; echo; echo code $code after $SECONDS s'
    )
    found = re.search(r"^code (\d+) after (\d+) s", output, re.MULTILINE)
    if found is None or found[1] in ("0", "124") or int(found[2]) > 50:
        raise AssertionError(f"a killed rank did not end the job:\n{output}")


def survive(cluster: Cluster) -> None:
    """A killed rank is replaced by a spare; a program that finds too few left goes back to the queue, once."""
    if cluster.launch == "srun" or not (Path(cluster.venv) / "bin" / "prterun").exists():
        return  # needs the mpiexec of Open MPI 5
    output = cluster.finish(cluster.submit("slurm/survive.sh", "survives.py"))
    expect(output, "== start number 1", "worker1 is back: 1 of 3 ranks")
    if "back to the queue" in output:
        raise AssertionError(f"a job that could go on was put back into the queue:\n{output}")
    job = cluster.submit("slurm/survive.sh", "survives.py", "--too-few")
    cluster.wait(job, lambda: "== start number 2" in cluster.output(job), "the second start")
    expect(cluster.finish(job), "== too few ranks are left; back to the queue")


def wrong_pmi(cluster: Cluster) -> None:
    """srun without a PMI starts four worlds of one rank: every rank reports it."""
    if cluster.launch == "srun":
        programs = ("-m mpigrad doctor", "hello.py", "placed.py")
        output = cluster.batch(*(f"srun --mpi=none python {program}" for program in programs))
        expect(output, "ERROR: 4 ranks were started, but MPI sees a world of 1", "srun use --mpi=pmix for Open MPI",
               r"RuntimeError: the job was started with 4 ranks, but MPI sees 1",
               r"RuntimeError: .* world_size=4, .* 1 ranks; the launcher has started 4 ranks")  # fmt: skip


SCRIPTS = (one_node, from_another_folder, several_nodes, gpus, scaling, commands, killed, wrong_pmi, requeue, survive)


def run(cluster: Cluster, script: Callable[[Cluster], None]) -> bool:
    """Run one test; returns whether it passed."""
    for attempt in range(ATTEMPTS):
        start = time.monotonic()
        try:
            script(cluster)
            verdict = "ok"
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            verdict = f"FAILED\n{error}"
        refused = PMI2_REFUSED in verdict and attempt + 1 < ATTEMPTS
        said = "SLURM's pmi2 refused MPICH's address, try again" if refused else verdict
        print(f"{cluster.name:<14} {script.__name__:<14} {time.monotonic() - start:5.1f} s  {said}", flush=True)
        if not refused:
            break
    return verdict == "ok"


def main() -> int:
    """Run every script with every environment, by srun and by mpirun."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environments", nargs="+", metavar="VENV")
    parser.add_argument("--only", choices=[script.__name__ for script in SCRIPTS])
    args = parser.parse_args()
    clusters = [Cluster(os.path.abspath(venv), launch) for venv in args.environments for launch in ("srun", "mpirun")]
    scripts = [script for script in SCRIPTS if args.only in (None, script.__name__)]

    def run_all(cluster: Cluster) -> list[str]:
        chosen = [script for script in scripts if not cluster.pmi2 or script not in (scaling, commands)]
        return [f"{cluster.name} {script.__name__}" for script in chosen if not run(cluster, script)]

    with ThreadPoolExecutor(2) as pool:  # much of a requeue is waiting
        failed = [name for names in pool.map(run_all, clusters) for name in names]
    print(f"failed: {', '.join(failed)}" if failed else "all batch scripts passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
