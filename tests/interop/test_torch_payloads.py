"""Torch tensors in arguments, results, RRefs and exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc.api import _use_rpc_pickler
from mpigrad.distributed.rpc.internal import _internal_rpc_pickler
from mpigrad.interop import _adapters, _torch, adapter_of
from tests.support.in_memory import acting_as, world_in_memory


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        yield


def same(*values: Any) -> Any:
    return values


def fail(value: Any) -> None:
    raise ValueError("bad", value)


def told(value: Any) -> Any:
    return type(value).__name__, value.requires_grad, value.is_leaf


def trip(*values: Any) -> Any:
    return rpc.rpc_sync("worker1", same, args=values)


X = torch.arange(6.0).view(2, 3)
LARGE = torch.arange(200.0 * 300).view(200, 300)
DENSE = {
    "plain": X,
    "transposed": X.t(),
    "zero-dimensional": torch.tensor(3),
    "empty": torch.empty(0, 3),
    "bool": X > 2,
    "bfloat16": X.to(torch.bfloat16),
    "bfloat16 transposed": X.to(torch.bfloat16).t(),
    "float8": X.to(torch.float8_e4m3fn),
    "half": X.half(),
    "unsigned": X.to(torch.uint16),
    "complex": X + 1j * X,
    "conjugate": (X + 1j * X).conj(),
    "negative": (X + 1j * X).conj().imag,
    "expanded": torch.ones(3).expand(4, 3),
    "large": LARGE,
    "large transposed": LARGE.t(),
    "large bfloat16": LARGE.to(torch.bfloat16),
    "requires grad": X.clone().requires_grad_(),
    "parameter": torch.nn.Parameter(X),
    "frozen parameter": torch.nn.Parameter(X, requires_grad=False),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense_tensors_arrive_as_they_left(name: str) -> None:
    sent = DENSE[name]
    (flat,) = trip(sent)
    ((pickled,),) = trip([sent])
    for found in (flat, pickled):
        assert type(found) is type(sent) and found.dtype is sent.dtype and found.shape == sent.shape
        assert found.requires_grad is sent.requires_grad and found.is_leaf and not found._is_view()
        assert torch.equal(found.to(torch.complex128), sent.to(torch.complex128).resolve_neg())
        if sent.numel() and not sent.is_neg():
            assert found.stride() == sent.stride()


def test_a_small_view_of_large_memory_is_copied_first() -> None:
    (found,) = trip(LARGE[:, 3])
    assert torch.equal(found, LARGE[:, 3]) and found.untyped_storage().nbytes() < LARGE.nbytes / 2


def test_what_arrives_may_be_changed() -> None:
    for sent in (X, X.to(torch.bfloat16), LARGE):
        (found,) = trip(sent)
        found += 1
        assert torch.equal(found, sent + 1)


@pytest.mark.parametrize("coalesced", [True, False])
def test_sparse_tensors(coalesced: bool) -> None:
    sent = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (3, 3), check_invariants=True)
    sent = (sent.coalesce() if coalesced else sent).requires_grad_()
    (found,) = trip(sent)
    assert found.layout is torch.sparse_coo and found.is_coalesced() is coalesced and found.requires_grad
    assert torch.equal(found.to_dense(), sent.to_dense())


@pytest.mark.filterwarnings("ignore:Sparse CS")
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc])
def test_compressed_tensors(layout: Any) -> None:
    sent = X.to_sparse(layout=layout)
    (found,) = trip(sent)
    assert found.layout is layout and torch.equal(found.to_dense(), X)


@pytest.mark.filterwarnings("ignore:torch.quantize")
def test_quantized_tensors_are_refused() -> None:
    with pytest.raises(TypeError, match=r"quantized torch tensor \(torch.qint8\).*int_repr"):
        trip(torch.quantize_per_tensor(X, 1.0, 0, torch.qint8))


def test_each_framework_keeps_its_own_and_an_object_stays_one() -> None:
    ours = mpigrad.ones(2)
    first, second, again, array, number = trip(X, ours, X, np.ones(2), 3)
    assert first is again and type(second) is mpigrad.Tensor and type(array) is np.ndarray and number == 3
    ((one, other),) = trip((X, [X]))
    assert one is other[0]


class Named(torch.Tensor):
    pass


def test_subclasses_and_attributes() -> None:
    sent = X.as_subclass(Named)
    sent.remark = "mine"  # type: ignore[attr-defined]
    (found,) = trip(sent)
    assert type(found) is Named and found.remark == "mine" and found.tolist() == X.tolist()


def test_rrefs_exceptions_modules_and_a_custom_pickler() -> None:
    assert torch.equal(rpc.remote("worker1", torch.add, args=(X, 1)).to_here(), X + 1)
    assert torch.equal(rpc.RRef(X).to_here(), X)
    with pytest.raises(ValueError, match="bad") as error:
        rpc.rpc_sync("worker1", fail, args=(X,))
    assert torch.equal(error.value.args[1], X)
    module = torch.nn.Linear(3, 2)
    (found,) = trip(module)
    assert torch.equal(found(X), module(X)) and type(found.weight) is torch.nn.Parameter and found.weight.is_leaf
    with _use_rpc_pickler(_internal_rpc_pickler):
        one, (two, three) = trip(X, [mpigrad.ones(2), X.t()])
    assert torch.equal(one, X) and two.tolist() == [1, 1] and three.stride() == (1, 3)


def test_a_leaf_arrives_as_a_leaf_outside_of_contexts() -> None:
    leaf = X.clone().requires_grad_()
    assert rpc.rpc_sync("worker1", told, args=(leaf * 2,)) == ("Tensor", True, True)
    assert rpc.rpc_sync("worker1", told, args=(torch.nn.Parameter(X),)) == ("Parameter", True, True)


def test_a_worker_without_the_framework_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = adapter_of(torch.Tensor)
    assert adapter is not None
    monkeypatch.setattr(_adapters, "_by_name", {})
    monkeypatch.setattr(_adapters, "FRAMEWORKS", {"torch": "mpigrad_has_no_such_module"})
    with pytest.raises(ImportError, match="a message brought a tensor of torch, which cannot be imported on this worker"):
        trip(X.double().view(1, 3, 1, 2))  # a layout that no message has had


class OnDevice:
    """An array of another library that offers DLPack, as CuPy's arrays do."""

    def __init__(self, array: Any) -> None:
        self.__dlpack__, self.array = array.__dlpack__, array

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_gpu_tensors_go_through_dlpack(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _torch.ADAPTER.make(OnDevice(np.arange(3.0, dtype="f4")), b"", True)
    assert made.requires_grad and made.tolist() == [0.0, 1.0, 2.0]
    given = []
    monkeypatch.setattr(_torch, "cupy", lambda: type("CuPy", (), {"from_dlpack": given.append}))
    tensor = type("Cuda", (), {"device": torch.device("cuda", 0)})()
    _torch._gpu_array(tensor)
    assert given == [tensor]


def test_tensors_of_other_devices_are_refused() -> None:
    with pytest.raises(TypeError, match=r"on meta cannot be sent by RPC: move it to the CPU with x\.cpu\(\)"):
        _torch.ADAPTER.array_of(torch.ones(2, device="meta"))
