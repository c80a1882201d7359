"""Malicious files: `load` returns the right content or raises a clear error, and changes nothing else.

`MPIGRAD_ATTACKS=100000` has so many mutated files loaded instead of the few that fit into a test run.
"""

from __future__ import annotations

import collections
import datetime
import io
import os
import pickle
import random
import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad import nn, return_types
from mpigrad._array.layout import layout
from mpigrad._array.sparse.array import SparseArray
from mpigrad._ops.tensor import file_names
from tests.support.records import parts, seal

COUNT = int(os.environ.get("MPIGRAD_ATTACKS", "400"))
CLEAR = (pickle.UnpicklingError, EOFError)
CLASSES = [
    mpigrad.Tensor, nn.Parameter, nn.Buffer, nn.UninitializedParameter, mpigrad.Size, mpigrad.device, mpigrad.dtype, layout,
    SparseArray, nn.Module, return_types.max, collections.Counter, mpigrad.Generator,
]  # fmt: skip


def saved(obj: Any) -> bytes:
    file = io.BytesIO()
    mpigrad.save(obj, file)
    return file.getvalue()


def loaded(data: bytes) -> Any:
    return mpigrad.load(io.BytesIO(data), map_location="cpu")


def everything() -> Any:
    """All kinds of things that files hold."""
    mpigrad.manual_seed(0)
    x = mpigrad.arange(6.0).reshape(2, 3)
    x.note = ["a", {"b": (1, 2, 3, 4)}]
    knot: list[Any] = []
    knot.append((knot, {"k": knot}))
    layer = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
    plain = [None, True, False, 1, -(2**40), 2**200, 0.5, 1j, "é" * 300, b"b" * 300, bytearray(b"c"), slice(1, 2), range(3)]
    dicts = [collections.OrderedDict(a=1), collections.Counter("ab"), collections.defaultdict(list, a=[1]), {(1, ("a", 2)): 3}]
    groups = [collections.deque([1, 2], 5), {1, "a"}, frozenset({(1, 2)}), knot, [[], {}, (), set()]]
    times = [datetime.datetime(2026, 1, 2, 3), datetime.date(2026, 1, 2), datetime.timedelta(1)]
    own = [mpigrad.Size([1, 2]), mpigrad.float16, mpigrad.device("cpu"), mpigrad.strided, mpigrad.channels_last, mpigrad.Tensor]
    tensors = [x, x[1], x.t(), nn.Parameter(mpigrad.ones(2)), nn.Buffer(mpigrad.ones(1)), nn.UninitializedParameter()]
    more = [mpigrad.eye(3).to_sparse(), x.max(dim=1), mpigrad.Generator().manual_seed(3), np.arange(4), np.array(["ab", "c"])]
    return [plain, dicts, groups, times, own, tensors, more, layer.state_dict()]


def shown(content: Any) -> str:
    """All values, without the addresses of objects."""
    return re.sub("0x[0-9a-f]+", "", repr(content))


def test_everything_comes_back_and_no_file_names_a_module_of_the_package() -> None:
    data = saved(everything())
    assert b"mpigrad._" not in data and b"mpigrad.nn.parameter" not in data
    wanted = shown(everything())
    assert shown(loaded(data)) == wanted
    assert shown(mpigrad.load(io.BytesIO(data), weights_only=False)) == wanted


def test_names_of_files_stay() -> None:
    """Never take one out or give it to something else: files have them."""
    own = {"tensor", "sparse tensor", "sparse array", "memory", "parameter", "buffer", "dtype", "named result", "generator"}
    classes = {"Size", "Tensor", "dtype", "layout", "memory_format", "device", *file_names._LAYOUTS}
    classes |= {f"nn.{each}" for each in ("Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer")}
    assert set(file_names._PLACES) >= own | {f"mpigrad.{each}" for each in classes}
    assert all(file_names.name_of(file_names.named(name)) == name for name in file_names._PLACES)


# -- single attacks -------------------------------------------------------------------------------------------------
def text(value: str) -> bytes:
    return pickle.SHORT_BINUNICODE + bytes([len(value)]) + value.encode()


def known(name: str) -> bytes:
    return text(name) + pickle.BINPERSID


def found(module: str, name: str) -> bytes:
    return text(module) + text(name) + pickle.STACK_GLOBAL


def refused(*code: bytes, match: str, version: int = 2) -> None:
    before = snapshot()
    with pytest.raises(pickle.UnpicklingError, match=match):
        loaded(seal(b"\x80\x04" + b"".join(code) + b".", [], version))
    assert snapshot() == before


