"""Pickling, copying, saving and loading: values, sharing, attributes, devices, damaged and hostile files."""

from __future__ import annotations

import base64
import copy
import io
import pickle
import struct
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.support.records import parts, seal


def saved(obj: Any) -> bytes:
    file = io.BytesIO()
    mpigrad.save(obj, file)
    return file.getvalue()


def again(obj: Any, **kw: Any) -> Any:
    return mpigrad.load(io.BytesIO(saved(obj)), **kw)


ROADS = {"pickle": lambda obj: pickle.loads(pickle.dumps(obj)), "save": again, "deepcopy": copy.deepcopy}


@pytest.fixture(params=ROADS)
def road(request: pytest.FixtureRequest) -> Any:
    return ROADS[request.param]


CASES = {
    "matrix": lambda: mpigrad.arange(6.0).reshape(2, 3),
    "number": lambda: mpigrad.tensor(3),
    "empty": lambda: mpigrad.zeros(0, 3),
    "bools": lambda: mpigrad.tensor([True, False]),
    "complex": lambda: mpigrad.tensor([1 + 2j]),
    "half": lambda: mpigrad.ones(2, dtype=mpigrad.float16),
    "transposed": lambda: mpigrad.arange(6).reshape(2, 3).t(),
    "row": lambda: mpigrad.arange(6).reshape(2, 3)[1],
    "stretched": lambda: mpigrad.arange(3).expand(2, 3),
    "needs a gradient": lambda: mpigrad.ones(2, requires_grad=True),
}


@pytest.mark.parametrize("case", CASES)
def test_values_types_and_layout_come_back(road: Any, case: str) -> None:
    tensor = CASES[case]()
    found = road(tensor)
    assert found is not tensor
    assert (found.dtype, found.shape, found.requires_grad) == (tensor.dtype, tensor.shape, tensor.requires_grad)
    assert found.stride() == tensor.stride()
    np.testing.assert_array_equal(found.detach().numpy(), tensor.detach().numpy())


def test_shared_memory_stays_shared_and_apart_from_the_original(road: Any) -> None:
    x = mpigrad.arange(6.0).reshape(2, 3)
    a, b, c = road([x, x[1], x])
    assert a is c
    b.fill_(7)
    assert a.tolist() == [[0, 1, 2], [7, 7, 7]]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_attributes_travel(road: Any) -> None:
    x = mpigrad.ones(2)
    x.note = ["mine"]
    assert road(x).note == ["mine"]


def test_history_is_left_behind() -> None:
    y = mpigrad.ones(2, requires_grad=True) * 2
    for found in (pickle.loads(pickle.dumps(y)), again(y)):
        assert found.is_leaf and found.requires_grad


def test_deepcopy_takes_the_gradient_along_but_no_history() -> None:
    x = mpigrad.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    made = copy.deepcopy(x)
    assert made.grad.tolist() == [3, 3] and made.grad is not x.grad
    with pytest.raises(RuntimeError, match="support the deepcopy protocol"):
        copy.deepcopy(x * 2)


def test_shallow_copy_shares_memory() -> None:
    x = mpigrad.zeros(2)
    made = copy.copy(x)
    made.fill_(1)
    assert made is not x and x.tolist() == [1, 1]


def test_parameters_and_state_dicts_come_back(tmp_path: Path) -> None:
    from mpigrad import nn

    state = OrderedDict(
        w=nn.Parameter(mpigrad.ones(2)), step=3, rate=0.1, kind=mpigrad.float16, size=mpigrad.Size([1, 2])
    )
    mpigrad.save(state, tmp_path / "state")
    for mmap in (False, True):
        found = mpigrad.load(tmp_path / "state", mmap=mmap)
        assert isinstance(found["w"], nn.Parameter) and found["w"].requires_grad and found["w"].tolist() == [1, 1]
        assert [found[name] for name in ("step", "rate", "kind", "size")] == [3, 0.1, mpigrad.float16, (1, 2)]


