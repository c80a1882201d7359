"""Starts one rank: python .../mpigrad/_launch/start.py (SCRIPT | -m MODULE | --spawned DIRECTORY) ARGUMENTS...

Executed by path and not with `python -m`, which would put the current directory first on the import path: a `json.py` or a
checkout of mpigrad there would be imported by mistake. The rank always uses the package that contains this file. For the
program itself its own directory comes first, as usual.
"""

import sys

if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # this file's own folder

import importlib.util
import os


def _use_this_package() -> None:
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location("mpigrad", os.path.join(home, "__init__.py"))
    assert spec is not None and spec.loader is not None
    package = sys.modules["mpigrad"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _use_this_package()
    from mpigrad._launch.rank import main

    main(sys.argv[1:])
