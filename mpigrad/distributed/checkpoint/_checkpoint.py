"""`save` and `load`: called on one worker, they have every worker write or read its own share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpigrad._ops.tensor.serialize import load as load_file
from mpigrad._ops.tensor.serialize import save as save_file

from .. import rpc
from ..optim import DistributedOptimizer
from ..optim._optimizer import gather_errors
from ..rpc import RRef
from ..rpc._protocol.errors import RpcTimeoutError
from ._files import (
    FORMAT,
    CheckpointError,
    check,
    describe,
    keep,
    new_directory,
    read_manifest,
    remove_others,
    write_manifest,
)

TIMEOUT = 600.0  # seconds: a slow file system may take minutes for a large share, a lost worker takes for ever


def _rref(value: Any, name: str) -> RRef:
    """The RRef behind a remote module, an RRef of a module or optimizer, or something that is here."""
    if isinstance(value, RRef):
        return value
    if hasattr(value, "get_module_rref"):
        return value.get_module_rref()
    if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
        return RRef(value)
    raise TypeError(f"checkpoint: {name!r} must be a module, an optimizer, or an RRef of one, not {type(value).__name__}")


def _shares(parts: Mapping[str, Any]) -> dict[str, dict[str, RRef]]:
    """What each worker has to save: worker -> name -> RRef."""
    found: dict[str, dict[str, RRef]] = {}
    for name, value in parts.items():
        if isinstance(value, DistributedOptimizer):
            for share in value.remote_optimizers:
                found.setdefault(share.owner_name(), {})[name] = share
        else:
            rref = _rref(value, name)
            found.setdefault(rref.owner_name(), {})[name] = rref
    return found


def _stateful(rref: RRef) -> Any:
    value = rref.local_value()
    return getattr(value, "optim", value) if not hasattr(value, "state_dict") else value


def _write(file: str, share: dict[str, RRef]) -> dict[str, Any]:
    """Runs on each worker: write its file."""
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: _stateful(rref).state_dict() for name, rref in share.items()}, file)
    keep(path)
    return describe(path)


def _check(directory: str, wanted: dict[str, Any], share: dict[str, RRef]) -> None:
    """Runs on each worker, before any state is touched: is its file whole, and for these parts?"""
    states = load_file(str(check(Path(directory), wanted)))
    if set(states) != set(share):
        raise CheckpointError(f"{wanted['name']} holds {sorted(states)}, the program has {sorted(share)} on this worker")


def _read(directory: str, wanted: dict[str, Any], share: dict[str, RRef]) -> None:
    """Runs on each worker: put its states back."""
    states = load_file(str(Path(directory) / wanted["name"]))
    for name, rref in share.items():
        _stateful(rref).load_state_dict(states[name])


class _Share:
    """What one worker does for a checkpoint, under way."""

    def __init__(self, worker: str, doing: str, function: Any, args: tuple[Any, ...], timeout: float) -> None:
        self.worker, self.doing, self.timeout = worker, doing, timeout
        self.future = rpc.rpc_async(worker, function, args=args, timeout=timeout)

    def wait(self) -> Any:
        try:
            return self.future.wait()
        except RpcTimeoutError as error:
            raise CheckpointError(
                f"{self.worker} had not finished {self.doing} after {self.timeout:g} s; if it is only slow, give a larger "
                "timeout (0: wait for ever)"
            ) from error


def save(path: str | Path, parts: Mapping[str, Any], extra: Any = None, *, timeout: float = TIMEOUT) -> None:
    """Save modules and optimizers of any workers, as one checkpoint in the directory `path` that all workers share.

    `parts` maps names to modules, `RemoteModule`s, optimizers, `DistributedOptimizer`s, or RRefs of any of them. `extra` is
    anything that JSON can hold, such as the number of the step. Until the save is complete the previous one stays valid.
    A worker that has not written its share after `timeout` seconds (0: no limit) is named in the error.

    >>> import os, tempfile
    >>> import mpigrad.distributed.checkpoint as checkpoint
    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad import nn
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> layer, path = nn.Linear(2, 2), os.path.join(tempfile.mkdtemp(), "checkpoint")
    >>> checkpoint.save(path, {"layer": layer}, extra={"step": 100})
    >>> checkpoint.load(path, {"layer": layer})["step"]
    100
    >>> rpc.shutdown()
    """
    where, shares = Path(path), _shares(parts)
    name = new_directory(where)
    writing = [
        _Share(worker, f"writing its share of {where}", _write, (str(where / name / f"{worker}.pt"), share), timeout)
        for worker, share in shares.items()
    ]
    files = dict(zip(shares, gather_errors(writing)))
    write_manifest(where, {"format": FORMAT, "directory": name, "workers": files, "extra": extra})
    remove_others(where, name)


def load(path: str | Path, parts: Mapping[str, Any], *, timeout: float = TIMEOUT) -> Any:
    """Put the states of the last complete `save` back, on workers of the same names; gives `extra`.

    A worker that has not read its share after `timeout` seconds (0: no limit) is named in the error.

    >>> import os, tempfile
    >>> import mpigrad.distributed.checkpoint as checkpoint
    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad import nn
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> layer, path = nn.Linear(2, 2), os.path.join(tempfile.mkdtemp(), "checkpoint")
    >>> checkpoint.save(path, {"layer": layer}, extra={"step": 100})
    >>> checkpoint.load(path, {"layer": layer})["step"]
    100
    >>> rpc.shutdown()
    """
    where, shares = Path(path), _shares(parts)
    manifest = read_manifest(where)
    if set(manifest["workers"]) != set(shares):
        raise CheckpointError(
            f"the checkpoint in {where} was saved on workers {sorted(manifest['workers'])}, the program has its parts on "
            f"{sorted(shares)}; restart with the same number of ranks and the same placement"
        )
    directory, doing = str(where / manifest["directory"]), f"reading its share of {where}"
    for function in (_check, _read):  # all files are looked at before any worker changes
        gather_errors(
            [
                _Share(worker, doing, function, (directory, manifest["workers"][worker], share), timeout)
                for worker, share in shares.items()
            ]
        )
    return manifest["extra"]