def snapshot() -> list[dict[str, Any]]:
    return [dict(vars(each)) for each in (*CLASSES, return_types)]


DICT = pickle.EMPTY_DICT + text("backward") + found("builtins", "tuple") + pickle.SETITEM


@pytest.mark.parametrize("state", [DICT, pickle.NONE + DICT + pickle.TUPLE2])
@pytest.mark.parametrize("version", [1, 2])
def test_a_file_cannot_change_a_class(state: bytes, version: int) -> None:
    for thing in (found("mpigrad._tensor", "Tensor"), known("mpigrad.Tensor"), known("dtype"), found("collections", "Counter")):
        refused(thing, state, pickle.BUILD, match="set attributes of a (type|function)", version=version)
    x = mpigrad.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_file_cannot_hide_methods_of_what_it_makes() -> None:
    hidden = collections.OrderedDict(a=1)
    hidden.keys = [1]  # type: ignore[assignment, method-assign]
    with pytest.raises(pickle.UnpicklingError, match="would hide one of its class"):
        loaded(saved(hidden))
    x = mpigrad.ones(1)
    x.__dict__["backward"] = [1]
    with pytest.raises(pickle.UnpicklingError, match="would hide one of its class"):
        loaded(saved(x))


def test_results_with_names_are_made_of_their_classes_only() -> None:
    for name in ("namedtuple", "_result", "Any"):
        call = known("named result") + text(name) + text("x") + pickle.TUPLE1 + pickle.TUPLE2 + pickle.REDUCE
        refused(call, match=f"KeyError: '{name}'")
        with pytest.raises(KeyError):
            return_types._named(name, ("x",))


def test_memory_is_bounded_by_the_size_of_the_file() -> None:
    """Copies of copies, and lengths that are only numbers."""
    many = pickle.MARK + b"K\x01" * 1000 + pickle.TUPLE + pickle.MEMOIZE
    again = known("mpigrad.Size") + b"h\x00" + pickle.TUPLE1 + pickle.REDUCE
    refused(many, pickle.MARK, again * 1000, pickle.TUPLE, match="more memory than its size allows")
    for call in (found("builtins", "bytearray"), found("builtins", "list"), found("builtins", "bytes")):
        refused(call, pickle.LONG1 + b"\x06" + b"\xff" * 5 + b"\x00", pickle.TUPLE1, pickle.REDUCE, match="damaged")
    for huge in (pickle.BINUNICODE8, pickle.BINBYTES8):
        with pytest.raises(EOFError, match="names 72340172838076673 bytes"):
            loaded(seal(b"\x80\x04" + huge + b"\x01" * 8, []))


def test_keys_are_looked_at_before_they_are_hashed() -> None:
    """Hashing such keys overflows C's stack, or takes for ever."""
    deep = pickle.EMPTY_TUPLE + pickle.TUPLE1 * 200_000
    refused(pickle.EMPTY_DICT, deep, pickle.NONE, pickle.SETITEM, match="nested more than 100 deep")
    wide = pickle.EMPTY_TUPLE + (pickle.MEMOIZE + b"h%c" + pickle.TUPLE2) * 60 % tuple(range(60))
    refused(pickle.EMPTY_SET, pickle.MARK, wide, pickle.ADDITEMS, match="a key is larger than the file")
    refused(pickle.EMPTY_SET, pickle.MARK, pickle.EMPTY_LIST, pickle.ADDITEMS, match="a list is used as a key")


def test_nothing_is_made_around_its_checks() -> None:
    refused(known("mpigrad.Tensor"), pickle.EMPTY_TUPLE, pickle.NEWOBJ, match="make a Tensor without its constructor")
    refused(known("mpigrad.Tensor"), pickle.EMPTY_TUPLE, pickle.REDUCE, match="it would call Tensor")
    refused(found("collections", "defaultdict"), known("dtype"), pickle.TUPLE1, pickle.REDUCE, match="a defaultdict would call")
    refused(b"cos\nsystem\n", match="the opcode 0x63")
    refused(found("os", "system"), match="GLOBAL os.system was not an allowed global")
    refused(text("sys"), pickle.BINPERSID, match="KeyError: 'sys'")


def test_sparse_tensors_stay_inside_their_shape() -> None:
    x = mpigrad.sparse_coo_tensor(mpigrad.tensor([[0, 2]]), mpigrad.ones(2), (3,))
    skeleton, blocks = parts(saved(x))
    assert loaded(seal(skeleton, blocks)).to_dense().tolist() == [1, 0, 1]
    for index in (3, -1):
        where = [np.array([0, index]).tobytes() if len(each) == 16 else each for each in blocks]
        with pytest.raises(pickle.UnpicklingError, match="index of a sparse tensor is out of its shape"):
            loaded(seal(skeleton, where))


