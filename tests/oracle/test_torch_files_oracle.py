"""Files of torch.save read by mpigrad.load, and files of mpigrad.save(format="torch") read by torch.load."""

from __future__ import annotations

import collections
import io
import os
import pickle
import random
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.ops.test_file_attacks import CLEAR, flip, shown

torch = pytest.importorskip("torch")
COUNT = int(os.environ.get("MPIGRAD_ATTACKS", "300"))
NAMES = (
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128",
    "uint16", "uint32", "uint64",
)  # fmt: skip
PLAIN = [
    None, True, False, 1, 300, -(2**40), 2**200, 0.5, 1j, "é" * 300, b"b" * 300, bytearray(b"c"), {1, "a"}, (1, 2, 3, 4),
    collections.Counter("ab"), {(1, 2): 3}, [[], {}, ()], collections.OrderedDict(a=[1]),
]  # fmt: skip


def by_torch(obj: Any) -> bytes:
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()


def by_mpigrad(obj: Any) -> bytes:
    file = io.BytesIO()
    mpigrad.save(obj, file, format="torch")
    return file.getvalue()


def loaded(data: bytes, **kw: Any) -> Any:
    return mpigrad.load(io.BytesIO(data), **kw)


def read_by_torch(data: bytes) -> Any:
    return torch.load(io.BytesIO(data), weights_only=True)


def everything(library: Any) -> dict[str, Any]:
    """The same for both libraries."""
    x = library.arange(6.0).reshape(2, 3)
    marked = library.ones(2)
    marked.note = ["a", {"b": 1}]
    weight = library.nn.Parameter(library.full((2,), 0.5))
    weight.shared = False
    layer = library.nn.Sequential(library.nn.Linear(2, 1), library.nn.BatchNorm1d(1))
    for each in layer.parameters():
        each.data.fill_(0.25)
    own = [library.Size([1, 2]), library.float16, library.bfloat16, library.device("cpu"), library.device("cuda", 1)]
    return {
        "plain": PLAIN, "views": [x, x[1], x.t(), x[:, 1], x[None].expand(4, 2, 3)], "empty": [library.zeros(0, 3)],
        "number": library.tensor(3), "grad": library.ones(2, requires_grad=True), "marked": marked, "weight": weight,
        "frozen": library.nn.Parameter(library.ones(1), requires_grad=False), "buffer": library.nn.Buffer(library.ones(1)),
        "sparse": library.eye(3).to_sparse(), "own": [*own, library.strided], "state": layer.state_dict(),
    }  # fmt: skip


def plain(value: Any) -> Any:
    """Content in terms that both libraries share."""
    if isinstance(value, (torch.Tensor, mpigrad.Tensor)):
        library = torch if isinstance(value, torch.Tensor) else mpigrad
        kind = [isinstance(value, each) for each in (library.nn.Parameter, library.nn.Buffer)]
        dtype = str(value.dtype).partition(".")[2]
        if value.is_sparse:
            return kind, dtype, value.to_dense().tolist()
        return kind, dtype, value.stride(), value.requires_grad, value.tolist(), getattr(value, "note", None)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}, type(value), getattr(value, "_metadata", None)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value], type(value).__name__
    return value if not type(value).__module__.startswith(("torch", "mpigrad")) else re.sub("torch|mpigrad", "", repr(value))


@pytest.mark.parametrize("name", NAMES)
def test_all_element_types_both_ways(name: str) -> None:
    values = [[0, 1, 2], [3, 100, 5]]
    theirs, ours = (each.tensor(values, dtype=getattr(each, name)) for each in (torch, mpigrad))
    assert plain(loaded(by_torch(theirs))) == plain(ours)
    assert plain(read_by_torch(by_mpigrad(ours))) == plain(theirs)


def test_everything_both_ways() -> None:
    theirs, ours = everything(torch), everything(mpigrad)
    wanted = plain(ours)
    assert plain(theirs) == wanted
    assert plain(loaded(by_torch(theirs))) == wanted
    assert plain(read_by_torch(by_mpigrad(ours))) == wanted
    assert plain(loaded(by_mpigrad(ours))) == wanted


def test_shared_memory_stays_shared_and_objects_stay_one() -> None:
    x = torch.arange(6.0)
    found = loaded(by_torch({"a": x, "b": x[2:], "c": x}))
    found["a"][3] = 50
    assert found["b"][1].item() == 50 and found["c"] is found["a"]
    back = read_by_torch(by_mpigrad(found))
    back["a"][4] = 60
    assert back["b"].tolist() == [2, 50, 60, 5] and back["c"] is back["a"]


def test_only_the_memory_of_a_tensor_that_torch_saved_is_read() -> None:
    """torch saves the whole storage of a view."""
    found = loaded(by_torch(torch.arange(100.0)[10:12]))
    assert found.tolist() == [10, 11] and found.untyped_storage().nbytes() == 400


def test_a_training_checkpoint_goes_both_ways() -> None:
    theirs, ours = torch.nn.Linear(3, 2), mpigrad.nn.Linear(3, 2)
    optimizers = torch.optim.Adam(theirs.parameters(), lr=0.1), mpigrad.optim.Adam(ours.parameters(), lr=0.1)
    theirs(torch.ones(1, 3)).sum().backward()
    optimizers[0].step()
    checkpoint = loaded(by_torch({"model": theirs.state_dict(), "optimizer": optimizers[0].state_dict(), "epoch": 3}))
    ours.load_state_dict(checkpoint["model"])
    optimizers[1].load_state_dict(checkpoint["optimizer"])
    for library, model, optimizer in ((torch, theirs, optimizers[0]), (mpigrad, ours, optimizers[1])):
        optimizer.zero_grad()
        (model(library.ones(2, 3)) ** 2).sum().backward()
        optimizer.step()
    assert mpigrad.allclose(ours.weight, mpigrad.from_dlpack(theirs.weight.detach()))
    theirs.load_state_dict(read_by_torch(by_mpigrad(ours.state_dict())))
    optimizers[0].load_state_dict(read_by_torch(by_mpigrad(optimizers[1].state_dict())))
    assert np.array_equal(theirs.weight.detach().numpy(), ours.weight.detach().numpy())


