"""Damaged archives, and arrays that hold more than numbers: one clear error."""

from __future__ import annotations

import copy
import io
import json
import pickle
import random
import warnings
import zipfile

import numpy as np
import pytest

import mpigrad

from .forged import RAN, Payload, archived, members


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def bad_arrays() -> dict[str, bytes]:
    npz = io.BytesIO()
    np.savez(npz, x=np.ones(2))
    return {
        "objects": npy(np.array([Payload()], dtype=object)),
        "a pickle": pickle.dumps(Payload()),
        "an archive": npz.getvalue(),
        "records": npy(np.zeros(2, dtype=[("a", "f4")])),
        "objects in records": npy(np.array([(Payload(),)], dtype=[("a", "O")])),
        "texts": npy(np.array(["a", "b"])),
        "dates": npy(np.array(["2020-01-01"], dtype="M8[D]")),
        "nothing": b"",
        "an end too soon": npy(np.ones(100))[:-8],
        "more than its header says": npy(np.ones(3)) + b"x",
        "a huge shape": header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }\n"),
        "a shape that overflows": header(
            "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n"
        ),
        "a negative shape": header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1), }\n") + bytes(8),
        "code in its header": header("{'descr': __import__('os').sep, 'fortran_order': False, 'shape': (1,)}\n"),
        "a long header": header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }" + " " * 20_000),
        "another version": b"\x93NUMPY\x09\x00" + bytes(100),
        "an object of another kind": header("[1, 2]\n"),
    }


@pytest.mark.parametrize("name", bad_arrays())
def test_arrays_hold_numbers_only(name: str) -> None:
    with warnings.catch_warnings(), pytest.raises(RuntimeError, match="Could not load|damaged"):
        warnings.simplefilter("ignore")
        mpigrad.jit.load(archived({**members(), "arrays/0.npy": bad_arrays()[name]}))
    assert not RAN


def test_arrays_in_other_orders_come_back() -> None:
    for array in (
        np.asfortranarray(np.arange(4.0, dtype="f4").reshape(2, 2)),
        np.arange(4.0, dtype=">f4").reshape(2, 2),
    ):
        loaded = mpigrad.jit.load(archived({**members(), "arrays/0.npy": npy(array)}))
        assert any(each.tolist() == [[0.0, 1.0], [2.0, 3.0]] for each in [*loaded.parameters(), *loaded.buffers()])


@pytest.mark.parametrize(
    "name",
    [
        "arrays/../../x.npy",
        "arrays//etc/x.npy",
        "arrays/x.npy",
        "arrays/-1.npy",
        "arrays/01.npy",
        "arrays/0.npz",
        "arrays/9999999999999.npy",
        "arrays/",
        "arrays/0.npy\n",
    ],
)
def test_names_of_arrays_are_numbers(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError, match="unexpected member"):
        mpigrad.jit.load(archived({**members(), name: npy(np.ones(1))}))
    mpigrad.jit.load(archived({**members(), "../../evil.txt": b"x", "/evil.txt": b"x"}))  # they are not read
    assert not list(tmp_path.iterdir())


def test_bombs_are_refused_before_they_are_unpacked() -> None:
    with pytest.raises(RuntimeError, match="is compressed"):
        mpigrad.jit.load(archived({**members(), "arrays/7.npy": bytes(10_000_000)}, zipfile.ZIP_DEFLATED))
    made = archived({**members(), "arrays/7.npy": npy(np.ones(1000))})
    with zipfile.ZipFile(made, "a") as archive:  # ten entries for the same bytes
        same = archive.getinfo("arrays/7.npy")
        for number in range(10, 20):
            twin = copy.copy(same)
            twin.filename = f"arrays/{number}.npy"
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
        archive._didModify = True
    made.seek(0)
    with pytest.raises(RuntimeError, match="bytes, the file has|damaged|Overlapped"):
        mpigrad.jit.load(made)


def test_a_member_is_there_once() -> None:
    made = archived(members())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(made, "a") as archive:
            archive.writestr("program.json", "{}")
    made.seek(0)
    with pytest.raises(RuntimeError, match="have the same name"):
        mpigrad.jit.load(made)


@pytest.mark.parametrize(
    "form",
    [
        {},
        [],
        1,
        None,
        {"format": "mpigrad.jit"},
        {"format": "mpigrad.jit", "version": "1"},
        {"format": "mpigrad.jit", "version": True},
        {"format": "mpigrad.jit", "version": 0},
        {"format": "mpigrad.jit", "version": [1]},
        {"format": "torch", "version": 1},
    ],
)
def test_only_this_version_of_the_format_is_read(form) -> None:
    with pytest.raises(RuntimeError, match="expected|version"):
        mpigrad.jit.load(archived({**members(), "format.json": json.dumps(form).encode()}))


def test_missing_members_and_files_are_said() -> None:
    for name in members():
        content = members()
        del content[name]
        with pytest.raises(RuntimeError, match="no member|is missing"):
            mpigrad.jit.load(archived(content))
    with pytest.raises(FileNotFoundError):
        mpigrad.jit.load("there-is-no-such-file")


# -- damage ------------------------------------------------------------------------------------------------------------
def survives(file: io.BytesIO) -> bool:
    """Whether a file loads; anything but the one kind of error is a failure."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mpigrad.jit.load(file)
    except RuntimeError as error:
        assert str(error).startswith(("Could not load", "<_io.BytesIO")), error
        return False
    return True


def test_cut_files_are_refused() -> None:
    whole = archived(members()).getvalue()
    for end in range(0, len(whole), 97):
        assert not survives(io.BytesIO(whole[:end]))


def test_changed_bytes_are_found() -> None:
    whole, dice = archived(members()).getvalue(), random.Random(1)
    for _ in range(400):
        changed = bytearray(whole)
        for _ in range(dice.choice((1, 1, 4, 30))):
            changed[dice.randrange(len(changed))] = dice.randrange(256)
        survives(io.BytesIO(bytes(changed)))
    assert not RAN


JUNK = [
    None,
    True,
    -1,
    0,
    10**30,
    1.5,
    "",
    "__class__",
    "os",
    "getattr",
    "callmethod",
    [],
    {},
    [[]],
    {"a": 1},
    {"function": "f"},
    {"list": [1]},
    {"tensor": 0, "requires_grad": True},
    ["Tensor", []],
    "fn:mpigrad:add",
    "method:add",
    "Linear",
]


def places(given, found: list) -> list:
    for key in given if isinstance(given, dict) else range(len(given)):
        found.append((given, key))
        if isinstance(given[key], (dict, list)):
            places(given[key], found)
    return found


def test_programs_with_junk_in_them_load_or_are_refused() -> None:
    content, dice = members(), random.Random(2)
    loaded = 0
    for _ in range(600):
        made = json.loads(content["program.json"])
        for _ in range(dice.choice((1, 1, 2, 5))):
            owner, key = dice.choice(places(made, []))
            if dice.random() < 0.2:
                del owner[key]
            else:
                owner[key] = copy.deepcopy(dice.choice(JUNK))
        loaded += survives(archived({**content, "program.json": json.dumps(made).encode()}))
    assert 0 < loaded < 600  # some changes do no harm
    assert not RAN
