"""Strides of tensors survive calls: small and large tensors, arguments and results, with gradients."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc.payload import STRIDED, TENSOR, describe, encode_any, encode_flat, parse
from mpigrad._core.tensor import wrap

from .. import support_functions as far
from .test_payload import travel

VIEWS = {
    "transposed": mpigrad.arange(24.0).reshape(4, 6).T,
    "steps": mpigrad.arange(24.0).reshape(4, 6)[::2, ::3],
    "expanded": mpigrad.arange(3.0).reshape(3, 1).expand(3, 4),
    "large": mpigrad.arange(90_000.0).reshape(300, 300).T,
    "with gaps": mpigrad.arange(90_000.0).reshape(300, 300)[:, :200],
}


def layout(tensor):
    return tensor.stride(), tensor.tolist()


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
@pytest.mark.parametrize("name", VIEWS)
def test_strides_there_and_back(rpc_world, name: str) -> None:
    sent = VIEWS[name]
    assert not sent.is_contiguous()
    assert rpc.rpc_sync(rpc_world.next_name, layout, args=(sent,)) == layout(sent)
    listed = rpc.remote(rpc_world.next_name, far.echo, args=([sent],)).to_here()
    for back in (rpc.rpc_sync(rpc_world.next_name, far.echo, args=(sent,)), listed[0]):
        assert layout(back) == layout(sent)
        if name != "expanded":
            back.add_(1)  # memory of its own
            assert mpigrad.equal(back, sent + 1)


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize("name", VIEWS)
def test_gradients_of_tensors_with_strides(rpc_world, name: str) -> None:
    leaf = VIEWS[name].detach().clone().requires_grad_()
    with dist_autograd.context() as context_id:
        back = rpc.rpc_sync(rpc_world.next_name, far.echo, args=(leaf.T if name == "large" else leaf.expand(2, *leaf.shape),))
        dist_autograd.backward(context_id, [(back * back).sum()])
        grad = dist_autograd.get_gradients(context_id)[leaf]
    assert mpigrad.equal(grad, (2 if name == "large" else 4) * leaf.detach())


def test_every_element_type_and_many_at_once() -> None:
    for dtype in ("f2", "f4", "f8", "c8", "i1", "i8", "?"):
        sent = wrap(np.arange(60).astype(dtype).reshape(3, 4, 5).transpose(2, 0, 1))
        got, _ = travel(encode_flat((sent, 7, sent.T, wrap(np.ones(3)))))
        assert [got[1], got[3].tolist()] == [7, [1, 1, 1]]
        for one, other in ((got[0], sent), (got[2], sent.T)):
            assert one._array.strides == other._array.strides and one._array.tolist() == other._array.tolist()
    many = [wrap(np.ones((300, 200)).T) for _ in range(300)]  # more than may follow on their own
    got, _ = travel(encode_any(None, 0, many))
    assert all(each._array.flags.f_contiguous for each in got)


def test_arrays_are_packed() -> None:
    (got,), _ = travel(encode_flat((np.arange(6.0).reshape(2, 3).T,)))
    assert got.flags.c_contiguous


OUTSIDE = [((3, 4), (8, 32)), ((0,), (8,)), ((2,), (4,)), ((2**40, 2**40), (2**40, 2**40)), ((97,), (8,))]


@pytest.mark.parametrize("shape, strides", OUTSIDE)
def test_strides_that_lead_out_of_the_memory_are_refused(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    text = describe(TENSOR + STRIDED, np.ones(96 // 8)) + struct.pack(f"<B{2 * len(shape)}Q", len(shape), *shape, *strides)
    with pytest.raises(ValueError, match="malformed message: shape"):
        parse(text)
