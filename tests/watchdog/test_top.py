"""Reports of ranks for `mpigrad top`, and the table made of them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._cli import main
from mpigrad._cli.top import table
from mpigrad._watchdog import jobs
from mpigrad._watchdog.jobs import Report
from mpigrad._watchdog.report import Reporter
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
    assert "a circle of calls: worker0, worker1" in text
    assert "worker0 is at train.py:22 answer" in text


def test_a_job_is_found_by_name_and_those_of_dead_launchers_are_removed(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    job, dead = jobs.new_job("some/train.py"), jobs.base() / "old.py-999999999"
    dead.mkdir()
    jobs.write(job, report(0, ended=True, waits=[]))
    assert main(["top", "train", "--once"]) == 0
    assert capsys.readouterr().out.splitlines()[3].split()[4] == "ended"
    assert main(["top", "old"]) == 2
    assert f"there are: {job.name}" in capsys.readouterr().err
    assert not dead.exists()
    os.chmod(jobs.base(), 0o755)
    assert main(["top"]) == 2
    assert "belongs to another user, or others can" in capsys.readouterr().err


@pytest.mark.mpi(min_size=2)
def test_a_rank_that_waits_reports_for_whom(rpc_world, tmp_path: Path) -> None:
    job = Path(rpc_world.gather(str(tmp_path))[0])
    reporter = Reporter(job)
    release.clear()
    rpc_world.barrier()
    call = rpc.rpc_async(rpc_world.next_name, held_up)

    mine = eventually(lambda: [each for each in jobs.read(job) if each["rank"] == rpc_world.rank and each["waits"]])[0]
    assert [(wait["rank"], wait["function"]) for wait in mine["waits"]] == [(rpc_world.next_rank, "held_up")]
    assert int(mine["counters"]["agent.client_active_calls"]) == 1 and mine["memory"] > 10_000_000
    eventually(lambda: [each for each in jobs.read(job) if any("held_up (served)" in place for place in each["here"])])
    rpc_world.barrier()
    release.set()
    call.wait()
    reporter.stop()
    assert eventually(lambda: jobs.read(job)[rpc_world.rank])["ended"]
    rpc_world.barrier()  # before the directory goes
