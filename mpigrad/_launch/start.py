"""Starts one rank: python .../mpigrad/_launch/start.py [--stage] (SCRIPT | -m MODULE | --spawned DIRECTORY) ARGUMENTS...

Executed by path and not with `python -m`, which would put the current directory first on the import path: a `json.py` or a
checkout of mpigrad there would be imported by mistake. The rank always uses the package that contains this file. For the
program itself its own directory comes first, as usual.
"""

import sys

if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # this file's own folder

import importlib.util
import os


def _stage(home: str) -> str:
    """Copy the environment to node-local storage; returns the package's folder there. Loads `stage.py` alone, not the package."""
    place = os.path.join(home, "_launch", "stage.py")
    spec = importlib.util.spec_from_file_location("mpigrad_stage", place)
    assert spec is not None and spec.loader is not None
    stage = sys.modules["mpigrad_stage"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stage)
    return stage.main(home)


def _use_package(home: str) -> None:
    spec = importlib.util.spec_from_file_location("mpigrad", os.path.join(home, "__init__.py"))
    assert spec is not None and spec.loader is not None
    package = sys.modules["mpigrad"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.argv[1] == "--stage":
        package = _stage(package)
        del sys.argv[1]
    _use_package(package)
    from mpigrad._launch.rank import main

    main(sys.argv[1:])
