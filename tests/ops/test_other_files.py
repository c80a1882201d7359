"""Files of torch.save and of safetensors, read and written without torch; tests/oracle compares with torch itself."""

from __future__ import annotations

import base64
import collections
import io
import pickle
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad.utils import safetensors

# torch 2.13: torch.save({"model": Linear(2, 1).state_dict(), "weight": its weight, "x": x, "view": x[2:], "half": two ones in
# bfloat16, "sparse": eye(2).to_sparse(), "step": 7})
FILE_OF_TORCH = (
    "eNqtVs9z20QUXjuO7YiQOCU0bQohQFtcaB3Lv2I3aR1EET9UqKO0YAIzRrFVS4Ni5Vlrh3YmTGYYp+30wnBgODFcGK7c+A+4Mj1w48IwHDjxB8CBXa2tSB"
    "uStCnrsWVb+33ve2/f++yKMhRBKB5He1YCHUNau26YXX2uoWEttfGJJUtjaDWwtsNbgJLVYQJYtxu6BaF63bYsvY5Nu+UI19oNva03rph1LED4nApDyWqU"
    "7N3UzaaBIVLHNgmRqnWwaTlCra2vdUyrUcN6y7HbtW5GgOFkshojCIfs1Jo6RBlEkC1bwyvsSwFi1RDZk4Z4dYhc6xsdGFHCGIRlBSkhJbwDTyhhJbQDo/"
    "cMquJJDGMqjFdJ6mjN1BxIGCSOETUYjwgTxogSwnDMxffgKfoyybBPYziuwlRnC05UR8jm2rqONVogOOnen67S6sGpLXjGFd7V2w6pBTyrhBzHWTP2y3lD"
    "a2uESm8LMDNQY8QNN4/nvDxmWR7PMy0vYHhRhdN33Q9n7sBZFV5yM/gUkoGMMnCOMEUwvEyZIj14hWZ0nrFcwJBSYc6tRtfUNyHtxe+jxGUSNtyDDEVlGS"
    "qHIa9CwUUZmnUT5hmqfz6Se0BiwTuioiskCyWW0kUqhFAuUMpFRnkJw2UVym6HOKQejg5L+1SL3e43igCv9rc5etvULPO2RttPqDV1XLO0W3aHdJ9UTRDa"
    "/jaGrts2vNaDKyq8ngyIv2q3mp5w2RWegzdYLd50hdOzeIudxdtMvILhqgrvBMqeh3dZttf62VZotssMoGJYUeF6P+SKeZvEusGY3+vB+ypU72L4YAdWVf"
    "jQrbKD9Q34SIl1UhUlFi/P/XG2S7qdPiv7TvEUGvamOHXTbq9ruNbvSFkKoVWRUv3416+fU7n0uT/VNJrfpeqPY40Uu9la11tYlrKcNTzUKuTcXDbhzzAJ"
    "ET5QwAQqewLWbmHdpuYiSwtHiTtYlomxpVMNvUu/n6SNFz1Qwxi6HHDFubQsXXwMAQhtlwntElXQ/a6coiHjhyhYDCoQZamIjh5/yY1978Fv39MeixwSey"
    "kYOyNLi49T/lXGy2ow0HL/1MdnEu4v0MFackEtWVlKP7KW7fJ2mcb857OfW0fIP/f/5M9Gz78Gn6m2yXTv+ix5P3uIttNBbXlZmkUP13+sBl8sR385vP/G"
    "0YIXx3OS+aMWISvQyA++ad44fP5nUGbXgNwUA3ZfMxuylHpEIWKmUMwX5rOlQqmQI49MQRTFdCmbE9PkXUkspkuZTKmQpSoX7rS+ShIdSVdliIr1dPrdOL"
    "FHOf8/ikf7DXgqgPxpCO3n33sk+Ex0OmicEXSAc/M8fiOcCPB86ePxDJiH+11sLAA/Pow47+SxfhcKYr/msSKP9btGEDsZ5bAZHuuf/iD2Wx6b5bH+6eTi"
    "xjhsjsf6Jy6I/YHH5nmsf2bGA9gTccRPKA/2t/JM8Ix94P8esooSjZ4fjOTQBQ85yl3/DrNrcWRgZVH6fxhlR3ctrqIMRxlm1N3P9v4LdjzVUA=="
)


