"""Reads the archive of a saved program; every member is validated.

Members are stored without compression, so reading never needs more memory than the size of the file. Nothing is written to
disk, and names of members are only compared, so path traversal is impossible.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from mpigrad._array.dtype import from_numpy_dtype

FORMAT, VERSION = "mpigrad.jit", 1
_ARRAY = re.compile(r"arrays/(0|[1-9][0-9]{0,8})\.npy", re.ASCII)
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_DAMAGE = (ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError, EOFError, OSError, SyntaxError,
           RecursionError, MemoryError, OverflowError, RuntimeError, zipfile.BadZipFile)  # fmt: skip


class Refused(RuntimeError):
    """Raised with the reason why a file is invalid."""


class Content(NamedTuple):
    """The members of an archive."""

    program: dict[str, Any]
    arrays: dict[int, np.ndarray]


@contextmanager
def refusing(f: Any) -> Iterator[None]:
    """Convert all errors that a damaged file may cause inside the block to one type, with the name of the file."""
    try:
        yield
    except Refused as error:
        raise RuntimeError(f"Could not load {f!r}: {error}") from error
    except _DAMAGE as error:
        raise RuntimeError(
            f"{f!r} was not written by mpigrad.jit.save, or is damaged: {type(error).__name__}: {error}"
        ) from error


def read(f: Any) -> Content:
    """Read a path or an open binary file."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, f)
    return _read(f, f)


def _read(file: Any, shown: Any) -> Content:
    with refusing(shown), zipfile.ZipFile(file) as archive:
        _check_members(archive)
        _check_format(_json(archive, "format.json"))
        program = _json(archive, "program.json")
        found = [(_ARRAY.fullmatch(name), name) for name in archive.namelist() if name.startswith("arrays/")]
        for match, name in found:
            if match is None:
                raise Refused(f"unexpected member {name!r}")
        arrays = {int(match[1]): array(archive.read(name)) for match, name in found if match is not None}
    return Content(program, arrays)


def _check_members(archive: zipfile.ZipFile) -> None:
    """Raise an error unless all members are unique, uncompressed and together not larger than the file."""
    members = archive.infolist()
    for each in members:
        if each.compress_type != zipfile.ZIP_STORED:
            raise Refused(f"the member {each.filename!r} is compressed; jit.save stores members as they are")
    names = {each.filename for each in members}
    if len(names) != len(members):
        raise Refused("two members have the same name")
    file: Any = archive.fp
    length, total = file.seek(0, os.SEEK_END), sum(each.file_size for each in members)
    if total > length:
        raise Refused(f"its members have {total} bytes, the file has {length}")


def _json(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    if name not in archive.NameToInfo:
        raise Refused(f"no member {name!r}: this file was not written by mpigrad.jit.save")
    found = json.loads(archive.read(name))
    if not isinstance(found, dict):
        raise Refused(f"{name} holds {type(found).__name__}, expected an object")
    return found


def _check_format(form: dict[str, Any]) -> None:
    if form.get("format") != FORMAT:
        raise Refused(f"expected a file of format {FORMAT!r}, got {form.get('format')!r}")
    if form.get("version") != VERSION or type(form["version"]) is not int:
        raise Refused(
            f"the file has version {form.get('version')!r} of the format; this mpigrad reads version {VERSION}"
        )


def array(content: bytes) -> np.ndarray:
    """Decode a `.npy` file: numbers only, and exactly as many as its header says.

    >>> import io, numpy
    >>> file = io.BytesIO()
    >>> numpy.save(file, numpy.arange(3.0))
    >>> array(file.getvalue())
    array([0., 1., 2.])
    """
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise Refused(f"an array has version {version} of NumPy's format")
    shape, fortran, kind = _HEADERS[version](file)
    if kind.hasobject or kind.names is not None or kind.subdtype is not None:
        raise Refused(f"an array holds {kind}, not numbers")
    from_numpy_dtype(kind)  # TypeError if tensors do not support it
    count = 1
    for each in shape:
        if each < 0:
            raise Refused(f"an array has the invalid shape {shape}")
        count *= each
    if count * kind.itemsize != len(content) - file.tell():
        raise Refused(f"an array of shape {shape} has {len(content) - file.tell()} bytes")
    flat = np.frombuffer(content, kind, count, file.tell()).astype(kind.newbyteorder("="))
    return flat.reshape(shape, order="F" if fortran else "C")
