"""Run make targets one after another, continue after a failure, and end with a summary: tools/stages.py TARGET...

TARGET+TARGET runs targets at the same time.

Logs of continuous integration are truncated at the front, so the ends of failed stages are repeated last. A stage that this
machine cannot run prints a line that begins with "left out:", which the summary repeats.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

STAGE_SECONDS = 900
LOGS = Path("build/stages")
NOISE = re.compile(r"^(\s*|make(\[\d+\])?: .*|-+)$")
LEFT_OUT = "left out:"
PRINTING = threading.Lock()
RUNNING: set[subprocess.Popen[str]] = set()


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


def run(names: list[str], seconds: float) -> list[Result]:
    """Run make targets at the same time; the output of one alone is shown as it is printed, that of several when each ends."""
    print(f"\n==== {', '.join(names)}", flush=True)
    if len(names) == 1:
        return [_run(names[0], seconds, live=True)]
    with ThreadPoolExecutor(len(names)) as threads:
        try:
            return list(threads.map(lambda name: _run(name, seconds, live=False), names))
        except BaseException:  # Ctrl-C reaches this thread alone
            for process in tuple(RUNNING):
                os.killpg(process.pid, signal.SIGKILL)
            raise


def _run(name: str, seconds: float, live: bool) -> Result:
    start = time.monotonic()
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
        code, processor = _follow(process, log, seconds, live)
    result = Result(name, code, time.monotonic() - start, processor, _left_out(name))
    with PRINTING:
        if not live:
            sys.stdout.write((LOGS / f"{name}.log").read_text(errors="replace"))
        print(f"==== {name}: {result.verdict}, {result.seconds:.1f} s", flush=True)
    return result


def _follow(process: subprocess.Popen[str], log, seconds: float, live: bool) -> tuple[int, float]:
    """Copy the output until the process ends; kill its process group after the deadline. Returns exit code and CPU seconds."""
    timed_out = threading.Event()

    def expire() -> None:
        timed_out.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()
    RUNNING.add(process)
    try:
        for line in process.stdout or ():
            if live:
                sys.stdout.write(line)
                sys.stdout.flush()
            log.write(line)
        # until here the process is not reaped, so that its group cannot be somebody else's
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        timer.cancel()
        RUNNING.discard(process)
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
    return -signal.SIGALRM if timed_out.is_set() else process.returncode, used.ru_utime + used.ru_stime


def _left_out(name: str) -> str:
    with open(LOGS / f"{name}.log", errors="replace") as log:
        return next((line.strip() for line in log if line.startswith(LEFT_OUT)), "")


def repeat_failure(result: Result, lines: int) -> None:
    """Print the end of a failing stage's log again."""
    print(f"\n==== {result.name}: {result.verdict}; the last {lines} lines of {LOGS / (result.name + '.log')}")
    with open(LOGS / f"{result.name}.log", errors="replace") as log:
        tail = deque((line for line in log if not NOISE.match(line)), maxlen=lines)
    sys.stdout.writelines(tail)


def summarise(results: list[Result], elapsed: float) -> None:
    """Print one line for each stage."""
    print("\n==== summary")
    for result in results:
        print(f"  {result.name:<14} {result.seconds:7.1f} s {result.processor:7.1f} CPU-s  {result.verdict}")
    processor = sum(result.processor for result in results)
    failed = [result.name for result in results if result.code]
    left = [result.name for result in results if result.left_out and not result.code]
    verdict = "FAILED: " + ", ".join(failed) if failed else "ok, but for " + ", ".join(left) if left else "ok"
    print(f"  {'total':<14} {elapsed:7.1f} s {processor:7.1f} CPU-s  {verdict}", flush=True)


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
    start = time.monotonic()
    results = [result for group in args.stages for result in run(group.split("+"), args.seconds)]
    failed = [result for result in results if result.code]
    for result in failed:
        repeat_failure(result, max(40, args.lines // len(failed)))
    summarise(results, time.monotonic() - start)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
