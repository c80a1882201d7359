"""Copies the Python environment to node-local storage, once per node, before a rank imports it: `mpigrad run --stage`.

Thousands of ranks that import from a shared file system ask its metadata server for the same few thousand files at the same time.
Instead, rank 0 reads the files once and broadcasts them by MPI to one rank of each node, the *leader*, which writes them to local
storage. All ranks of the node then import from there. Until then a rank has loaded only the interpreter, mpi4py and this file.

The files travel as one tar stream in blocks, so no rank needs memory for all of them. The last rank of a node to end removes
the copy: each rank holds a shared lock on a file in it, and the one that gets the lock exclusively is the last.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

BLOCK = 8 << 20  # bytes of one broadcast
LOCK = "in-use"
PREFIX = "mpigrad-stage-"


class Tree(NamedTuple):
    """A folder to copy, its name in the copy, and the entry of `sys.path` that it replaces."""

    source: str
    name: str
    entry: str


def trees(package: str) -> list[Tree]:
    """What is copied: the folders of installed packages, and mpigrad itself (the folder `package`) if it lies elsewhere."""
    paths = sysconfig.get_paths()
    sites = list(dict.fromkeys(os.path.realpath(paths[kind]) for kind in ("purelib", "platlib")))
    sites = [site for site in sites if os.path.isdir(site)]
    found = [Tree(site, f"site{i}", site) for i, site in enumerate(sites)]
    home = os.path.dirname(os.path.realpath(package))
    if home not in sites:
        found.append(Tree(os.path.realpath(package), "own/mpigrad", home))
    return found


class _Blocks:
    """A file object to which a tar archive is written: passes its bytes on in blocks of equal size."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send, self._kept = send, bytearray()

    def write(self, data: bytes) -> int:
        self._kept += data
        while len(self._kept) >= BLOCK:
            self._send(bytes(self._kept[:BLOCK]))
            del self._kept[:BLOCK]
        return len(data)

    def end(self) -> None:
        """Pass on the rest, and an empty block as the end."""
        if self._kept:
            self._send(bytes(self._kept))
        self._send(b"")


