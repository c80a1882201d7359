"""The files of a checkpoint: one per worker in a directory of their own, and a manifest that names the directory.

    checkpoint/
      manifest.json          which directory holds, and what each file must be like
      save-000007/worker0.pt, worker1.pt, ...

A save writes a new directory first and replaces the manifest last, in one step of the file system: whatever happens in between,
the manifest names a whole checkpoint. Older directories are removed after that.
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
FORMAT = 1
_NAME = re.compile(r"^save-(\d{6,})$")


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be read, or does not fit."""


def new_directory(path: Path) -> str:
    """The directory of the next save, by a name that was never tried: a worker may still be writing to the last one."""
    path.mkdir(parents=True, exist_ok=True)
    numbers = [int(match[1]) for match in (_NAME.match(each.name) for each in path.iterdir()) if match]
    name = f"save-{max(numbers, default=0) + 1:06d}"
    (path / name).mkdir()
    return name


def keep(path: Path) -> None:
    """Have the system write a file or the entries of a directory to the disk: the manifest must not be there before them."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def describe(file: Path) -> dict[str, Any]:
    """What the manifest says of one file."""
    return {"name": file.name, "bytes": file.stat().st_size, "crc32": _checksum(file)}


def _checksum(file: Path) -> int:
    value = 0
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            value = zlib.crc32(block, value)
    return value


def check(directory: Path, wanted: dict[str, Any]) -> Path:
    """The file that the manifest describes, if it is whole."""
    file = directory / wanted["name"]
    if not file.exists():
        raise CheckpointError(f"{file} is missing, the manifest names it; do all workers share this file system?")
    found = describe(file)
    if found != wanted:
        raise CheckpointError(f"{file} is damaged: the manifest says {wanted}, the file is {found}")
    return file


def write_manifest(path: Path, content: dict[str, Any]) -> None:
    """Make a save the current one, atomically, and durable."""
    part = path / f".{MANIFEST}.part"
    with part.open("w") as stream:
        json.dump(content, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    keep(path / content["directory"])
    os.replace(part, path / MANIFEST)
    keep(path)


def read_manifest(path: Path) -> dict[str, Any]:
    """What the current save consists of."""
    file = path / MANIFEST
    if not file.exists():
        raise CheckpointError(f"{path} holds no checkpoint: there is no {MANIFEST}")
    try:
        content = json.loads(file.read_text())
    except ValueError as error:
        raise CheckpointError(f"{file} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{file} is damaged: it holds a {type(content).__name__}, not an object")
    if content.get("format") != FORMAT:
        raise CheckpointError(f"{file} has format {content.get('format')!r}, this version reads {FORMAT}")
    return content


def remove_others(path: Path, kept: str) -> None:
    """Remove saves that are no longer, or never became, the current one."""
    for each in path.iterdir():
        if _NAME.match(each.name) and each.name != kept:
            shutil.rmtree(each, ignore_errors=True)
