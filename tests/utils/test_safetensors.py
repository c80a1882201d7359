"""Safetensors files: what is written comes back, others' files are read, damaged ones are refused."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

import mpigrad
from mpigrad.utils.safetensors import SafetensorError, load, load_file, save, save_file

KINDS = [
    mpigrad.bool, mpigrad.uint8, mpigrad.int8, mpigrad.int16, mpigrad.int32, mpigrad.int64, mpigrad.float16, mpigrad.float32,
    mpigrad.float64, mpigrad.complex64, mpigrad.uint16, mpigrad.uint32, mpigrad.uint64,
    mpigrad.bfloat16,
]  # fmt: skip


def tensors() -> dict[str, Any]:
    made = {f"{kind}": mpigrad.ones(3, dtype=kind) for kind in KINDS}
    made |= {"number": mpigrad.tensor(2.5), "empty": mpigrad.zeros(0, 3), "turned é": mpigrad.arange(6.0).reshape(2, 3).t()}
    return made


def test_tensors_come_back(tmp_path: Path) -> None:
    wanted = tensors()
    save_file(wanted, tmp_path / "f", {"format": "pt"})
    for found in (load_file(tmp_path / "f"), load(save(wanted)), load((tmp_path / "f").read_bytes())):
        assert set(found) == set(wanted)
        for name, each in wanted.items():
            assert (found[name].dtype, found[name].shape) == (each.dtype, each.shape)
            assert found[name].tolist() == each.tolist()
    found = load_file(tmp_path / "f")
    before = (tmp_path / "f").read_bytes()
    found["number"].fill_(1)
    assert (tmp_path / "f").read_bytes() == before


def file(header: Any, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_a_file_as_others_write_it() -> None:
    """The example of the format's description, with padding, metadata and elements that are not aligned."""
    header = {"__metadata__": {"a": "b"}, "flag": entry("BOOL", (1,), (0, 1)), "x": entry(offsets=(1, 9))}
    found = load(file(json.dumps(header).encode() + b"   ", b"\1" + struct.pack("<2f", 1, 2)))
    assert {name: each.tolist() for name, each in found.items()} == {"flag": [True], "x": [1, 2]}


@pytest.mark.parametrize(
    "damaged",
    [
        b"", b"1234567", struct.pack("<Q", 2**60), file(b"{", b""), file(b"[]", b""), file({}, b"x"), file({"x": 3}, b""),
        file({"x": entry()}, bytes(7)), file({"x": entry()}, bytes(9)), file({"x": entry("F33")}, bytes(8)),
        file({"x": entry(shape=(3,))}, bytes(8)), file({"x": entry(shape=(-2, -1))}, bytes(8)), file({"x": entry(3)}, bytes(8)),
        file({"x": entry(offsets=(0, 8, 9))}, bytes(8)), file({"x": entry(offsets=("a", 8))}, bytes(8)),
        file({"x": entry(), "y": entry()}, bytes(8)), file({"x": entry(), "y": entry(offsets=(9, 17))}, bytes(17)),
        file(b'{"x": 1, "x": 2}', b""), file(b"[" * 100_000, b""),
    ],
    ids=lambda data: str(len(data)),
)  # fmt: skip
def test_damaged_files_are_refused(damaged: bytes, tmp_path: Path) -> None:
    with pytest.raises(SafetensorError):
        load(damaged)
    (tmp_path / "f").write_bytes(damaged)
    with pytest.raises(SafetensorError, match=str(tmp_path)):
        load_file(tmp_path / "f")


def test_any_change_of_the_header_gives_tensors_or_a_clear_error() -> None:
    data, chance = save(tensors()), random.Random(0)
    length = 8 + struct.unpack_from("<Q", data)[0]
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(length)] = chance.choice(b'0123456789[]{}",:FIU\xff')
        try:
            assert all(isinstance(each, mpigrad.Tensor) for each in load(bytes(changed)).values())
        except SafetensorError:
            pass


def test_what_the_format_cannot_hold_is_refused() -> None:
    x = mpigrad.ones(4)
    with pytest.raises(RuntimeError, match="share memory.*'a', 'b'"):
        save({"a": x, "b": x[1:]})
    assert set(load(save({"a": x[:2], "b": x[2:]}))) == {"a", "b"}
    wide = mpigrad.ones(1, dtype=mpigrad.complex128)
    for wrong in ({"a": 3}, {3: x}, {"a": mpigrad.eye(2).to_sparse()}, {"__metadata__": x}, {"a": wide}):
        with pytest.raises(ValueError, match="is invalid"):
            save(wrong)
    with pytest.raises(ValueError, match="metadata"):
        save({}, {"a": 3})  # type: ignore[dict-item]
