"""The batch scripts of slurm/, with stand-ins for SLURM's commands: where they look, what they start, when they stop."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import ROOT, clean_environment

SCRIPTS = ["cpu_one_node.sh", "cpu_nodes.sh", "gpu.sh", "checkpoint_requeue.sh", "bench_scaling.sh"]
PRINTS = '#!/bin/bash\necho {name} "$@" "[$MPIGRAD_EXPECTED_SIZE $SRUN_CPUS_PER_TASK $OMP_NUM_THREADS]"\n'


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def batch(tmp_path: Path):
    """Run a script as sbatch does: a copy of it, elsewhere, while SLURM knows where the original is."""
    folder, tools, venv, spool = (tmp_path / name for name in ("scripts of mine", "tools", "venv", "spool"))
    shutil.copytree(ROOT / "slurm", folder)
    for each in (tools, venv / "bin", spool):
        each.mkdir(parents=True)
    for name in ("srun", "mpiexec"):
        executable(tools / name, PRINTS.format(name=name))

    def run(script: str, *arguments: str, vendor: str = "Open MPI of the site", **variables: str):
        words = " ".join([str(folder / script), *arguments])
        executable(tools / "scontrol", f'#!/bin/bash\necho "   UserId=me"\necho "   Command={words}"\n')
        executable(venv / "bin" / "python", f'#!/bin/bash\n[ "$1" = -c ] && echo "{vendor}"\n')
        executable(venv / "bin" / "mpigrad", "#!/bin/bash\n")
        copy = shutil.copy(folder / script, spool / "slurm_script")
        job = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_JOB_NUM_NODES": "2", "SLURM_CPUS_PER_TASK": "3"}
        job["VENV"] = str(venv)
        environment = {**clean_environment(), "PATH": f"{tools}:{os.environ['PATH']}", **job, **variables}
        environment.pop("OMP_NUM_THREADS", None)
        command = ["bash", copy, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=20)

    return run


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_finds_its_site_wherever_it_is_submitted(batch, script: str) -> None:
    done = batch(script, "train.py", "--lr", "1")
    assert done.returncode == 0, done.stderr
    assert "srun --mpi=pmix -K " in done.stdout
    assert "train.py --lr 1" in done.stdout
    assert "[4 3 3]" in done.stdout


@pytest.mark.parametrize(
    ("vendor", "started"),
    [
        ("Open MPI of a wheel", "srun --mpi=pmix -K"),
        ("MPICH of the site", "srun --mpi=pmi2 -K"),
        ("MPICH of a wheel", "mpiexec -n 4"),
        ("Intel MPI of the site", "srun --mpi=pmi2 -K"),
    ],
)
def test_the_launcher_fits_the_mpi(batch, vendor: str, started: str) -> None:
    assert f"{started} python train.py [4 3 3]" in batch("cpu_nodes.sh", "train.py", vendor=vendor).stdout


@pytest.mark.parametrize(("code", "requeued"), [(0, False), (1, False), (75, True), (137, True)])
def test_only_a_job_with_too_few_ranks_left_goes_back_to_the_queue(batch, tmp_path: Path, code: int, requeued: bool) -> None:
    (tmp_path / "scripts of mine" / "site.sh").write_text(f"PATH={tmp_path}/stand-ins:$PATH\n")
    (tmp_path / "stand-ins").mkdir()
    executable(tmp_path / "stand-ins" / "mpigrad", f'#!/bin/bash\necho mpigrad "$@"\nexit {code}\n')
    executable(tmp_path / "stand-ins" / "sleep", "#!/bin/bash\n")
    done = batch("survive.sh", "train.py", "--lr", "1", SPARES="2")
    assert "mpigrad run --survive --spares 2 --heartbeat 10 -n 2 train.py --lr 1" in done.stdout, done.stderr
    assert (done.returncode, "back to the queue" in done.stdout) == (code, requeued)


def test_mistakes_end_the_script(batch, tmp_path: Path) -> None:
    """None of them may start a single rank and exit with 0."""
    done = batch("cpu_nodes.sh")
    assert (done.returncode != 0, "give a program" in done.stderr, "srun" in done.stdout) == (True, True, False)
    done = batch("cpu_nodes.sh", "train.py", VENV="/no/such")
    assert (done.returncode, "there is no Python in VENV=/no/such" in done.stderr, done.stdout) == (1, True, "")
    (tmp_path / "scripts of mine" / "site.sh").unlink()
    done = batch("cpu_nodes.sh", "train.py")
    assert (done.returncode != 0, "site.sh: No such file" in done.stderr, done.stdout) == (True, True, "")


def test_what_site_asks_mpi4py(tmp_path: Path) -> None:
    """The real answer, of this environment."""
    text = (ROOT / "slurm" / "site.sh").read_text().split('/bin/python" -c ')[1].split("'")[1]
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=clean_environment(), timeout=20)
    assert done.stdout.strip() in ("Open MPI of a wheel", "MPICH of a wheel", "Open MPI of the site", "MPICH of the site")


@pytest.mark.parametrize("size", ["4", "2"])
def test_another_number_of_ranks_is_refused(python, size: str) -> None:
    done = python("-c", "import mpigrad.distributed as dist; dist.init_process_group()", MPIGRAD_EXPECTED_SIZE=size)
    assert f"RuntimeError: the job was started with {size} ranks, but MPI sees 1." in done.stderr
