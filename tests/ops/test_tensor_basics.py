"""What holds for tensors as objects: shared memory, `out=`, foreign operands, NumPy, DLPack, old constructors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import mpigrad as T


@pytest.mark.host
def test_memory_is_shared_where_promised() -> None:
    array = np.zeros(3)
    for make in (T.from_numpy, T.as_tensor, T.asarray, T.from_dlpack):
        array[0] = 0
        tensor = make(array)
        array[0] = 7
        assert tensor[0].item() == 7, make
    assert T.tensor(array).data_ptr() != array.ctypes.data
    tensor = T.from_numpy(array)
    assert tensor.numpy() is array and np.shares_memory(np.asarray(tensor), array)
    assert np.from_dlpack(T.ones(2)).tolist() == [1, 1]
    assert np.array(T.ones(2), dtype="i4").dtype == np.int32


def test_detached_tensors_share_memory_and_version() -> None:
    x = T.ones(2, requires_grad=True)
    y = x * 1
    detached, data = y.detach(), y.data
    detached.add_(1)
    assert y.tolist() == [2, 2] and y._version == 1 and data._version == 0
    data.add_(1)
    assert y.tolist() == [3, 3] and y._version == 1
    assert not detached.requires_grad and detached.grad_fn is None
    x.data = T.zeros(3)
    assert x.shape == (3,) and x.requires_grad


@pytest.mark.host
def test_dlpack_refuses_what_needs_a_gradient() -> None:
    with pytest.raises(BufferError, match="Can't export tensors that require gradient, use tensor.detach"):
        T.ones(2, requires_grad=True).__dlpack__()
    assert T.ones(2).__dlpack_device__() == (1, 0)
    with pytest.raises(TypeError, match="__dlpack__"):
        T.from_dlpack([1.0])


class Foreign:
    """An object with operators of its own."""

    def __radd__(self, other: Any) -> str:
        return "radd"

    def __rmul__(self, other: Any) -> str:
        return "rmul"

    def __gt__(self, other: Any) -> str:
        return "gt"

    def __rpow__(self, other: Any) -> str:
        return "rpow"

    def __rand__(self, other: Any) -> str:
        return "rand"


def test_foreign_operands_are_asked() -> None:
    for x in (T.ones(2), T.ones(2, dtype=T.int64)):
        assert x + Foreign() == "radd"
        assert x * Foreign() == "rmul"
        assert (x < Foreign()) == "gt"
        assert x ** Foreign() == "rpow"
        assert x & Foreign() == "rand"
        assert (x == Foreign()) is False
        for name in (
            "__add__",
            "__radd__",
            "__sub__",
            "__rsub__",
            "__truediv__",
            "__rtruediv__",
            "__mod__",
            "__iadd__",
        ):
            assert getattr(x, name)("text") is NotImplemented, name


@pytest.mark.host
def test_arrays_on_the_left_leave_the_work_to_tensors() -> None:
    array, x = np.arange(3.0), T.ones(3, dtype=T.float64, requires_grad=True)
    for result in (array + x, array * x, array - x, array / x):
        assert isinstance(result, T.Tensor) and result.requires_grad
    assert (array - x).tolist() == [-1, 0, 1]
    assert (np.float64(2) * x).tolist() == [2, 2, 2]


def test_tensors_are_keys_by_identity() -> None:
    x, y = T.ones(2), T.ones(2)
    assert len({x, y, x}) == 2 and hash(x) != hash(y)
    assert {x: 1}[x] == 1


def test_out() -> None:
    x, out = T.tensor([1.0, 4.0]), T.zeros(2)
    memory = out.data_ptr()
    for call, expected in (
        (lambda: T.add(x, x, out=out), [2, 8]),
        (lambda: T.sqrt(x, out=out), [1, 2]),
        (lambda: T.maximum(x, x * 2, out=out), [2, 8]),
        (lambda: T.cumsum(x, 0, out=out), [1, 5]),
        (lambda: T.clamp(x, 2, 3, out=out), [2, 3]),
    ):
        assert call() is out and out.tolist() == expected and out.data_ptr() == memory
    with pytest.raises(RuntimeError, match="functions with out=... arguments don't support automatic differentiation"):
        T.exp(T.ones(2, requires_grad=True), out=out)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        T.exp(x, out=T.zeros(2, dtype=T.int64))
    values, indices = T.zeros(()), T.zeros((), dtype=T.int64)
    T.max(x, 0, out=(values, indices))
    assert (values.item(), indices.item()) == (4, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 1,
        lambda x: x.exp(),
        lambda x: x.sum(),
        lambda x: x > 0,
        lambda x: x.max(0).values,
        lambda x: T.var_mean(x)[0],
        lambda x: T.ones(2),
        lambda x: x.detach(),
        lambda x: x.clone(),
        lambda x: T.where(x > 0, x, 0.0),
        lambda x: x.softmax(0),
    ],
)
def test_inference_mode_marks_results(call: Any) -> None:
    x = T.ones(2, requires_grad=True)
    with T.inference_mode():
        made = call(x)
    assert made.is_inference() and not made.requires_grad


def test_named_results() -> None:
    found = T.tensor([[1.0, 3.0]]).max(dim=1)
    values, indices = found
    assert found.values is values and found.indices is indices and found[1] is indices
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is T.return_types.max and again.values.tolist() == [3]


@pytest.mark.host
def test_old_constructors() -> None:
    assert T.Tensor(2, 3).shape == (2, 3) and T.LongTensor([1]).dtype is T.int64
    assert isinstance(T.ones(1), T.FloatTensor) and not isinstance(T.ones(1), T.LongTensor)
    assert T.ones(1).type() == "mpigrad.FloatTensor" and T.ones(1).type("mpigrad.LongTensor").dtype is T.int64
    x = T.ones(2, requires_grad=True)
    for same in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert same.tolist() == [1, 1] and same.requires_grad and same.grad_fn is None


@pytest.mark.host
def test_default_dtype_is_followed() -> None:
    T.set_default_dtype(T.float64)
    try:
        made = [
            T.ones(1),
            T.tensor(1.5),
            T.rand(1),
            T.arange(1.0),
            T.linspace(0, 1, 2),
            T.tensor([1]).exp(),
            T.tensor([1]) / 2,
            T.Tensor([1]),
        ]
        assert all(each.dtype is T.float64 for each in made)
        assert T.tensor(1j).dtype is T.complex128
        assert repr(T.ones(1)) == "tensor([1.])" and repr(T.ones(1).float()) == "tensor([1.], dtype=mpigrad.float32)"
    finally:
        T.set_default_dtype(T.float32)


def test_in_place_arithmetic_counts_versions_and_refuses_leaves() -> None:
    x = T.ones(3)
    x += 1
    x.mul_(T.full((3,), 2.0)).sub_(x, alpha=0.5).div_(2)
    assert x.tolist() == [1, 1, 1] and x._version == 4
    with pytest.raises(TypeError):
        x.mul_(x, alpha=2)
    leaf = T.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.add_(x)
    with T.no_grad():
        leaf.add_(x, alpha=2)
    assert leaf.tolist() == [3, 3, 3]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        T.ones(1).expand(3).add_(T.ones(3))