def test_memory_mapped_both_ways(tmp_path: Path) -> None:
    torch.save({"x": torch.arange(1000.0)}, tmp_path / "torch.pt")
    found = mpigrad.load(tmp_path / "torch.pt", mmap=True)["x"]
    assert found[999].item() == 999
    mpigrad.save({"x": found, "y": mpigrad.ones(3)}, tmp_path / "ours.pt", format="torch")
    again = torch.load(tmp_path / "ours.pt", mmap=True, weights_only=True)
    assert again["x"][999].item() == 999 and again["y"].tolist() == [1, 1, 1]
    with zipfile.ZipFile(tmp_path / "ours.pt") as archive:
        assert archive.testzip() is None


def test_map_location_is_called_with_what_was_saved() -> None:
    seen: list[Any] = []
    loaded(by_torch(torch.ones(2)), map_location=lambda tensor, where: seen.append((tensor.tolist(), where)))
    assert seen == [([1, 1], "cpu")]


REFUSED = {
    "module": (lambda: torch.nn.Linear(1, 1), r"names torch\.nn\.modules\.linear\.Linear.*state_dict"),
    "csr": (lambda: torch.eye(2).to_sparse_csr(), "another layout than COO"),
    "conjugate": (lambda: torch.ones(2, dtype=torch.complex64).conj(), "resolve_conj"),
    "float8": (lambda: torch.ones(2).to(torch.float8_e4m3fn), r"names torch\.float8_e4m3fn"),
    "function": (lambda: os.path.join, r"GLOBAL posixpath\.join was not an allowed global"),
    "quantised": (lambda: torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8), "_rebuild_qtensor"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.filterwarnings("ignore:.*(beta state|deprecat)")
def test_what_cannot_be_read_is_named(case: str) -> None:
    make, match = REFUSED[case]
    for weights_only in (True, False):
        with pytest.raises(pickle.UnpicklingError, match=match):
            loaded(by_torch(make()), weights_only=weights_only)


def test_older_files_and_programs_are_told_from_damaged_ones() -> None:
    file = io.BytesIO()
    torch.save({"x": torch.ones(1)}, file, _use_new_zipfile_serialization=False)
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.save before 1\.6"):
        loaded(file.getvalue())
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(lambda x: x + 1, torch.ones(1)), file)
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.jit\.save"):
        loaded(file.getvalue())


# -- damaged and hostile files ------------------------------------------------------------------------------------------
def with_member(data: bytes, change: Any) -> bytes:
    """The archive with members changed, and checksums that fit."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for info in old.infolist():
            new.writestr(info.filename, change(info.filename.partition("/")[2], old.read(info)))
    return made.getvalue()


@pytest.mark.parametrize("attack", ["raw", "pickle", "storages"])
@pytest.mark.deadline(3600 if COUNT > 10_000 else 60)
def test_mutated_files(attack: str) -> None:
    """A clear error or the right content."""
    data = by_torch(everything(torch))
    wanted = shown(loaded(data))
    for number in range(COUNT // 3):
        chance = random.Random(f"{attack} {number}")
        if attack == "raw":
            mutated = flip(data, chance)
        else:
            which = "data.pkl" if attack == "pickle" else "data/"
            mutated = with_member(data, lambda name, content: flip(content, chance) if name.startswith(which) else content)
        try:
            found = loaded(mutated, map_location="cpu")
        except CLEAR as error:
            assert str(error)
        else:
            assert attack != "raw" or shown(found) == wanted, (attack, number)


def test_a_file_cannot_ask_for_more_memory_than_it_has() -> None:
    """Members that are compressed, or too short."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("data.pkl", by_torch_pickle(torch.zeros(10**6))), ("data/0", bytes(4 * 10**6))):
            archive.writestr(f"a/{name}", content)
    with pytest.raises(pickle.UnpicklingError, match="without compression"):
        loaded(made.getvalue())
    for count in (2, 10**7):
        longer = b"J" + count.to_bytes(4, "little")
        with pytest.raises(pickle.UnpicklingError, match="cannot hold"):
            loaded(with_member(by_torch(torch.ones(1)), lambda name, content: content.replace(b"K\x01", longer)))


def by_torch_pickle(obj: Any) -> bytes:
    with zipfile.ZipFile(io.BytesIO(by_torch(obj))) as archive:
        return archive.read("archive/data.pkl")


def test_modules_take_tensors_of_torch() -> None:
    theirs, ours = torch.nn.Linear(3, 2), mpigrad.nn.Linear(3, 2)
    ours.load_state_dict(theirs.state_dict())
    assert np.array_equal(ours.weight.detach().numpy(), theirs.weight.detach().numpy())
    ours.load_state_dict(dict(theirs.to(torch.bfloat16).named_parameters()))
    assert np.array_equal(ours.weight.detach().numpy(), theirs.weight.detach().float().numpy())
    assert mpigrad.tensor(torch.ones(2, dtype=torch.bfloat16)).dtype is mpigrad.bfloat16
