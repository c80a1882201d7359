"""Real deaths of ranks in jobs of Open MPI that go on without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mpigrad._launch.command import can_survive, surviving
from mpigrad._launch.launcher import Launcher, LauncherError, Library, mpi_library
from mpigrad._process import survival
from tests.attack import deaths
from tests.support.commands import ROOT, clean_environment

PROGRAM = Path(__file__).with_name("deaths_at_the_edges.py")


@pytest.fixture
def open_mpi() -> None:
    library = mpi_library()
    if not can_survive(library.vendor, library.version):
        pytest.skip(f"{library.vendor} {library.version} ends the job when a rank dies")


@pytest.mark.usefixtures("open_mpi")
@pytest.mark.deadline(150)
@pytest.mark.parametrize(
    ("moment", "said", "code"),
    [
        ("before_init", {0: "the start failed", 1: "the start failed", 2: "the start failed"}, 0),
        ("in_init 0", {1: "the start failed", 2: "the start failed", 3: "the start failed"}, 0),
        ("in_init 1 3", {0: "the start failed", 2: "the start failed"}, 0),
        ("rank_zero", {1: "rank 0 is lost", 2: "rank 0 is lost", 3: "rank 0 is lost"}, 3),
        ("exception", {0: "['worker3'] lost", 1: "['worker3'] lost", 2: "['worker3'] lost"}, 0),
        ("silent_exit", {0: "['worker3'] lost", 1: "['worker3'] lost", 2: "['worker3'] lost"}, 0),
        ("all_but_one", {1: "3 lost"}, 0),
        ("all_of_them", {}, 1),
        ("again", dict.fromkeys(range(4), "30 worlds"), 0),
        ("group_call", {0: "['worker3'] failed, WorkerLostError"}, 0),
        ("world_of_survivors", {0: "[0, 1, 2]", 2: "[0, 1, 2]", 3: "[0, 1, 2]"}, 0),
    ],
)
def test_a_death_at_a_special_moment(tmp_path: Path, moment: str, said: dict[int, str], code: int) -> None:
    command = [sys.executable, "-m", "mpigrad", "run", "--survive", "-n", "4", str(PROGRAM), str(tmp_path), moment]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=120)
    found = {int(each.name): each.read_text() for each in tmp_path.iterdir()}
    assert (found, done.returncode) == (said, code), done.stdout + done.stderr


@pytest.mark.deadline(150)
def test_a_stopped_rank_is_lost_with_any_mpi(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mpigrad", "run", "--heartbeat", "1", "-n", "3", str(PROGRAM), str(tmp_path), "stopped"]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=120)
    found = {int(each.name): each.read_text() for each in tmp_path.iterdir()}
    assert found == dict.fromkeys((0, 1), "worker2 is lost, and has ended"), done.stdout + done.stderr


@pytest.mark.usefixtures("open_mpi")
@pytest.mark.deadline(200)
def test_a_few_seconds_of_the_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*deaths.os.environ]:
        if name not in clean_environment():
            monkeypatch.delenv(name)
    # not "collectives": Open MPI 5.0.11 can crash if a rank dies while others shrink a group (guides/recovering.md)
    job = deaths.one_job(seed=1, size=4, kind="work", stops="")
    assert job["deaths"] == {"kill": 2} and job["times"]["kill lost"] and job["times"]["kill error"]


@pytest.mark.parametrize(("vendor", "version"), [("MPICH", "5.0.2"), ("Open MPI", "4.1.8"), ("Intel MPI", "2021.15")])
def test_other_mpis_refuse_to_survive(vendor: str, version: str) -> None:
    launcher = Launcher("/usr/bin/mpiexec", "on PATH", Library(vendor, version, None))
    with pytest.raises(LauncherError, match=f"Open MPI 5 or later .* this is {vendor} {version}"):
        surviving(launcher)


def test_srun_refuses_to_survive() -> None:
    with pytest.raises(LauncherError, match="this is srun"):
        surviving(Launcher("/usr/bin/srun", "", Library("Open MPI", "5.0.8", None)))


def test_the_variable_without_the_launchers_option_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(survival.SURVIVE, "1")
    monkeypatch.delenv("OMPI_MCA_mpi_ft_enable", raising=False)
    with pytest.raises(RuntimeError, match="--with-ft ulfm"):
        survival.survive()
    monkeypatch.setenv("OMPI_MCA_mpi_ft_enable", "1")
    assert survival.survive()
    monkeypatch.setenv(survival.SURVIVE, "0")
    assert not survival.survive()


@pytest.mark.parametrize("text", ["-1", "often", "0.01", "nan"])
def test_heartbeats_that_are_no_time(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(survival.HEARTBEAT, text)
    with pytest.raises(RuntimeError, match="MPIGRAD_HEARTBEAT"):
        survival.heartbeat()
