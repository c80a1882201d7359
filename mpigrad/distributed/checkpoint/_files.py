"""The files of a checkpoint: one per worker in a new directory for each save, and a manifest that names the directory.

    checkpoint/
      manifest.json          the current directory; for each file its parts, size and checksum; and a checksum of the manifest
      save-000007/worker0.pt, worker1.pt, ...

A save writes a new directory first and replaces the manifest last, atomically: at any time the manifest names a complete
checkpoint. Older directories are removed after that. The directory of a failed save is emptied at once, and those of interrupted
saves when the next save starts, to free their space. Their names are not reused until a save is complete, as a worker may still
be writing there.

The manifest has a format number: 1 in version 0.1, which has `workers` in place of `files`, or 2. Files of both are read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
FORMAT = 2
_NAME = re.compile(r"^save-(\d{6,})$")


class CheckpointError(RuntimeError):
    """Raised if a checkpoint cannot be written or read in time, is damaged, or does not fit the objects of the program."""


def new_directory(path: Path) -> str:
    """Create the directory of the next save and return its name, which is new: a failed save may still be writing to its own."""
    path.mkdir(parents=True, exist_ok=True)
    numbers = [int(match[1]) for match in (_NAME.match(each.name) for each in path.iterdir()) if match]
    name = f"save-{max(numbers, default=0) + 1:06d}"
    (path / name).mkdir()
    return name


def keep(path: Path) -> None:
    """Flush a file, or the entries of a directory, to the disk (fsync), so that the manifest is not on the disk before them."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def describe(file: Path) -> dict[str, Any]:
    """Return the manifest's entry for a file: name, size in bytes, checksum."""
    return {"name": file.name, "bytes": file.stat().st_size, "crc32": _checksum(file)}


def _checksum(file: Path) -> int:
    value = 0
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            value = zlib.crc32(block, value)
    return value


def check(directory: Path, wanted: dict[str, Any]) -> None:
    """Raise a CheckpointError unless a file matches `wanted`, its entry in the manifest."""
    file = directory / wanted["name"]
    if not file.exists():
        raise CheckpointError(f"{file} is missing, the manifest names it; do all workers share this file system?")
    found, said = describe(file), {key: wanted[key] for key in ("name", "bytes", "crc32")}
    if found != said:
        raise CheckpointError(f"{file} is damaged: the manifest says {said}, the file is {found}")


def write_manifest(path: Path, content: dict[str, Any]) -> None:
    """Make a save the current one, atomically and durably."""
    part = path / f".{MANIFEST}.part"
    content = {**content, "crc32": _checksum_of_manifest(json.loads(json.dumps(content)))}
    with part.open("w") as stream:
        json.dump(content, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    keep(path / content["directory"])  # first the entries of the directory, then the manifest that names it
    os.replace(part, path / MANIFEST)
    keep(path)


def _checksum_of_manifest(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps({key: value for key, value in content.items() if key != "crc32"}, sort_keys=True).encode())


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the content of the current manifest; CheckpointError if it cannot be read or is damaged."""
    file = path / MANIFEST
    if not file.exists():
        raise CheckpointError(f"{path} holds no checkpoint: there is no {MANIFEST}")
    try:
        content = json.loads(file.read_text())
    except ValueError as error:
        raise CheckpointError(f"{file} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{file} is damaged: it holds a {type(content).__name__}, not an object")
    if content.get("format") not in (1, FORMAT):
        raise CheckpointError(
            f"{file} has format {content.get('format')!r}, this version reads formats up to {FORMAT}; is it of a later version?"
        )
    whole = content.get("crc32") in (None, _checksum_of_manifest(content))  # version 0.1 wrote none
    if content["format"] == 1:
        content = _upgraded(file, content)
    _check_manifest(file, content)
    if not whole:
        raise CheckpointError(f"{file} is damaged: its content does not match its crc32, {content['crc32']!r:.80}")
    return content


def _upgraded(file: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of format 1, which has one file per worker without the names of its parts, as one of format 2."""
    _expect(file, content, "workers", dict)
    files = []
    for worker, each in content["workers"].items():
        _expect(file, content["workers"], worker, dict)
        files.append({**each, "worker": worker, "parts": None})
    return {**content, "files": files}


def _expect(file: Path, content: Any, key: str, kind: type) -> None:
    """Raise a CheckpointError unless the manifest has this field, of this type."""
    if not isinstance(content, dict) or key not in content:
        raise CheckpointError(f"{file} is damaged: there is no {key!r} in it")
    if not isinstance(content[key], kind) or isinstance(content[key], bool):
        raise CheckpointError(f"{file} is damaged: {key!r} is {content[key]!r:.80}, not a {kind.__name__}")


def _check_manifest(file: Path, content: dict[str, Any]) -> None:
    """Raise a CheckpointError unless all fields exist and have the right types.

    No name in it may lead outside of the checkpoint's directory.
    """
    _expect(file, content, "directory", str)
    _expect(file, content, "files", list)
    if "extra" not in content:
        raise CheckpointError(f"{file} is damaged: there is no 'extra' in it")
    if not _NAME.match(content["directory"]):
        raise CheckpointError(f"{file} is damaged: {content['directory']!r:.80} is not the name of a save")
    for each in content["files"]:
        for key, kind in (("name", str), ("worker", str), ("bytes", int), ("crc32", int)):
            _expect(file, each, key, kind)
        if each["name"] != os.path.basename(each["name"]) or each["name"] in ("", ".", ".."):
            raise CheckpointError(f"{file} is damaged: {each['name']!r:.80} is not the name of a file")
        if "parts" not in each or each["parts"] is not None:
            _expect(file, each, "parts", list)


def current(path: Path) -> str | None:
    """Return the name of the directory that the manifest names; None without a readable manifest."""
    try:
        return read_manifest(path)["directory"]
    except CheckpointError:
        return None


def empty_others(path: Path) -> None:
    """Free the space of incomplete saves. If the manifest is damaged, nothing is removed: it may have named any of them."""
    kept = current(path)
    for each in path.iterdir() if kept is not None or not (path / MANIFEST).exists() else ():
        if _NAME.match(each.name) and each.name != kept:
            empty(each)


def empty(directory: Path) -> None:
    """Remove the files of a save, but keep its directory, so that the name stays used."""
    for each in directory.iterdir():
        each.unlink(missing_ok=True)
    (directory.parent / f".{MANIFEST}.part").unlink(missing_ok=True)


def remove_others(path: Path, kept: str) -> None:
    """Remove the directories of all saves but the current one."""
    for each in path.iterdir():
        if _NAME.match(each.name) and each.name != kept:
            shutil.rmtree(each, ignore_errors=True)
