"""Run make targets one after another, continue after a failure, and end with a summary: tools/stages.py TARGET...

Logs of continuous integration are truncated at the front, so the ends of failed stages are repeated last. A stage that this
machine cannot run prints a line that begins with "left out:", which the summary repeats.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

STAGE_SECONDS = 900
LOGS = Path("build/stages")
NOISE = re.compile(r"^(\s*|make(\[\d+\])?: .*|-+)$")
LEFT_OUT = "left out:"


class Result(NamedTuple):
    name: str
    code: int
    seconds: float
    processor: float  # CPU seconds of all its processes, which vary less than the elapsed time on a shared machine
    left_out: str = ""  # the reason

    @property
    def verdict(self) -> str:
        if self.left_out and not self.code:
            return self.left_out
        return {0: "ok", -signal.SIGALRM: "TIMED OUT"}.get(self.code, f"FAILED ({self.code})")


def run(name: str, seconds: float) -> Result:
    """Run one make target, with its output on the screen and in a log file."""
    print(f"\n==== {name}", flush=True)
    start, used = time.monotonic(), _processor_seconds()
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", name]
    with open(LOGS / f"{name}.log", "w") as log:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        code = _follow(process, log, start + seconds)
    result = Result(name, code, time.monotonic() - start, _processor_seconds() - used, _left_out(name))
    print(f"==== {name}: {result.verdict}, {result.seconds:.1f} s", flush=True)
    return result


def _processor_seconds() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _follow(process: subprocess.Popen[str], log, deadline: float) -> int:
    """Copy the output until the process ends; kill its process group after the deadline."""
    timed_out = False

    def expire(signum: int, frame: object) -> None:
        nonlocal timed_out
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, max(0.1, deadline - time.monotonic()))
    try:
        for line in process.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            log.write(line)
        code = process.wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    return -signal.SIGALRM if timed_out else code


def _left_out(name: str) -> str:
    with open(LOGS / f"{name}.log", errors="replace") as log:
        return next((line.strip() for line in log if line.startswith(LEFT_OUT)), "")


def repeat_failure(result: Result, lines: int) -> None:
    """Print the end of a failing stage's log again."""
    print(f"\n==== {result.name}: {result.verdict}; the last {lines} lines of {LOGS / (result.name + '.log')}")
    with open(LOGS / f"{result.name}.log", errors="replace") as log:
        tail = deque((line for line in log if not NOISE.match(line)), maxlen=lines)
    sys.stdout.writelines(tail)


def summarise(results: list[Result]) -> None:
    """Print one line for each stage."""
    print("\n==== summary")
    for result in results:
        print(f"  {result.name:<14} {result.seconds:7.1f} s {result.processor:7.1f} CPU-s  {result.verdict}")
    total = sum(result.seconds for result in results)
    processor = sum(result.processor for result in results)
    failed = [result.name for result in results if result.code]
    left = [result.name for result in results if result.left_out and not result.code]
    verdict = "FAILED: " + ", ".join(failed) if failed else "ok, but for " + ", ".join(left) if left else "ok"
    print(f"  {'total':<14} {total:7.1f} s {processor:7.1f} CPU-s  {verdict}", flush=True)


def main() -> int:
    """Run the stages given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="+", metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=STAGE_SECONDS, help="limit for one stage (%(default)s)")
    parser.add_argument("--lines", type=int, default=100, help="lines repeated of a failing stage (%(default)s)")
    args = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    # make puts its own flags and job server in the environment; the stages are separate makes
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        os.environ.pop(name, None)
    results = [run(name, args.seconds) for name in args.stages]
    failed = [result for result in results if result.code]
    for result in failed:
        repeat_failure(result, max(40, args.lines // len(failed)))
    summarise(results)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
