"""Print in one line what this machine lacks for the CPU-backed CUDA runtime; nothing if it lacks nothing.

python tests/cpucuda/needs.py
"""

from __future__ import annotations

import platform
import shutil
import sys
import sysconfig
from pathlib import Path

TOOLS = ("g++", "gcc", "nm")


def lacking() -> list[str]:
    """Return the names of what is missing."""
    found = [f"no {tool}" for tool in TOOLS if shutil.which(tool) is None]
    headers = Path(sysconfig.get_paths()["include"])
    if not (headers / "Python.h").exists():
        found.append(f"no headers of Python in {headers}")
    here = f"{platform.system()} on {platform.machine()}"
    if here != "Linux on x86_64":
        found.append(f"made for Linux on x86_64, this is {here}")
    return found


if __name__ == "__main__":
    missing = lacking()
    if missing:
        print(f"the real CuPy on a CPU-backed CUDA runtime, which has to be compiled: {', '.join(missing)}")
        sys.exit(1)