def of_torch() -> bytes:
    return zlib.decompress(base64.b64decode(FILE_OF_TORCH))


def written(obj: Any) -> bytes:
    file = io.BytesIO()
    mpigrad.save(obj, file, format="torch")
    return file.getvalue()


def loaded(data: bytes, **kw: Any) -> Any:
    return mpigrad.load(io.BytesIO(data), **kw)


class Stream:
    """A file that can only be read from front to back, as from a network."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


def check(found: Any) -> None:
    assert found["model"]["weight"].tolist() == [[1, 2]] and found["model"]["bias"].tolist() == [3]
    assert found["model"]._metadata == {"": {"version": 1}}
    assert type(found["weight"]) is mpigrad.nn.Parameter and found["weight"].requires_grad
    assert found["half"].dtype is mpigrad.bfloat16 and found["half"].tolist() == [1, 1]
    assert found["sparse"].is_coalesced() and found["sparse"].to_dense().tolist() == [[1, 0], [0, 1]]
    assert found["step"] == 7
    found["x"][3] = 9
    assert found["view"].tolist() == [2, 9]


@pytest.mark.parametrize("weights_only", [None, False])
def test_a_file_of_torch(weights_only: bool | None) -> None:
    check(loaded(of_torch(), weights_only=weights_only))
    check(mpigrad.load(Stream(of_torch())))
    layer = mpigrad.nn.Linear(2, 1)
    layer.load_state_dict(loaded(of_torch())["model"])
    assert layer(mpigrad.ones(1, 2)).item() == 6


def test_what_is_written_for_torch_comes_back(tmp_path: Path) -> None:
    content = loaded(of_torch())
    check(loaded(written(content)))
    mpigrad.save(content, tmp_path / "f.pt", format="torch")
    check(mpigrad.load(tmp_path / "f.pt"))
    check(mpigrad.load(tmp_path / "f.pt", mmap=True))
    with zipfile.ZipFile(tmp_path / "f.pt") as archive:
        assert archive.testzip() is None and "archive/data.pkl" in archive.namelist()


def test_memory_of_a_mapped_file_is_aligned_and_private(tmp_path: Path) -> None:
    mpigrad.save([mpigrad.ones(3), mpigrad.arange(5)], tmp_path / "f.pt", format="torch")
    before = (tmp_path / "f.pt").read_bytes()
    for each in mpigrad.load(tmp_path / "f.pt", mmap=True):
        assert each.data_ptr() % 64 == 0
        each.fill_(0)
    assert (tmp_path / "f.pt").read_bytes() == before


def test_strides_that_torch_does_not_have_are_written_as_a_copy() -> None:
    class Derived(mpigrad.Tensor):
        pass

    x = mpigrad.arange(6.0)
    with pytest.raises(pickle.PicklingError, match="torch has no class .*Derived"):
        written(x.as_subclass(Derived))
    imaginary = mpigrad.tensor([1 + 2j, 3 + 4j]).imag
    assert loaded(written(imaginary)).tolist() == [2, 4]
    whole = mpigrad.tensor([1 + 2j])
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        written([whole, whole.real])


@pytest.mark.parametrize("thing", [np.ones(2), collections.deque(), mpigrad.nn.Linear(1, 1), len, collections.defaultdict(list)])
def test_what_torch_would_refuse_is_not_written(thing: Any) -> None:
    with pytest.raises(pickle.PicklingError, match="writes tensors and plain data"):
        written({"a": thing})


def test_formats_have_names() -> None:
    with pytest.raises(ValueError, match=r"\['mpigrad', 'torch'\], not 'onnx'"):
        mpigrad.save(1, io.BytesIO(), format="onnx")


def test_other_archives_are_told_apart() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/b", b"c")
    with pytest.raises(pickle.UnpicklingError, match=r"without data\.pkl"):
        loaded(file.getvalue())
    with pytest.raises(pickle.UnpicklingError, match="byte order b'big'"):
        loaded(rewritten({"byteorder": b"big"}))
    with pytest.raises(pickle.UnpicklingError, match="damaged"):
        loaded(of_torch()[:-30])
    with pytest.raises(pickle.UnpicklingError, match="Bad CRC-32"):
        data = of_torch()
        loaded(data.replace(b"\0\0\x80?\0\0\0@", b"\0\0\x80?\0\0\0A", 1))


def rewritten(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(of_torch())) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, members.get(name.partition("/")[2], old.read(name)))
    return file.getvalue()


ATTACKS = {
    "a function": (b"cos\nsystem\n(X\x01\x00\x00\x00aR.", "GLOBAL os.system was not an allowed global"),
    "of torch": (b"ctorch\nhub\n.", r"the file names torch\.hub"),
    "a nested name": (b"ctorch._utils\n_rebuild_tensor_v2.__globals__\n.", "_rebuild_tensor_v2.__globals__"),
    "a tensor without storage": (b"ctorch._utils\n_rebuild_tensor_v2\n(NK\x00)))\x89NtR.", "no storage"),
    "attributes of a tensor type": (b"ctorch\nTensor\n}X\x01\x00\x00\x00a\x88sb.", "set attributes of a type"),
    "hooks": (b"ctorch._utils\n_rebuild_parameter\n(N\x88}tR.", "a tensor has hooks"),
    "a storage outside": (
        b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x08\x00\x00\x00../../etX\x03\x00\x00\x00cpuK\x02tQ.", "no item named",
    ),
    "an unfinished name": (b"ctorch", "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_pickles(attack: str) -> None:
    code, match = ATTACKS[attack]
    with pytest.raises(pickle.UnpicklingError, match=match):
        loaded(rewritten({"data.pkl": b"\x80\x02" + code}), weights_only=False)


def test_members_cannot_be_larger_than_the_file() -> None:
    """Many names for one storage: each would be read into its own memory."""
    data = bytearray(of_torch())
    end = data.rindex(b"PK\x01\x02")
    for at in range(len(data) - 4):
        if data[at : at + 4] == b"PK\x01\x02" and at < end:
            data[at + 20 : at + 28] = (10**6).to_bytes(4, "little") * 2
    with pytest.raises(pickle.UnpicklingError, match="larger than the file"):
        loaded(bytes(data))


def test_safetensors(tmp_path: Path) -> None:
    wanted = {"a": mpigrad.arange(3.0), "b": mpigrad.ones(2, dtype=mpigrad.bfloat16)}
    data = safetensors.save(wanted)
    (tmp_path / "f").write_bytes(data)
    ways = loaded(data), mpigrad.load(Stream(data)), mpigrad.load(tmp_path / "f"), mpigrad.load(tmp_path / "f", mmap=True)
    for found in ways:
        assert {name: (each.dtype, each.tolist()) for name, each in found.items()} == {
            name: (each.dtype, each.tolist()) for name, each in wanted.items()
        }
    seen: list[str] = []
    loaded(data, map_location=lambda tensor, where: seen.append(where))
    assert seen == ["cpu", "cpu"]
    with pytest.raises(pickle.UnpicklingError, match="damaged"):
        loaded(data[:-1])


def test_modules_take_arrays() -> None:
    layer = mpigrad.nn.Linear(2, 1)
    state = {"weight": np.array([[1.0, 2.0]]), "bias": np.zeros(1, np.float32)}
    layer.load_state_dict(state)
    assert layer.weight.tolist() == [[1, 2]] and layer.weight.dtype is mpigrad.float32
    layer.load_state_dict({name: each.astype(np.float32) for name, each in state.items()}, assign=True)
    assert type(layer.weight) is mpigrad.nn.Parameter and layer.weight.requires_grad
    with pytest.raises(RuntimeError, match="size mismatch for bias"):
        layer.load_state_dict(state | {"bias": np.zeros(2)})
    with pytest.raises(RuntimeError, match="Tensor-like object from checkpoint but received <class 'list'>"):
        layer.load_state_dict(state | {"bias": [0.0]})
