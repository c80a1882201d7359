"""`share_memory_` and `Module.share_memory`: what moves, and what another process sees."""

from __future__ import annotations

import copy
import io
import os
import pickle

import pytest

import mpigrad
from mpigrad._array.shared import attach, new_block
from mpigrad._ops.tensor.sharing import block_of

pytestmark = pytest.mark.host


def in_another_process(change) -> None:
    """Run a function in a process of its own, forked from this one."""
    pid = os.fork()
    if pid == 0:
        try:
            change()
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def test_another_process_sees_the_memory_of_a_tensor_and_its_views() -> None:
    x = mpigrad.zeros(2, 3)
    row, before = x[1], x.detach()
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared() and row.is_shared() and before.is_shared() and x.untyped_storage().is_shared()
    in_another_process(lambda: x.fill_(5))
    assert x.tolist() == before.tolist() == [[5, 5, 5], [5, 5, 5]]
    row += 1
    assert x[1].tolist() == before[1].tolist() == [6, 6, 6]


def test_a_view_moves_its_base() -> None:
    base = mpigrad.arange(6.0)
    base[2:4].share_memory_()
    assert base.is_shared()
    assert base.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_is_made_of_a_shared_tensor_is_not_shared() -> None:
    x = mpigrad.ones(2).share_memory_()
    saved = io.BytesIO()
    mpigrad.save(x, saved)
    saved.seek(0)
    for made in (x + 1, x.clone(), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), mpigrad.load(saved)):
        assert not made.is_shared()


def test_gradients_flow_through_shared_parameters() -> None:
    model = mpigrad.nn.Linear(3, 1)
    model.weight.grad = mpigrad.zeros(1, 3)
    weight = model.weight
    assert model.share_memory() is model
    assert model.weight is weight and weight.is_shared() and weight.grad.is_shared() and model.bias.is_shared()
    before = weight.detach().clone()
    optimizer = mpigrad.optim.SGD(model.parameters(), lr=1.0)

    def step() -> None:
        optimizer.zero_grad()
        model(mpigrad.ones(2, 3)).sum().backward()
        optimizer.step()

    in_another_process(step)
    assert weight.tolist() == (before - 2).tolist()


def test_empty_and_sparse_tensors() -> None:
    assert mpigrad.empty(0).share_memory_().is_shared()
    with pytest.raises(NotImplementedError, match="Cannot access storage of SparseTensorImpl"):
        mpigrad.eye(2).to_sparse().share_memory_()


def test_a_block_is_known_by_its_file_and_its_host() -> None:
    block = new_block(8)
    reference = block.reference()
    assert attach(reference) is block
    with pytest.raises(RuntimeError, match="made on another host"):
        attach(reference._replace(host=b"another"))
    with pytest.raises(RuntimeError, match="has freed"):
        attach(reference._replace(file=(1, 2), handle=os.open(os.devnull, os.O_RDWR)))
    with pytest.raises(RuntimeError, match="cannot be opened"):
        attach(reference._replace(file=(1, 2), pid=2**22 + 1))


def test_the_file_is_closed_with_the_last_tensor() -> None:
    x = mpigrad.zeros(3).share_memory_()
    block = block_of(x)
    assert block is not None
    handle, view = block.handle, x[1:]
    del x, block
    os.fstat(handle)
    del view
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)