class _Stream:
    """A file object from which a tar archive is read: asks for the next block when it needs one."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._kept = blocks, bytearray()

    def read(self, size: int) -> bytes:
        while len(self._kept) < size:
            block = next(self._blocks, b"")
            if not block:
                break
            self._kept += block
        made = bytes(self._kept[:size])
        del self._kept[:size]
        return made


def _broadcast(MPI: Any, leaders: Any, block: bytes) -> bytes:
    """Broadcast a block from the first leader (rank 0 of the communicator `leaders`) to all of them; returns the
    block.
    """
    length = bytearray(len(block).to_bytes(8, "little"))
    leaders.Bcast([length, MPI.BYTE], 0)
    buffer = bytearray(block) if leaders.rank == 0 else bytearray(int.from_bytes(length, "little"))
    leaders.Bcast([buffer, MPI.BYTE], 0)
    return bytes(buffer)


def _receive(MPI: Any, leaders: Any) -> Iterator[bytes]:
    while block := _broadcast(MPI, leaders, b""):
        yield block


def _send(MPI: Any, leaders: Any, folders: list[Tree], target: str) -> None:
    """On the first leader: read the folders once, broadcast them, and write them here."""
    local = _Writer(target)

    def pass_on(block: bytes) -> None:
        _broadcast(MPI, leaders, block)
        local.write(block)

    blocks = _Blocks(pass_on)
    with tarfile.open(fileobj=blocks, mode="w|", format=tarfile.PAX_FORMAT, dereference=True) as archive:  # type: ignore[call-overload]
        for tree in folders:
            archive.add(tree.source, tree.name)
    blocks.end()
    local.close()


class _Writer:
    """Unpacks a stream that is written to it in blocks, on a thread."""

    def __init__(self, target: str) -> None:
        import queue
        import threading

        self._queue: queue.Queue[bytes] = queue.Queue(4)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(target,), daemon=True)
        self._thread.start()

    def _run(self, target: str) -> None:
        blocks = iter(self._queue.get, b"")
        try:
            unpack(blocks, target)
        except BaseException as error:
            self._error = error
        for _ in blocks:  # after an error: let the other side go on
            pass

    def write(self, block: bytes) -> None:
        self._queue.put(block)

    def close(self) -> None:
        """Wait until all is written; raises the error of the thread."""
        self._thread.join()
        if self._error is not None:
            raise self._error


def unpack(blocks: Iterator[bytes], target: str) -> None:
    """Write the files of a tar archive, given as a stream of blocks, below the folder `target`."""
    with tarfile.open(fileobj=_Stream(blocks), mode="r|") as archive:  # type: ignore[call-overload]
        for member in archive:
            archive.extract(member, target, **({"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}))


def copy_once_per_node(MPI: Any, world: Any, node: Any, folders: list[Tree]) -> str:
    """Copy folders to a new folder in $TMPDIR (or /tmp) of each node; returns its path. `node` has the ranks of one node.

    If a node has no room, all ranks get an error that names it.
    """
    leaders = world.Split(0 if node.rank == 0 else MPI.UNDEFINED, world.rank)
    target, failure, storage = "", "", tempfile.gettempdir()
    if node.rank == 0:
        try:
            target = tempfile.mkdtemp(prefix=PREFIX, dir=storage)
            open(os.path.join(target, LOCK), "w").close()
        except OSError as error:
            failure = f"{storage} on {MPI.Get_processor_name()}: {error}"
        failure = _first_failure(leaders, failure)
        if not failure:
            try:
                if leaders.rank == 0:
                    _send(MPI, leaders, folders, target)
                else:
                    writer = _Writer(target)
                    for block in _receive(MPI, leaders):
                        writer.write(block)
                    writer.write(b"")
                    writer.close()
            except OSError as error:
                failure = f"{target} on {MPI.Get_processor_name()}: {error}"
            failure = _first_failure(leaders, failure)
        leaders.Free()
    target, failure = node.bcast((target, failure), 0)
    if not failure:
        _remove_with_last(target)
        return target
    if node.rank == 0 and target:
        shutil.rmtree(target, ignore_errors=True)
    raise RuntimeError(f"--stage: the environment could not be copied to {failure}. TMPDIR chooses another folder")


def _first_failure(leaders: Any, failure: str) -> str:
    return next((each for each in leaders.allgather(failure) if each), "")


def _remove_with_last(target: str) -> None:
    """Remove the copy when the last rank of this node that uses it ends."""
    file = open(os.path.join(target, LOCK))
    fcntl.flock(file, fcntl.LOCK_SH)

    def ended() -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # others use it
        shutil.rmtree(target, ignore_errors=True)

    atexit.register(ended)


def import_from(target: str, folders: list[Tree]) -> None:
    """From now on import from the copy in `target`: replace the folders' entries in `sys.path`."""
    places = {tree.entry: os.path.join(target, tree.name.partition("/")[0]) for tree in folders}
    found = [places.get(os.path.realpath(entry), entry) if entry else entry for entry in sys.path]
    sys.path[:] = list(dict.fromkeys([*found, *[place for place in places.values() if place not in found]]))
    sys.path_importer_cache.clear()


def main(package: str) -> str:
    """Copy the environment and import from the copy; returns the folder of mpigrad in it."""
    from mpi4py import MPI

    folders = trees(package)
    node = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
    target = copy_once_per_node(MPI, MPI.COMM_WORLD, node, folders)
    node.Barrier()
    node.Free()
    import_from(target, folders)
    inside = next((tree for tree in folders if os.path.dirname(os.path.realpath(package)) == tree.source), None)
    return os.path.join(target, inside.name, "mpigrad") if inside else os.path.join(target, "own", "mpigrad")