def test_mapped_files_are_not_changed(tmp_path: Path) -> None:
    mpigrad.save([mpigrad.zeros(3), mpigrad.ones(1000)], str(tmp_path / "f"))
    before = (tmp_path / "f").read_bytes()
    zeros, ones = mpigrad.load(str(tmp_path / "f"), mmap=True)
    ones.add_(1)
    assert zeros.tolist() == [0, 0, 0] and ones.sum().item() == 2000
    assert (tmp_path / "f").read_bytes() == before


def test_several_objects_in_one_file() -> None:
    file = io.BytesIO()
    for each in (mpigrad.ones(2), {"b": mpigrad.zeros(3)}, "text"):
        mpigrad.save(each, file)
    file.seek(0)
    first, second, third = (mpigrad.load(file) for _ in range(3))
    assert (first.tolist(), second["b"].tolist(), third) == ([1, 1], [0, 0, 0], "text")
    with pytest.raises(EOFError, match="nothing left"):
        mpigrad.load(file)


@pytest.mark.host
def test_map_location() -> None:
    data = saved(mpigrad.ones(2))
    seen = []

    def where(tensor: Any, location: str) -> Any:
        seen.append(location)
        return tensor

    for given in ("cpu", mpigrad.device("cpu"), {"cpu": "cpu"}, where):
        assert mpigrad.load(io.BytesIO(data), map_location=given).tolist() == [1, 1]
    assert seen == ["cpu"]


@pytest.mark.host
def test_a_missing_device_is_named() -> None:
    skeleton, blocks = parts(saved(mpigrad.ones(2)))
    data = seal(skeleton.replace(b"cpu", b"xpu"), blocks)
    with pytest.raises(RuntimeError, match="'xpu'.*map_location"):
        mpigrad.load(io.BytesIO(data))
    assert mpigrad.load(io.BytesIO(data), map_location="cpu").tolist() == [1, 1]


