"""Files of tensors and programs that were on a GPU, and linear algebra that says what is wrong there."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import mpigrad as T


def rows(place: str) -> Any:
    return T.sparse_coo_tensor([[0, 2, 0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2), device=place)


def saved(value: Any, function: Any) -> io.BytesIO:
    file = io.BytesIO()
    function(value, file)
    file.seek(0)
    return file


PLACES = [(None, "cuda:1"), ("cpu", "cpu"), ("cuda:0", "cuda:0"), ({"cuda:1": "cuda:0"}, "cuda:0")]


@pytest.mark.parametrize(("map_location", "expected"), PLACES, ids=str)
def test_sparse_tensors_in_files(map_location: Any, expected: str) -> None:
    made = T.load(saved({"x": rows("cuda:1")}, T.save), map_location=map_location)["x"]
    assert str(made.device) == expected and made._nnz() == 3 and not made.is_coalesced()
    assert made.to_dense().tolist() == rows("cpu").to_dense().tolist()


def test_sparse_tensors_of_the_host_go_where_the_map_says() -> None:
    file = saved(rows("cpu"), T.save)
    assert str(T.load(file, map_location="cuda:1")._values().device) == "cuda:1"
    file.seek(0)
    assert T.load(file, map_location=lambda each, place: each.cuda(0)).device.index == 0


def test_copies_of_sparse_tensors_share_what_those_of_dense_ones_share() -> None:
    x = rows("cuda:1")
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert str(made.device) == "cuda:1" and T.equal(made.to_dense(), x.to_dense())
    copy.deepcopy(x)._values().zero_()
    assert x._values().sum().item() == 21
    copy.copy(x)._values().zero_()
    assert x._values().sum().item() == 0


class Scaled(T.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = T.nn.Linear(2, 2)
        self.register_buffer("by", T.full((2,), 3.0))

    def forward(self, x: T.Tensor) -> T.Tensor:
        return self.inner(x) * self.by


@pytest.mark.parametrize(("map_location", "expected"), PLACES[:3], ids=str)
def test_programs_in_files(map_location: Any, expected: str) -> None:
    scripted = T.jit.script(Scaled().to("cuda:1"))
    loaded = T.jit.load(saved(scripted, T.jit.save), map_location=map_location)
    assert {str(each.device) for each in loaded.state_dict().values()} == {expected}
    x = T.ones(1, 2)
    assert T.allclose(loaded(x.to(expected)).cpu(), scripted(x.to("cuda:1")).cpu())


def test_places_that_cannot_be() -> None:
    file = saved(T.jit.script(Scaled()), T.jit.save)
    with pytest.raises(RuntimeError, match="object on device 'cuda:99'.*use mpigrad.jit.load with map_location"):
        T.jit.load(file, map_location="cuda:99")
    with pytest.raises(ValueError, match="should be either None, string or mpigrad.device, but got type: <class 'dict'>"):
        T.jit.load(file, map_location={"cpu": "cuda"})


WRONG: list[tuple[Any, str]] = [
    (lambda a: T.linalg.inv(a), "linalg.inv: The diagonal element 2 is zero"),
    (lambda a: T.linalg.inv(a.expand(3, 2, 2)), r"linalg.inv: \(Batch element 0\): The diagonal element 2 is zero"),
    (lambda a: T.linalg.solve(a, a), "The solver failed because the input matrix is singular"),
    (lambda a: T.linalg.solve(a.expand(3, 2, 2), a), "The solver failed because the input matrix is singular"),
    (lambda a: T.linalg.cholesky(-a), "leading minor of order 1 is not positive-definite"),
]


@pytest.mark.parametrize("kind", [T.float32, T.float64, T.complex128], ids=str)
@pytest.mark.parametrize(("call", "words"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_matrices_without_a_result_are_refused(call: Any, words: str, kind: Any) -> None:
    with pytest.raises(T.linalg.LinAlgError, match=words):
        call(T.ones(2, 2, dtype=kind, device="cuda:1"))
    assert T.linalg.inv(T.eye(2, dtype=kind, device="cuda:1")).tolist() == [[1, 0], [0, 1]]


def test_random_numbers_of_a_gpu_in_batches() -> None:
    x = T.zeros(3, device="cuda:1")
    draw = lambda each: each + T.rand((), device="cuda:1")
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        T.func.vmap(draw)(x)
    assert T.func.vmap(draw, randomness="same")(x).unique().numel() == 1
    assert T.func.vmap(draw, randomness="different")(x).unique().numel() == 3
