"""Reports of ranks for `mpigrad top`, and the table made of them."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._cli import main
from mpigrad._cli.top import table
from mpigrad._watchdog import attach, jobs
from mpigrad._watchdog.jobs import Report
from mpigrad._watchdog.report import Rank, Reporter
from tests.support.eventually import eventually

release = threading.Event()


def held_up() -> None:
    release.wait(40)


def report(rank: int, *waits: tuple[int, str, float | None], **more: object) -> Report:
    counters = {"agent.client_active_calls": str(len(waits)), "num_owner_rrefs": "3"}
    asked = [dict(zip(("rank", "function", "seconds"), wait)) for wait in waits]
    return {
        "rank": rank, "size": 3, "host": "n1", "pid": 40 + rank, "time": 100.0, "ended": False, "cpu": 0.5, "memory": 7_000_000,
        "here": ["train.py:22 answer"], "worker": f"worker{rank}", "waits": asked, "counters": counters, **more,
    }  # fmt: skip


def test_the_table_has_a_line_for_each_rank_and_says_who_waits_for_whom() -> None:
    lines = table("train.py-7", [report(0, (1, "f", 6.0)), report(1, (0, "g", None), time=90.0)], 100.4)
    assert lines[0].startswith("train.py-7  2 of 3 ranks report")
    assert [" ".join(line.split()[:3]) for line in lines[2:5]] == ["rank worker host", "0 worker0 n1", "1 worker1 n1"]
    assert "0 s ago" in lines[3] and "10 s ago!" in lines[4]
    text = "\n".join(lines)
    assert "no report of rank(s) 2" in text
    assert "worker0 waits for 6 s for f on worker1\nworker1 waits for g on worker0\n" in text
    assert "worker1 does not report: it is dead, stopped, or stuck outside of Python" in text
    assert "deadlock, these workers wait for each other: worker0, worker1" in text
    assert "worker0 is at train.py:22 answer" in text


@pytest.fixture
def listens(monkeypatch) -> Iterator[None]:
    """This process listens as rank 0 of the job some.py-77."""
    monkeypatch.setenv(attach.JOB, "some.py-77")
    monkeypatch.setattr(attach, "_listener", None)
    attach.listen(Rank().report)
    assert attach._listener is not None
    yield
    attach._listener.shutdown(socket.SHUT_RDWR)
    attach._listener.close()


def test_a_job_of_this_host_is_found_by_name_and_asked(listens, capsys) -> None:
    assert main(["top", "some", "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("some.py-77  1 of")
    assert str(os.getpid()) in lines[3].split() and "0 s ago" in lines[3]
    assert main(["top", "other"]) == 2
    assert "no job 'other' of yours on this host" in capsys.readouterr().err


def test_a_rank_that_ended_or_does_not_answer_is_shown_as_such(listens, monkeypatch) -> None:
    monkeypatch.setattr(attach, "SECONDS", 0.05)
    job = jobs.Attached("some.py-77")
    with socket.socket(socket.AF_UNIX) as stuck:
        stuck.bind(attach._address(attach.Rank("some.py-77", 1, 999999999)))
        stuck.listen()
        lines = table(job.name, eventually(lambda: len(found := job.reports()) == 2 and found), time.time())
        assert lines[4].split()[:5] == ["1", "-", "-", "999999999", "none!"]
    assert [each["ended"] for each in eventually(lambda: len(attach.running()) > 0 and job.reports())] == [False, True]


def test_ranks_of_other_users_are_not_asked(listens, monkeypatch) -> None:
    monkeypatch.setattr(attach, "_peer", lambda connection: (1, os.getuid() + 1, 1))
    assert [rank.job for rank in attach.running() if rank.pid == os.getpid()].count("some.py-77") == 1
    assert not list(attach.ask(attach.running()))


def test_a_forked_child_closes_the_socket_of_its_parent(monkeypatch) -> None:
    inherited = socket.socket(socket.AF_UNIX)
    monkeypatch.setattr(attach, "_listener", inherited)
    attach._after_fork()
    assert inherited.fileno() == -1 and attach._listener is None


def test_names_of_jobs(monkeypatch) -> None:
    assert attach.job_name("some/train all.py", 7) == "train_all.py-7"
    monkeypatch.delenv(attach.JOB, raising=False)
    monkeypatch.setattr("sys.argv", ["a/train.py"])
    monkeypatch.setattr(attach, "in_slurm_step", lambda: False)
    assert attach._own_job() == f"train.py-{os.getppid()}"
    monkeypatch.setattr(attach, "in_slurm_step", lambda: True)
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setenv("SLURM_STEP_ID", "3")
    assert attach._own_job() == "train.py-12.3"


@pytest.mark.mpi(min_size=2)
def test_a_rank_that_waits_reports_for_whom(rpc_world, tmp_path: Path) -> None:
    directory = Path(rpc_world.gather(str(tmp_path))[0])
    reporter = Reporter(directory)
    release.clear()
    rpc_world.barrier()
    call = rpc.rpc_async(rpc_world.next_name, held_up)
    for job in (jobs.Directory(directory), jobs.Attached(attach._own_job())):
        mine = eventually(lambda: [each for each in job.reports() if each["rank"] == rpc_world.rank and each["waits"]])[0]
        assert [(wait["rank"], wait["function"]) for wait in mine["waits"]] == [(rpc_world.next_rank, "held_up")]
        assert int(mine["counters"]["agent.client_active_calls"]) == 1 and mine["memory"] > 10_000_000
        eventually(lambda: [each for each in job.reports() if any("held_up (served)" in place for place in each["here"])])
        rpc_world.barrier()
    release.set()
    call.wait()
    reporter.stop()
    assert eventually(lambda: jobs.Directory(directory).reports()[rpc_world.rank])["ended"]
    rpc_world.barrier()  # before the directory goes
