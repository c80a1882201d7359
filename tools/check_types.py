"""Check the types that type checkers and editors see in the package: python tools/check_types.py

The stubs are those that `tools/stubs.py` makes, they agree with what is imported (stubtest, of mypy), and basedpyright finds
in users' programs the types that are written there. mypy reads the same programs in the same stage (`files` in setup.cfg).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import stubs
from mypy import stubtest
from mypy.options import Options

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "tests" / "typed"
# Functions that are methods as well call the tensor `input`; in a class it is called `self`.
RENAMED = 'stub parameter "self" differs from runtime parameter'


def stale_stubs() -> Iterator[str]:
    """Stub files that differ from what `tools/stubs.py` writes now."""
    for path, text in stubs.stubs().items():
        if not path.exists() or path.read_text() != text:
            yield f"{path.relative_to(ROOT)} is out of date: run python tools/stubs.py"


def untrue_stubs(modules: tuple[str, ...]) -> Iterator[str]:
    """Differences between a stub file and the module that it describes."""
    options = Options()
    options.incremental, options.follow_imports, options.ignore_missing_imports = False, "skip", True
    stubtest.build_stubs(modules, options)  # type: ignore[arg-type]
    for module in modules:
        for error in stubtest.test_module(module):
            text = error.get_description(concise=True)
            if RENAMED not in text:
                yield text


def other_types() -> Iterator[str]:
    """Types that basedpyright finds in the programs and that differ from the `assert_type` in the same line."""
    command = [sys.executable, "-m", "basedpyright", "--project", str(PROGRAMS), "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        yield done.stdout.strip() or done.stderr.strip()


def main() -> int:
    failures = [*stale_stubs(), *untrue_stubs((*stubs.MODULES, "mpigrad.futures")), *other_types()]
    print("\n".join(failures) or "the stubs agree with the package and with the programs of tests/typed")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