class Own:
    """A class that files must not make unasked."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)


def test_only_harmless_things_are_made() -> None:
    data = saved({"w": mpigrad.ones(1), "own": Own()})
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed.*Own was not an allowed global"):
        mpigrad.load(io.BytesIO(data))
    assert mpigrad.load(io.BytesIO(data), weights_only=False)["own"] == Own()
    with mpigrad.serialization.safe_globals([Own]):
        assert mpigrad.load(io.BytesIO(data))["own"] == Own()
    with pytest.raises(pickle.UnpicklingError):
        mpigrad.load(io.BytesIO(data))


def test_a_file_cannot_run_code() -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return eval, ("1 + 1",)

    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.eval"):
        again(Evil())


def test_a_file_cannot_reach_out_of_its_memory() -> None:
    class Place(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            return (0, "<f8", (2,), False) if isinstance(obj, np.ndarray) else None

    def skeleton(place: tuple[Any, ...]) -> bytes:
        class Made:
            def __reduce__(self) -> Any:
                from mpigrad._ops.tensor.pickling import rebuild

                return rebuild, (mpigrad.Tensor, np.zeros(2), place, "cpu", False, {})

        file = io.BytesIO()
        Place(file, 4).dump(Made())
        return file.getvalue()

    def record(place: tuple[Any, ...], block: bytes) -> io.BytesIO:
        return io.BytesIO(seal(skeleton(place), [block], version=1))

    good = record((8, (1,), (8,), "<f8"), struct.pack("<2d", 1, 2))
    assert mpigrad.load(good).tolist() == [2]
    for kind in ("|O", "(<f8", "f4,f4", "3f8"):
        with pytest.raises(pickle.UnpicklingError, match="no known type"):
            mpigrad.load(record((0, (2,), (8,), kind), bytes(16)))
    for wrong in ((0, (3,), (8,), "<f8"), (-8, (1,), (8,), "<f8"), (0, (2,), (-8,), "<f8")):
        with pytest.raises(pickle.UnpicklingError, match="reaches"):
            mpigrad.load(record(wrong, bytes(16)))
    with pytest.raises(pickle.UnpicklingError, match="cannot hold"):
        mpigrad.load(record((0, (1,), (8,), "<f8"), bytes(8)))


def test_damaged_files_are_told_from_others(tmp_path: Path) -> None:
    data = saved([mpigrad.ones(100)])
    for length in range(1, len(data), 37):
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            mpigrad.load(io.BytesIO(data[:length]))
    with pytest.raises(pickle.UnpicklingError, match="checksum"):
        mpigrad.load(io.BytesIO(data[:9] + bytes([data[9] ^ 1]) + data[10:]))
    with pytest.raises(pickle.UnpicklingError, match="checksum of its block 0"):
        mpigrad.load(io.BytesIO(data[:-1] + b"x"))
    with pytest.raises(pickle.UnpicklingError, match="format 9, this version of mpigrad reads formats up to 2"):
        mpigrad.load(io.BytesIO(data[:7] + b"\x09" + data[8:]))
    with pytest.raises(pickle.UnpicklingError, match="not a file of mpigrad.save, torch.save or safetensors"):
        mpigrad.load(io.BytesIO(b"GIF89a and so on"))
    with pytest.raises(FileNotFoundError):
        mpigrad.load(tmp_path / "none")
    with pytest.raises(AttributeError, match="int"):
        mpigrad.load(3)


# `save` of version 0.1, compressed: when tensors, dtypes and devices were in other modules.
FILE_OF_0_1 = (
    "eNrFVE1Lw0AQzTbRtloUpDf/QHrJScSDoIIiEpTaehRCbFYTaJOQD7WC6KWlhb11/Dve/VfOfpjGigf14EI7szvz3sy8gZy2T447B4fkraKJsy"
    "yNVlO2sXA3FuzH+4b9dPlsvLwqmkcwGbkD1hzEwU3ielYYWrGbuAOa0QRYzUnoVR70PZiB6VdYvV3EZiWQE8Wp1YviYRDeAKuWMGy9yMlomEbI"
    "uXwhHYzaGtN3r7fAroxgmsE5PnDXNkYgAxnaXpzD9BHdDkykYeQe/LrpN0ybKAJ9TqB/JvCbCsyM24DefQs0FivPgSQFv8rW1FhOigKlVCjSYJ"
    "vFfPLZcZPEHVriH9hqVzweiBsCTLuC9MEO2MQmY1VZV60Q2QpvacLrYnm/KRvwgK0VhbxsGFPU0QlxFVxlVr3uR262vQUjnq179BZKwuM16HGA"
    "cmZIezYWvP1yXt8dRjkqvqIm6UURJyeD0qYTmuVJ6PAOUJQjDOsDt9iG8XkS3Ear9UVOlbskhWiVE/FeShyDaNJIgwcK/gozutyZiZ3xQXNL+8"
    "l53pO/vxyB3/8Nkmh/Pvv/iVffC+0dUUUVYA=="
)


@pytest.mark.parametrize("weights_only", [True, False])
def test_files_of_the_first_version_can_be_read(weights_only: bool) -> None:
    file = io.BytesIO(zlib.decompress(base64.b64decode(FILE_OF_0_1)))
    found = mpigrad.load(file, weights_only=weights_only)
    assert type(found["w"]) is mpigrad.nn.Parameter and found["w"].tolist() == [1, 1]
    found["x"][1] = 7
    assert found["view"].tolist() == [7, 2]
    assert found["s"].to_dense().tolist() == [0, 2, 0]
    assert found["d"] is mpigrad.float64 and found["dev"] == mpigrad.device("cpu") and found["l"] is mpigrad.sparse_coo
    assert found["m"].values == 2 and found["m"].indices == 2 and found["size"] == mpigrad.Size([3])
