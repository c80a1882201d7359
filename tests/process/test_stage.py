"""`mpigrad run --stage`: one rank reads the environment, one rank of each node writes it, all import from the copy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpigrad._launch import stage
from mpigrad.distributed._mpi import mpi

PROGRAM = """
import os, sys, sysconfig
sys.path[:] = [*sys.path, {site!r}]
sysconfig.get_paths = lambda: {{"purelib": {site!r}, "platlib": {site!r}}}
from mpigrad._launch import stage
home = stage.main({package!r})
import only_here
assert only_here.__file__ == os.path.join(os.path.dirname(os.path.dirname(home)), "site0", "only_here.py"), only_here.__file__
assert open(os.path.join(home, "data", "big.bin"), "rb").read() == bytes(range(256)) * 50_000
assert os.environ["TMPDIR"] in home
print(os.path.dirname(os.path.dirname(home)))
"""


def make_files(place: Path) -> None:
    (place / "site" / "empty").mkdir(parents=True)
    (place / "site" / "only_here.py").write_text("x = 1\n")
    (place / "site" / "link.py").symlink_to("only_here.py")
    (place / "elsewhere" / "mpigrad" / "data").mkdir(parents=True)
    (place / "elsewhere" / "mpigrad" / "__init__.py").write_text("")
    (place / "elsewhere" / "mpigrad" / "data" / "big.bin").write_bytes(bytes(range(256)) * 50_000)  # more than one block
    (place / "local").mkdir()


def test_a_rank_imports_from_the_copy_and_removes_it(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")
    make_files(tmp_path)
    program = PROGRAM.format(site=str(tmp_path / "site"), package=str(tmp_path / "elsewhere" / "mpigrad"))
    settings = {**os.environ, "TMPDIR": str(tmp_path / "local"), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(tmp_path / "local" / stage.PREFIX))
    assert not list((tmp_path / "local").glob(stage.PREFIX + "*"))  # removed by the last rank that used it


@pytest.mark.mpi(min_size=2)
def test_one_rank_reads_and_one_of_each_node_writes(world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MPI = mpi()
    make_files(tmp_path)  # a folder of its own on each rank: only rank 0 may read
    if world.rank:
        (tmp_path / "site" / "only_here.py").unlink()
    monkeypatch.setattr(stage.tempfile, "tempdir", str(tmp_path / "local"))
    monkeypatch.setattr(stage, "_remove_with_last", lambda target: None)
    node = MPI.COMM_WORLD.Split(world.rank // 2, world.rank)  # two ranks are a node
    own = stage.Tree(str(tmp_path / "elsewhere" / "mpigrad"), "own/mpigrad", "")
    folders = [stage.Tree(str(tmp_path / "site"), "site0", ""), own]
    target = Path(stage.copy_once_per_node(MPI, MPI.COMM_WORLD, node, folders))
    node.Barrier()
    assert (target / "site0" / "only_here.py").read_text() == "x = 1\n"
    assert (target / "site0" / "link.py").read_text() == "x = 1\n"
    assert (target / "own/mpigrad/data/big.bin").stat().st_size == 256 * 50_000
    assert len(set(world.gather(str(target)))) == (world.world_size + 1) // 2
    node.Free()


@pytest.mark.mpi(min_size=2)
def test_a_node_without_room_fails_on_all_ranks(world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MPI = mpi()
    make_files(tmp_path)
    last = (world.world_size - 1) // 2
    missing = world.rank // 2 == last
    monkeypatch.setattr(stage.tempfile, "tempdir", str(tmp_path / ("missing" if missing else "local")))
    node = MPI.COMM_WORLD.Split(world.rank // 2, world.rank)
    with pytest.raises(RuntimeError, match="could not be copied to .*missing on .*No such file.*TMPDIR chooses another folder"):
        stage.copy_once_per_node(MPI, MPI.COMM_WORLD, node, [stage.Tree(str(tmp_path / "site"), "site0", "")])
    assert not list((tmp_path / "local").glob(stage.PREFIX + "*"))
    node.Free()
