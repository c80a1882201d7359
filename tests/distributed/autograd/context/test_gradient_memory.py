"""Which memory gradients in contexts have when the pass crosses workers: PyTorch's choice."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core import objects

pytestmark = pytest.mark.mpi(min_size=1)
COUNTS_HOLDERS = not str(objects.__file__).endswith(".py")  # plain Python copies every gradient
GIVEN: list[Any] = []


class Split(mpigrad.autograd.Function):
    """Its backward returns what `make` gives, and notes where that lies."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, make: Any) -> Any:
        ctx.make = make
        return x + y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        made = ctx.make()
        GIVEN[:] = [places(each) for each in made]
        return (*made, None)


def places(tensor: Any) -> list[int]:
    return [each.data_ptr() for each in ((tensor._indices(), tensor._values()) if tensor.is_sparse else (tensor,))]


def dense() -> Any:
    return mpigrad.ones(4, 3)


def sparse() -> Any:
    return mpigrad.sparse_coo_tensor(mpigrad.tensor([[0, 2]]), mpigrad.ones(2, 3), (4, 3))


def same(make: Any) -> Any:
    made = make()
    return made, made


def check_kept(world: Any, make: Any, expected: list[bool]) -> None:
    """Whether the gradients in the context of a pass through another worker have the memory of what was returned."""
    x, y = mpigrad.ones(4, 3, requires_grad=True), mpigrad.ones(4, 3, requires_grad=True)
    with dist_autograd.context() as context_id:
        far = rpc.rpc_sync(world.next_name, mpigrad.mul, args=(Split.apply(x, y, make), mpigrad.ones(4, 3)))
        dist_autograd.backward(context_id, [far.sum()])
        found = dist_autograd.get_gradients(context_id)
        assert not set(places(found[x])) & set(places(found[y]))
        if COUNTS_HOLDERS:
            assert [places(found[leaf]) == given for leaf, given in zip((x, y), GIVEN)] == expected


def test_what_nobody_else_holds_is_kept(rpc_world) -> None:
    check_kept(rpc_world, lambda: (dense(), dense()), [True, True])
    check_kept(rpc_world, lambda: (sparse(), sparse()), [True, True])
    held: list[Any] = []

    def seen() -> Any:
        made = sparse(), sparse()
        held.extend((made[0]._values(), made[1]._indices()))
        return made

    check_kept(rpc_world, seen, [True, True])


def test_what_others_hold_is_copied(rpc_world) -> None:
    held: list[Any] = []
    for make in (dense, sparse):
        check_kept(rpc_world, lambda make=make: same(make), [False, False])

        def hold(make: Any = make) -> Any:
            held.append(make())
            return held[-1], make()

        check_kept(rpc_world, hold, [False, True])
    check_kept(rpc_world, lambda: (mpigrad.ones(3, 4).t(), mpigrad.ones(1, 3).expand(4, 3)), [False, False])


def test_sums_grow_in_place(rpc_world) -> None:
    x = mpigrad.ones(3, requires_grad=True)
    with dist_autograd.context() as context_id:
        for count in (1, 2, 3):
            dist_autograd.backward(context_id, [rpc.rpc_sync(rpc_world.next_name, mpigrad.mul, args=(x, x)).sum()])
            found = dist_autograd.get_gradients(context_id)[x]
            if count == 1:
                first, version = found, found._version
        assert found is first and found.tolist() == [6.0, 6.0, 6.0] and found._version > version
