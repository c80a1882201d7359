"""bfloat16 as an element type: made, kept, printed, saved, trained with; and what is said where ml_dtypes is missing."""

from __future__ import annotations

import copy
import io
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad import nn
from mpigrad._array import dtype as dtypes
from mpigrad._core.rpc import payload

ml_dtypes = pytest.importorskip("ml_dtypes")


def sample(*shape: int) -> mpigrad.Tensor:
    return mpigrad.arange(int(np.prod(shape, dtype=int)), dtype=mpigrad.bfloat16).reshape(shape) / 3


def test_dtype() -> None:
    kind = mpigrad.bfloat16
    assert (kind.is_floating_point, kind.is_complex, kind.is_signed, kind.itemsize) == (True, False, True, 2)
    assert repr(kind) == "mpigrad.bfloat16" and pickle.loads(pickle.dumps(kind)) is kind and copy.deepcopy(kind) is kind
    assert mpigrad.ones(2, dtype=kind).dtype is kind and kind.to_complex() is mpigrad.complex64


def test_importing_the_library_does_not_import_ml_dtypes(python: Any) -> None:
    done = python("-c", "import sys, mpigrad; mpigrad.ones(2).half(); print('ml_dtypes' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr


def test_without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    dtypes._ml_bfloat16.cache_clear()
    try:
        with pytest.raises(RuntimeError, match="needs the package ml_dtypes.*extra 'bfloat16'"):
            mpigrad.ones(2, dtype=mpigrad.bfloat16)
    finally:
        monkeypatch.undo()
        dtypes._ml_bfloat16.cache_clear()
    assert mpigrad.ones(2, dtype=mpigrad.bfloat16).dtype is mpigrad.bfloat16


def test_numpy_both_ways() -> None:
    array = np.array([1.0, 2.5], dtype=ml_dtypes.bfloat16)
    made = mpigrad.from_numpy(array)
    assert made.dtype is mpigrad.bfloat16 and made.numpy().dtype == array.dtype
    made += 1
    assert array.tolist() == [2.0, 3.5]


def test_void_arrays_stay_refused() -> None:
    with pytest.raises(TypeError, match="can't convert np.ndarray of type numpy.void"):
        mpigrad.from_numpy(np.zeros(2, dtype="V2"))


def test_numbers() -> None:
    assert mpigrad.tensor(1.5, dtype=mpigrad.bfloat16).item() == 1.5 and float(mpigrad.tensor(0.5).bfloat16()) == 0.5
    assert type(sample(2).tolist()[0]) is float and sample(1, 2).sum().item() == 0.333984375


def test_sums_are_added_up_in_float32() -> None:
    assert mpigrad.ones(1000, dtype=mpigrad.bfloat16).sum().item() == 1000  # in bfloat16 it would stop at 256
    x = mpigrad.ones(1, dtype=mpigrad.bfloat16, requires_grad=True)
    x.expand(1000).sum().backward()
    assert x.grad is not None and x.grad.item() == 1000


def test_views_share_memory() -> None:
    x = mpigrad.zeros(2, 3, dtype=mpigrad.bfloat16)
    x.T[1] = 2
    x.view(-1)[0] = 1
    assert x.tolist() == [[1, 2, 0], [0, 2, 0]]


def test_gradients_of_gradients() -> None:
    x = mpigrad.tensor([0.5, 2.0], dtype=mpigrad.bfloat16, requires_grad=True)
    (first,) = mpigrad.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = mpigrad.autograd.grad(first.sum(), x)
    assert first.dtype is second.dtype is mpigrad.bfloat16 and second.tolist() == [3.0, 12.0]


@pytest.mark.parametrize("how", ["save", "pickle", "deepcopy"])
def test_files(how: str) -> None:
    x = sample(3, 4)
    held = {"whole": x, "part": x[1:, ::2], "leaf": sample(2).requires_grad_()}
    if how == "save":
        file = io.BytesIO()
        mpigrad.save(held, file)
        file.seek(0)
        found = mpigrad.load(file)
    else:
        found = pickle.loads(pickle.dumps(held)) if how == "pickle" else copy.deepcopy(held)
    for name, value in held.items():
        assert found[name].dtype is mpigrad.bfloat16 and found[name].tolist() == value.tolist()
        assert found[name].requires_grad == value.requires_grad
    found["whole"][1, 0] = 9  # parts of one memory stay parts of one
    assert found["part"][0, 0].item() == 9


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (200, 200)])
def test_layouts_of_messages(shape: tuple[int, ...]) -> None:
    array = (sample(*shape) if shape else mpigrad.tensor(1.5).bfloat16()).cpu()._array
    assert payload.sendable(array)
    ((_, kind, found, size),) = payload.parse(payload.describe(payload.TENSOR, array))
    assert kind == array.dtype and found == shape and size == array.nbytes
    with pytest.raises(ValueError, match="cannot be sent as bytes"):
        payload._checked_dtype("V2")


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "Adagrad"])
def test_training(optimizer: str) -> None:
    mpigrad.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 3)).bfloat16()
    assert {each.dtype for each in model.parameters()} == {mpigrad.bfloat16}
    steps = getattr(mpigrad.optim, optimizer)(model.parameters(), lr=0.05)
    x, target = mpigrad.randn(32, 4, dtype=mpigrad.bfloat16), mpigrad.randint(0, 3, (32,))
    losses = []
    for _ in range(30):
        steps.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        steps.step()
        losses.append(loss.item())
    assert loss.dtype is mpigrad.bfloat16 and losses[-1] < 0.9 * losses[0]
    again = getattr(mpigrad.optim, optimizer)(model.parameters(), lr=0.05)
    again.load_state_dict(steps.state_dict())


LAYERS = [nn.Conv2d(2, 3, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.GroupNorm(1, 2), nn.Upsample(scale_factor=2)]


@pytest.mark.parametrize("layer", LAYERS)
def test_layers(layer: nn.Module) -> None:
    x = mpigrad.randn(2, 2, 6, 6, dtype=mpigrad.bfloat16, requires_grad=True)
    made = copy.deepcopy(layer).bfloat16()(x)
    made.sum().backward()
    assert made.dtype is mpigrad.bfloat16 and x.grad is not None and x.grad.dtype is mpigrad.bfloat16


def test_recurrent_layers_and_attention() -> None:
    x = mpigrad.randn(2, 5, 8, dtype=mpigrad.bfloat16)
    out, _ = nn.LSTM(8, 4, batch_first=True).bfloat16()(x)
    assert out.dtype is mpigrad.bfloat16
    assert nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).bfloat16()(x).dtype is mpigrad.bfloat16


def test_random() -> None:
    made = mpigrad.empty(1000, dtype=mpigrad.bfloat16)
    for fill in (lambda: made.normal_(), lambda: made.uniform_(-1, 1), lambda: made.bernoulli_(0.5), lambda: made.exponential_()):
        fill()
        assert mpigrad.isfinite(made).all() and made.std().item() > 0.2
    assert made.uniform_().max().item() < 1 and made.random_().max().item() <= 256
    for fn in (mpigrad.rand, mpigrad.randn):
        assert fn(3, dtype=mpigrad.bfloat16).dtype is mpigrad.bfloat16


def test_calls_to_oneself() -> None:
    rpc.init_rpc("solo", rank=0, world_size=1)
    try:
        found = rpc.rpc_sync("solo", mpigrad.add, args=(sample(3).cpu(), sample(3).cpu()))
    finally:
        rpc.shutdown()
    assert found.dtype is mpigrad.bfloat16 and found.tolist() == (sample(3) * 2).tolist()
