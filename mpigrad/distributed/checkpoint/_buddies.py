"""`Buddies`: checkpoints in the memory of workers. Each worker keeps its own share and that of one other worker, its *buddy*.

A save has two steps. First every worker copies its share, and sends the copy to the worker that is next to it in the ring of
keepers. When all have done so, every keeper is told the *manifest* (version, who keeps which share, extra), and drops older
versions. So the newest version of which any keeper has the manifest is complete; losing one worker loses none of its shares.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import rpc
from ..optim.optimizer import gather_errors
from ..rpc._agent.current import get_agent
from ._entries import Entry, Saved, entries_of, states_for
from ._files import CheckpointError
from ._frameworks import check as check_state
from ._frameworks import load_into
from ._parts import Share, by_worker, with_slices
from ._tasks import Task, needed

_SECONDS = 60.0


class _Manifest(NamedTuple):
    """A complete version of the copies, as every keeper knows it.

    `files` has for each worker a dict: its name, the names of its parts, and `keepers`, the workers that keep its share.
    """

    version: int
    files: list[dict[str, Any]]
    extra: Any


class _Kept:
    """What this worker keeps for the `Buddies` of one name: shares of several versions, and the newest complete version."""

    def __init__(self) -> None:
        self.shares: dict[tuple[int, str], list[Entry]] = {}  # by version and worker
        self.manifest: _Manifest | None = None


def _kept(name: str) -> _Kept:
    """Return what this worker keeps for the `Buddies` called `name`."""
    return get_agent().slots.setdefault("buddies", {}).setdefault(name, _Kept())


def _copy(name: str, version: int, shares: list[Share], worker: str, buddy: str, timeout: float) -> None:
    """Copy the share of this worker, and send the copy to its buddy. Runs on each worker that has parts."""
    entries = copy.deepcopy(entries_of(shares))
    _hold(name, version, worker, entries)
    if buddy != worker:
        rpc.rpc_sync(buddy, _hold, args=(name, version, worker, entries), timeout=timeout)


def _hold(name: str, version: int, worker: str, entries: list[Entry]) -> None:
    """Keep the share of `worker`, this one or another, until a newer version is complete. Runs on its keepers."""
    _kept(name).shares[version, worker] = entries


def _commit(name: str, manifest: _Manifest) -> None:
    """Note that a version is complete, and drop older ones. Runs on each keeper."""
    kept = _kept(name)
    kept.manifest = manifest
    kept.shares = {key: value for key, value in kept.shares.items() if key[0] >= manifest.version}


def _manifest(name: str) -> _Manifest | None:
    return _kept(name).manifest


def _fetch(name: str, version: int, worker: str) -> list[Entry] | None:
    return _kept(name).shares.get((version, worker))


def _find(name: str, version: int, file: Mapping[str, Any], timeout: float) -> list[Entry]:
    """Return the entries of the worker that `file` (an entry of the manifest) names, from a worker that keeps them.

    CheckpointError if all keepers have lost them.
    """
    own = _fetch(name, version, file["worker"])
    if own is not None:
        return copy.deepcopy(own)  # optimizers take over the tensors of a state
    problems = []
    for keeper in file["keepers"]:
        try:
            found = rpc.rpc_sync(keeper, _fetch, args=(name, version, file["worker"]), timeout=timeout)
        except RuntimeError as error:
            problems.append(f"{keeper}: {error}")
            continue
        if found is not None:
            return found
        problems.append(f"{keeper} no longer has it")
    raise CheckpointError(f"version {version} of {name!r}: the share of {file['worker']} is lost ({'; '.join(problems)})")


def _load(
    name: str, version: int, files: list[dict[str, Any]], shares: list[Share], worker: str, timeout: float, check: bool
) -> None:
    """Check that the saved states fit this worker's objects (`check`), or load them. Runs on each worker."""
    saved = Saved((file["worker"], _find(name, version, file, timeout)) for file in files)
    for thing, state, torch_tensors in states_for(shares, saved, worker):
        check_state(thing, state) if check else load_into(thing, state, torch_tensors)


