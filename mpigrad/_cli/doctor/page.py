"""The text of the report: facts, then each problem with advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from mpigrad._cli.doctor.findings import Finding
from mpigrad._launch.command import can_survive

Row = tuple[str, str]


def _software(machine: dict[str, Any]) -> Iterator[Row]:
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    yield "mpigrad", f"{machine['mpigrad']} ({machine['compiled']}) on Python {machine['python']}"
    yield "packages", packages
    mpi = machine["mpi"]
    if "vendor" in mpi:
        yield "MPI", f"{mpi['vendor']} {mpi['version']} ({mpi['library']})"
    if mpi.get("launcher"):
        yield "launcher", f"{mpi['launcher']} ({mpi['launcher_found']})"
    if "vendor" in mpi:
        yield "deaths", _deaths(mpi)


def _deaths(mpi: dict[str, Any]) -> str:
    """What happens when a rank dies."""
    if can_survive(mpi["vendor"], mpi["version"]):
        return "the death of a rank ends the job, unless it was started with `mpigrad run --survive`"
    return "the death of a rank ends the job, as this MPI cannot go on without it (Open MPI 5 can)"


def _hardware(machine: dict[str, Any]) -> Iterator[Row]:
    yield "host", f"{machine['host']}, {machine['usable_cores']} of {machine['cores']} cores usable"
    gpu = machine["gpu"]
    yield "GPU", f"{gpu['devices'] or 'none'}; CuPy: {gpu['cupy'] or 'not installed'}"
    if gpu["cuda_aware"]:
        yield "GPU and MPI", f"{'CUDA-aware' if gpu['cuda_aware']['works'] else 'staged'}: {gpu['cuda_aware']['why']}"
    if allocation := machine["allocation"]:
        counts = f"{allocation['tasks']} tasks on {allocation['nodes']} node(s)"
        yield "allocation", f"{allocation['system']} job {allocation['job']}: {counts}"


def _job(job: dict[str, Any]) -> Iterator[Row]:
    hosts = Counter(rank["host"] for rank in job["ranks"])
    yield "ranks", f"{job['size']} on " + ", ".join(f"{host} ({count})" for host, count in hosts.items())
    yield "binding", "; ".join(f"rank {i}: {len(r['cores'])} core(s)" for i, r in enumerate(job["ranks"][:8]))
    yield "threads", f"MPI_THREAD_{job['thread_level']}, MPI standard {job['standard']}"
    yield "start-up", job["pmi"] or "no PMI variables"
    aware = {True: "yes", False: "no", None: "MPI does not say"}[job["cuda_aware"]]
    yield "CUDA-aware", aware
    if copying := job["copying"]:
        how = "copied by cross-memory attach" if copying["works"] else f"sent by MPI ({copying['why']})"
        yield "on one host", f"large arrays are {how}"
    if latency := job["latency"]:
        where = "same host" if latency["same_host"] else "two hosts"
        ranks = "ranks {} and {}, ".format(*latency["ranks"])
        speed = f"{latency['small_us']:.1f} us for 8 B, {latency['large_gb_s']:.2f} GB/s for 1 MiB"
        yield "self-test", f"{speed} ({ranks}{where}; raw MPI)"


def render(facts: dict[str, Any], found: list[Finding]) -> str:
    """The report as text."""
    rows = [*_software(facts["machine"]), *_hardware(facts["machine"])]
    if facts["job"]:
        rows += _job(facts["job"])
    lines = [f"{name:<11} {text}" for name, text in rows]
    for finding in found:
        lines += ["", f"{finding.level.upper()}: {finding.problem}", f"  -> {finding.remedy}"]
    errors = sum(finding.level == "error" for finding in found)
    lines += ["", f"{errors} error(s), {len(found) - errors} hint(s)" if found else "no problems found"]
    return "\n".join(lines)
