"""`save` and `load`: called on one worker, they make every worker write or read its part of the checkpoint, by RPC."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpigrad._ops.tensor.serialize import save as save_file

from ..optim.optimizer import gather_errors
from ._entries import Saved, entries_of, states_for
from ._files import (
    FORMAT,
    check,
    current,
    describe,
    empty,
    empty_others,
    keep,
    new_directory,
    read_manifest,
    remove_others,
    write_manifest,
)
from ._frameworks import check as check_state
from ._frameworks import load_into
from ._parts import Share, by_worker, with_slices
from ._tasks import TIMEOUT, Task, needed


def _write(file: str, shares: list[Share]) -> dict[str, Any]:
    """Write the file of this worker; returns its entry for the manifest. Runs on each worker."""
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(entries_of(shares), file)
    keep(path)
    return describe(path)


def _check(directory: str, own: list[dict[str, Any]], files: list[dict[str, Any]], shares: list[Share], worker: str) -> None:
    """Check the files `own` against their checksums, and that the states fit. Runs on each worker before any state changes.

    `files` are those from which the worker will load; other workers may check their checksums.
    """
    for each in own:
        check(Path(directory), each)
    for thing, state, _ in states_for(shares, Saved.in_files(Path(directory), files), worker):
        check_state(thing, state)


def _read(directory: str, files: list[dict[str, Any]], shares: list[Share], worker: str) -> None:
    """Load the states of this worker's objects from `files`. Runs on each worker."""
    for thing, state, torch_tensors in states_for(shares, Saved.in_files(Path(directory), files), worker):
        load_into(thing, state, torch_tensors)


def save(path: str | Path, parts: Mapping[str, Any], extra: Any = None, *, timeout: float = TIMEOUT) -> None:
    """Save modules and optimizers of all workers as one checkpoint. One worker calls it and waits; each writes its own
    tensors.

    Until the save is complete, the previous checkpoint in the same directory stays valid.

    Args:
        path: a directory on a file system that all workers share.
        parts: the objects to save, by name: modules, `RemoteModule`s, optimizers, `DistributedOptimizer`s, RRefs of any of them,
            or `Sharded` modules. Modules and optimizers may be PyTorch's.
        extra: anything that JSON can hold, such as the number of the step; `load` returns it.
        timeout: how many seconds a worker may take to write (0: no limit); then a CheckpointError names it.

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
    where, shares = Path(path), by_worker(parts)
    json.dumps(extra)  # fail now rather than after all files are written
    name = new_directory(where)
    try:
        empty_others(where)
        doing = f"writing its share of {where}"
        writing = [
            Task(worker, doing, _write, (str(where / name / f"{worker}.pt"), own), timeout) for worker, own in shares.items()
        ]
        files = [
            {**file, "worker": worker, "parts": sorted({each.part for each in own})}
            for (worker, own), file in zip(shares.items(), gather_errors(writing))
        ]
        write_manifest(where, {"format": FORMAT, "directory": name, "files": files, "extra": extra})
    except BaseException:
        if current(where) != name:  # an interrupt may come when the manifest has been replaced, and the save is complete
            empty(where / name)
        raise
    remove_others(where, name)


def load(path: str | Path, parts: Mapping[str, Any], *, timeout: float = TIMEOUT) -> Any:
    """Load the states of the last complete `save` into `parts`, and return its `extra`. One worker calls it, and waits for
    all.

    The parts may be on other workers than when they were saved, and on more or fewer. A tensor is found by its full name: the
    name of its part, a dot, and its name in the module. The optimizer state of a parameter is found by the parameter's full
    name. All workers check their files and states before any state changes; `CheckpointError` if something does not fit.

    Args:
        path: the directory given to `save`.
        parts: the objects to load into, under the same names as in `save`.
        timeout: how many seconds a worker may take to read (0: no limit); then a CheckpointError names it.

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
    where = Path(path)
    manifest = read_manifest(where)
    shares, directory = with_slices(by_worker(parts), timeout), str(where / manifest["directory"])
    checked = _shared_out(manifest["files"], list(shares))
    doing = f"reading its share of {where}"
    checking = [
        Task(worker, doing, _check, (directory, checked[worker], needed(manifest["files"], own), own, worker), timeout)
        for worker, own in shares.items()
    ]
    gather_errors(checking)  # all files and states are checked before any worker changes
    reading = [
        Task(worker, doing, _read, (directory, needed(manifest["files"], own), own, worker), timeout)
        for worker, own in shares.items()
    ]
    gather_errors(reading)
    return manifest["extra"]


def _shared_out(files: list[dict[str, Any]], workers: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Return which files each of the workers has to check, by worker.

    Each checks its own file; those of workers that are not here are assigned in turn.
    """
    found: dict[str, list[dict[str, Any]]] = {worker: [] for worker in workers}
    for number, file in enumerate(files if workers else ()):
        found[file["worker"] if file["worker"] in found else workers[number % len(workers)]].append(file)
    return found