class Buddies:
    """Checkpoints in the memory of the workers, from which a job goes on after the loss of one of them, without a file system.

    One worker calls `save` and `load`. Each worker keeps two copies in its memory: one of its own tensors, and one of those
    of another worker, its buddy. So any one worker may be lost between two saves; the worker that takes its place gets the
    tensors from the buddy.

    Args:
        name: to keep several independent copies, give each a name.
        keepers: the names of the workers that keep copies, by default those of the saved objects, and this worker. There
            should be at least two: a single keeper has no buddy, and its copies are lost with it.

    >>> import mpigrad.distributed.checkpoint as checkpoint
    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad import nn
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> layer, buddies = nn.Linear(2, 2), checkpoint.Buddies()
    >>> buddies.save({"layer": layer}, extra={"step": 100})
    >>> buddies.load({"layer": layer})["step"]
    100
    >>> rpc.shutdown()
    """

    def __init__(self, name: str = "buddies", keepers: Sequence[str] | None = None) -> None:
        self._name, self._keepers = name, keepers
        self._version = 0

    def save(self, parts: Mapping[str, Any], extra: Any = None, *, timeout: float = _SECONDS) -> None:
        """Copy the states of `parts` on all workers, and wait until that is complete; until then the previous copies stay
        valid.

        Args:
            parts: the objects to save, by name, as for `checkpoint.save`.
            extra: any object that can be pickled; `load` returns it.
            timeout: how many seconds a worker may take; then a CheckpointError names it.
        """
        shares = by_worker(parts)
        ring = self._ring(shares)
        # After a restart of this program another worker may have saved: continue from the newest version that any worker has.
        self._version = max(self._version, getattr(self._newest(timeout), "version", 0) if not self._version else 0) + 1
        files = [
            {"worker": worker, "parts": sorted({each.part for each in own}), "keepers": [worker, _next(ring, worker)]}
            for worker, own in shares.items()
        ]
        doing = f"copying its share of {self._name!r}"
        gather_errors([
            Task(worker, doing, _copy, (self._name, self._version, own, worker, _next(ring, worker), timeout), timeout)
            for worker, own in shares.items()
        ])  # fmt: skip
        manifest = _Manifest(self._version, files, extra)
        gather_errors([Task(keeper, doing, _commit, (self._name, manifest), timeout) for keeper in ring])

    def load(self, parts: Mapping[str, Any], *, timeout: float = _SECONDS) -> Any:
        """Load the newest complete copies into `parts`, on all workers; waits for that, and returns the `extra` of `save`.

        Args:
            parts: the objects to load into, under the names that `save` got; they may be on other workers than then.
            timeout: how many seconds a worker may take; then a CheckpointError names it.

        All workers check that the states fit before any state changes. CheckpointError if they do not fit, if both copies of a
        worker's tensors are lost, or if `save` was never called.
        """
        manifest = self._newest(timeout)
        if manifest is None:
            raise CheckpointError(f"no worker has copies of {self._name!r}: save() must have been called before")
        self._version = manifest.version
        shares = with_slices(by_worker(parts), timeout)
        for check in (True, False):
            gather_errors([
                Task(worker, f"loading its share of {self._name!r}", _load,
                     (self._name, manifest.version, needed(manifest.files, own), own, worker, timeout, check), timeout)
                for worker, own in shares.items()
            ])  # fmt: skip
        return manifest.extra

    def _ring(self, shares: Mapping[str, Any]) -> list[str]:
        own = rpc.get_worker_info().name
        return sorted({*shares, own}) if self._keepers is None else sorted({*shares, *self._keepers})

    def _newest(self, timeout: float) -> _Manifest | None:
        """Return the newest manifest that any worker has; None if there is none. Workers that do not answer are left out."""
        asked = [
            rpc.rpc_async(info, _manifest, args=(self._name,), timeout=timeout) for info in get_agent().get_worker_infos()
        ]
        found = []
        for future in asked:
            try:
                found.append(future.wait())
            except RuntimeError:  # lost, or too busy to answer in time
                continue
        return max((each for each in found if each is not None), key=lambda each: each.version, default=None)


def _next(ring: list[str], worker: str) -> str:
    """Return the buddy of a worker: the next one in the ring of keepers."""
    return ring[(ring.index(worker) + 1) % len(ring)]
