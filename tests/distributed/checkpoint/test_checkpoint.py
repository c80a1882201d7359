"""Checkpoints: training goes on as if it had never stopped; what is damaged, missing or misplaced is refused."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed import checkpoint
from mpigrad.distributed.checkpoint import CheckpointError
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.optim import DistributedOptimizer
from tests.distributed.optim import parts

pytestmark = pytest.mark.mpi(min_size=2)


class Training:
    """A network over all other ranks and its optimizer, as a program would hold them."""

    def __init__(self, world: Any, lr: float = 0.1) -> None:
        self.network = parts.Split(world)
        self.optimizer = DistributedOptimizer(optim.Adam, self.network.rrefs(), lr=lr)

    def parts(self) -> dict[str, Any]:
        return {f"part{place}": part for place, part in enumerate(self.network.parts)} | {"optimizer": self.optimizer}

    def train(self, first: int, last: int) -> list[float]:
        return [self.network.step(self.optimizer, x) for x in parts.inputs(last)[first:]]


class Unwritable(nn.Linear):
    """Its state cannot be saved."""

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        raise OSError("disk full")


class Slow(nn.Linear):
    """A module whose `state_dict` waits for an event."""

    go = threading.Event()

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        assert self.go.wait(30)
        return super().state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        assert self.go.wait(30)
        return super().load_state_dict(*args, **kwargs)


def let_go(gone: bool) -> None:
    """Runs on the slow worker."""
    Slow.go.set() if gone else Slow.go.clear()


def test_a_worker_that_takes_too_long_is_named(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    slow = {"here": nn.Linear(1, 1), "slow": rpc.remote("worker1", Slow, args=(1, 1))}
    rpc.rpc_sync("worker1", let_go, args=(False,))
    with pytest.raises(CheckpointError, match=r"worker1 had not finished writing its share of .* after 0\.2 s; if it is only"):
        checkpoint.save(tmp_path, slow, timeout=0.2)
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        checkpoint.load(tmp_path, slow)
    rpc.rpc_sync("worker1", let_go, args=(True,))
    checkpoint.save(tmp_path, slow, extra=1)
    assert checkpoint.load(tmp_path, slow, timeout=0) == 1
    assert json.loads((tmp_path / "manifest.json").read_text())["directory"] == "save-000002"
    rpc.rpc_sync("worker1", let_go, args=(False,))
    with pytest.raises(CheckpointError, match=r"worker1 had not finished reading its share"):
        checkpoint.load(tmp_path, slow, timeout=0.2)
    rpc.rpc_sync("worker1", let_go, args=(True,))


def test_training_goes_on_from_a_checkpoint(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    through, first = Training(rpc_world), Training(rpc_world)
    wanted = through.train(0, 8)
    found = first.train(0, 4)
    checkpoint.save(tmp_path / "here", first.parts(), extra={"step": 4})
    first.train(4, 8)  # these steps are lost by the load
    second = Training(rpc_world, lr=7.0)
    second.train(0, 2)
    assert checkpoint.load(tmp_path / "here", second.parts()) == {"step": 4}
    assert found + second.train(4, 8) == wanted
    assert parts.same(second.network.values(), through.network.values())


def test_there_is_one_file_per_worker_and_one_save(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    training = Training(rpc_world)
    for step in range(3):
        checkpoint.save(tmp_path, training.parts(), extra=step)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["manifest.json", "save-000003"]
    wanted = [f"worker{rank}.pt" for rank in range(1, rpc_world.world_size)]
    assert sorted(each.name for each in (tmp_path / "save-000003").iterdir()) == wanted
    assert checkpoint.load(tmp_path, training.parts()) == 2


def test_anything_with_a_state_can_be_saved(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    remote, here = RemoteModule(rpc_world.worker(1), nn.Linear, args=(2, 2)), nn.Linear(2, 2)
    local = optim.SGD(here.parameters(), lr=0.5)
    saved = {"remote": remote, "here": here, "sgd": local, "rref": rpc.RRef(nn.Linear(1, 1))}
    states = remote.state_dict(), {name: value.clone() for name, value in here.state_dict().items()}
    checkpoint.save(tmp_path, saved)
    remote.load_state_dict({name: value * 0 for name, value in states[0].items()})
    here.load_state_dict({name: value * 0 for name, value in states[1].items()})
    local.param_groups[0]["lr"] = 9.0
    assert checkpoint.load(tmp_path, saved) is None
    assert parts.same(list(remote.state_dict().values()), list(states[0].values()))
    assert parts.same(list(here.state_dict().values()), list(states[1].values()))
    assert local.param_groups[0]["lr"] == 0.5
    with pytest.raises(TypeError, match="'number' must be a module, an optimizer, or an RRef of one, not int"):
        checkpoint.save(tmp_path, {"number": 3})


def saved(world: Any, path: Path) -> Training:
    training = Training(world)
    training.train(0, 2)
    checkpoint.save(path, training.parts())
    return training


def share(path: Path) -> Path:
    return path / json.loads((path / "manifest.json").read_text())["directory"] / "worker1.pt"


def test_a_damaged_file_is_refused_and_nothing_is_loaded_from_it(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    training = saved(rpc_world, tmp_path)
    content = bytearray(share(tmp_path).read_bytes())
    content[len(content) // 2] ^= 1
    share(tmp_path).write_bytes(content)
    before = training.network.parts[0].rpc_sync().values()
    with pytest.raises(CheckpointError, match=r"worker1\.pt is damaged: the manifest says .*crc32"):
        checkpoint.load(tmp_path, training.parts())
    assert parts.same(training.network.parts[0].rpc_sync().values(), before)
    share(tmp_path).write_bytes(content[:-10])
    with pytest.raises(CheckpointError, match=r"worker1\.pt is damaged"):
        checkpoint.load(tmp_path, training.parts())


def test_one_bad_file_leaves_every_worker_as_it_was(rpc_world, tmp_path: Path) -> None:
    """Half a checkpoint would be worse than none."""
    if rpc_world.rank:
        return
    training = saved(rpc_world, tmp_path)
    training.train(2, 4)
    before = training.network.values()
    share(tmp_path).unlink()
    with pytest.raises(CheckpointError, match=r"worker1\.pt is missing, the manifest names it"):
        checkpoint.load(tmp_path, training.parts())
    assert parts.same(training.network.values(), before)


def test_no_checkpoint_and_another_format_are_told(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    training = Training(rpc_world)
    with pytest.raises(CheckpointError, match=r"holds no checkpoint: there is no manifest\.json"):
        checkpoint.load(tmp_path / "nowhere", training.parts())
    later = "has format 99, this version reads formats up to 2"
    for content, said in (('{"format": 99}', later), ("{", "is damaged"), ("[]", "is damaged")):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(CheckpointError, match=said):
            checkpoint.load(tmp_path, training.parts())


FILE = {"name": "worker0.pt", "worker": "worker0", "bytes": 3, "crc32": 4, "parts": ["x"]}
WHOLE = {"format": 2, "directory": "save-000001", "files": [FILE], "extra": None}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"directory": None}, "there is no 'directory'"),
        ({"files": None}, "there is no 'files'"),
        ({"extra": None}, "there is no 'extra'"),
        ({"format": 1, "files": None}, "there is no 'workers'"),
        ({"format": 1, "workers": {"worker0": 3}}, "'worker0' is 3, not a dict"),
        ({"directory": "../other"}, "'../other' is not the name of a save"),
        ({"directory": 3}, "'directory' is 3, not a str"),
        ({"files": [3]}, "there is no 'name'"),
        ({"files": [FILE | {"bytes": "3"}]}, "'bytes' is '3', not a int"),
        ({"files": [FILE | {"crc32": True}]}, "'crc32' is True, not a int"),
        ({"files": [FILE | {"name": "../../passwd"}]}, "'../../passwd' is not the name of a file"),
        ({"files": [FILE | {"name": ".."}]}, "'..' is not the name of a file"),
        ({"files": [FILE | {"parts": 3}]}, "'parts' is 3, not a list"),
        ({"files": [{key: FILE[key] for key in FILE if key != "parts"}]}, "there is no 'parts'"),
        ({"crc32": 5}, "does not match its crc32, 5"),
    ],
)
def test_a_broken_manifest_is_told(rpc_world, tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    if rpc_world.rank:
        return
    content = {key: value for key, value in (WHOLE | changed).items() if key not in changed or changed[key] is not None}
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=rf"manifest\.json is damaged: .*{re.escape(said)}"):
        checkpoint.load(tmp_path, {})


def test_a_part_that_does_not_fit_leaves_every_worker_as_it_was(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    fits, wide = nn.Linear(2, 2), RemoteModule("worker1", nn.Linear, args=(2, 2))
    checkpoint.save(tmp_path, {"fits": fits, "wide": wide})
    before = nn.Linear(2, 2)
    for other, said in (("wider", "size mismatch for weight"), ("unbiased", "Unexpected key")):
        shape = (3, 3) if other == "wider" else (2, 2)
        there = RemoteModule("worker1", nn.Linear, args=(*shape, other == "wider"))
        fits.load_state_dict(before.state_dict())
        with pytest.raises(RuntimeError, match=said):
            checkpoint.load(tmp_path, {"fits": fits, "wide": there})
        assert parts.same(list(fits.state_dict().values()), list(before.state_dict().values())), "worker0 has not loaded"
    with pytest.raises(CheckpointError, match=r"the checkpoint holds \['fits', 'wide'\], the program has 'other'"):
        checkpoint.load(tmp_path, {"other": fits})
    with pytest.raises(ValueError, match="different number of parameter groups"):
        two = [{"params": [fits.weight]}, {"params": [fits.bias]}]
        checkpoint.save(tmp_path, {"sgd": optim.SGD(fits.parameters(), lr=0.1)})
        checkpoint.load(tmp_path, {"sgd": optim.SGD(two, lr=0.1)})


def test_a_save_that_fails_leaves_the_old_one_valid(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    training = saved(rpc_world, tmp_path)
    wanted = training.network.values()
    training.train(2, 4)
    broken = training.parts() | {"broken": rpc.remote("worker1", Unwritable, args=(1, 1))}
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(tmp_path, broken)
    assert list((tmp_path / "save-000002").iterdir()) == [], "what the failed save wrote takes no space"
    checkpoint.load(tmp_path, training.parts())
    assert parts.same(training.network.values(), wanted)
    checkpoint.save(tmp_path, training.parts())
    assert len(list(tmp_path.iterdir())) == 2, "what the failed save left is gone"


def test_a_save_frees_what_others_left_before_it_writes(rpc_world, tmp_path: Path) -> None:
    """After one full disk, the next save must not find it full again."""
    if rpc_world.rank:
        return
    saved(rpc_world, tmp_path)
    for left in ("save-000002", "save-000007"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "worker1.pt").write_bytes(b"much")
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(tmp_path, {"broken": rpc.remote("worker1", Unwritable, args=(1, 1))})
    assert {each.parent.name for each in tmp_path.glob("save-*/*")} == {"save-000001"}, "only the files of the valid save"
    assert (tmp_path / "save-000008").exists(), "a worker may still be writing there: the name is not used again"
    with pytest.raises(TypeError, match="not JSON serializable"):
        checkpoint.save(tmp_path, {}, extra=object())
    assert not (tmp_path / "save-000009").exists()


def test_a_save_that_is_cut_off_leaves_the_old_one_valid(rpc_world, tmp_path: Path, monkeypatch) -> None:
    """The job ends after the files are written and before the manifest is in its place."""
    if rpc_world.rank:
        return
    from mpigrad.distributed.checkpoint import _files

    training = saved(rpc_world, tmp_path)
    wanted = training.network.values()
    training.train(2, 4)

    def ended(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_files.os, "replace", ended)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(tmp_path, training.parts())
    checkpoint.load(tmp_path, training.parts())
    assert parts.same(training.network.values(), wanted)
