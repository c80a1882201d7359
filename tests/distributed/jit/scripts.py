"""Scripted functions that the tests call on other workers."""

# ruff: noqa: UP045 (what is scripted here is the test)

from __future__ import annotations

from typing import Optional

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import Tensor
from mpigrad.distributed.rpc import RRef, rpc_async
from mpigrad.jit import Future


@mpigrad.jit.script
def local_add(t1, t2):
    return mpigrad.add(t1, t2)


@mpigrad.jit.script
def remote_add(t1, t2, dst: str):
    return rpc_async(dst, local_add, (t1, t2)).wait()


@mpigrad.jit.script
def fork_add(t1, t2, dst: str):
    fut = mpigrad.jit._fork(remote_add, t1, t2, dst)
    return mpigrad.jit._wait(fut)


@mpigrad.jit.script
def sync_add(t1, t2, dst: str) -> Tensor:
    return rpc.rpc_sync(dst, local_add, (t1,), {"t2": t2}, 30.0)


@mpigrad.jit.script
def make_there(t1, t2, dst: str) -> RRef[Tensor]:
    return rpc.remote(dst, local_add, (t1, t2))


@mpigrad.jit.script
def make_ones() -> Tensor:
    return mpigrad.ones((3, 3)).requires_grad_()


@mpigrad.jit.script
def ref_add(ref_t1: RRef[Tensor], t2: Tensor) -> Tensor:
    t1 = ref_t1.to_here()
    return mpigrad.add(t1, t2)


@mpigrad.jit.script
def local_value_add(ref_t1: RRef[Tensor], t2: Tensor) -> Tensor:
    return ref_t1.local_value() + t2


@mpigrad.jit.script
def refuse(x: Tensor, limit: int) -> Tensor:
    if limit < 3:
        raise ValueError("limit is too small")
    return x


@mpigrad.jit.script
def mismatched(a, b):
    return a @ b


@mpigrad.jit.script
def on_two(t1, t2, first: str, second: str, scale: Optional[float] = None) -> Tensor:
    fut1 = rpc.rpc_async(first, local_add, (t1, t2))
    fut2 = rpc.rpc_async(second, local_add, (t1, t1))
    out = fut1.wait() * fut2.wait()
    if scale is not None:
        out = out * scale
    return out


@mpigrad.jit.script
def train_step(context_id: int, loss: Tensor):
    dist_autograd.backward(context_id, [loss])


@mpigrad.jit.script
def started(t1, t2, dst: str) -> Future[Tensor]:
    return rpc.rpc_async(dst, local_add, (t1, t2))


@mpigrad.jit.script
def finished(first: Future[Tensor], others: list[Future[Tensor]]) -> Tensor:
    total = first.wait()
    for each in others:
        total = total + mpigrad.jit.wait(each)
    return total


@mpigrad.jit.script
def gathered(t1, t2, names: list[str]) -> Tensor:
    futures: list[Future[Tensor]] = []
    for name in names:
        futures.append(started(t1, t2, name))
    return finished(futures[0], futures[1:])


def python_has_script(name: str) -> bool:
    return name in mpigrad.jit._frontend.function.by_name