def test_errors_of_the_users_own_code_stay_what_they_are() -> None:
    def nowhere(tensor: Any, place: str) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        mpigrad.load(io.BytesIO(saved(mpigrad.ones(1))), map_location=nowhere)


# -- many attacks ---------------------------------------------------------------------------------------------------
def flip(data: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, taken out, put in, or moved."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        at = chance.randrange(len(made) + 1)
        what = chance.randrange(5)
        if what == 0 and at < len(made):
            made[at] ^= 1 << chance.randrange(8)
        elif what == 1 and at < len(made):
            made[at] = chance.randrange(256)
        elif what == 2:
            del made[at : at + chance.choice((1, 2, 8, 100, len(made)))]
        elif what == 3:
            made[at:at] = chance.randbytes(chance.choice((1, 2, 8)))
        else:
            start = chance.randrange(len(made) + 1)
            made[at:at] = made[start : start + chance.randrange(64)]
    return bytes(made)


def raw(data: bytes, chance: random.Random) -> bytes:
    return flip(data, chance)


def skeleton_changed(data: bytes, chance: random.Random) -> bytes:
    skeleton, blocks = parts(data)
    return seal(flip(skeleton, chance), blocks, chance.choice((1, 2)))


def blocks_changed(data: bytes, chance: random.Random) -> bytes:
    skeleton, blocks = parts(data)
    return seal(skeleton, [flip(each, chance) if chance.random() < 0.2 else each for each in blocks])


OPCODES = [bytes([each]) for each in b"()aestuR\x81\x92bQ0123NKJ]}h\x94\x85\x86\x87\x88\x89\x8f\x90\x91"]
THINGS = [known(each) for each in file_names._PLACES]
THINGS += [found("collections", each) for each in ("OrderedDict", "Counter", "defaultdict", "deque")]
THINGS += [found("builtins", each) for each in ("set", "list", "dict", "complex", "bytearray", "slice", "range", "tuple", "int")]
THINGS += [text(each) for each in ("backward", "float32", "max", "cpu", "__class__", "<f4", "_array")]
THINGS += [b"K\x00", b"K\x01", b"K\x02\x85", b"h\x00", b"h\x05", b"G?\xe0" + bytes(6), b"C\x02ab", b"}", b"]", b")", b"N"]
PLACE = b"(K\x00" + text("<f4") + b"K\x06\x85\x89tQ"
CALLS = [b"\x85R", b"\x86R", b"\x87R", b")R", b"b", b"}b", b"tR", b"(", b"s", b"\x90", b"u", b"e", b"\x85", b"\x86", b"\x94"]


def written(data: bytes, chance: random.Random) -> bytes:
    """A pickle of nothing but things that mean something."""
    words = THINGS, THINGS, CALLS, OPCODES, [PLACE]
    code = b"".join(chance.choice(chance.choice(words)) for _ in range(chance.randrange(2, 30)))
    return seal(b"\x80\x04" + code + b".", [bytes(24)])


ATTACKS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "raw": raw, "skeleton": skeleton_changed, "blocks": blocks_changed, "written": written,
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.deadline(3600 if COUNT > 10_000 else 60)
def test_mutated_files(attack: str) -> None:
    data, chance, before = saved(everything()), random.Random(attack), snapshot()
    seed = chance.getrandbits(64)
    content = shown(loaded(data))
    tracemalloc.start()
    try:
        for number in range(COUNT // len(ATTACKS)):
            assault(attack, data, content, f"{attack}, number {number} of seed {seed}", random.Random(seed + number))
            if number % 50 == 49:
                assert snapshot() == before, f"{attack}: a class was changed by number {number} or one of the 50 before"
    finally:
        tracemalloc.stop()
    assert snapshot() == before
    x = mpigrad.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def assault(attack: str, data: bytes, wanted: str, name: str, chance: random.Random) -> None:
    mutated = ATTACKS[attack](data, chance)
    tracemalloc.reset_peak()
    start, _ = tracemalloc.get_traced_memory()
    try:
        content = loaded(mutated)
        peak = tracemalloc.get_traced_memory()[1] - start
    except CLEAR as error:
        assert str(error), name
        peak = tracemalloc.get_traced_memory()[1] - start
    except Exception as error:
        raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
    else:
        assert attack != "raw" or shown(content) == wanted, f"{name}: other content, and no error"
    assert peak < 100_000 + 300 * len(mutated), f"{name}: {peak} bytes of memory for {len(mutated)} bytes of file"
