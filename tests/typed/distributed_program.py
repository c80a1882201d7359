"""A user's program as type checkers see it: RPC, futures, remote references. Each line states its type; nothing here is run."""

from __future__ import annotations

from typing_extensions import assert_type

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import Tensor
from mpigrad.futures import Future, collect_all, wait_all


class Stage:
    def __init__(self, width: int) -> None:
        self.width = width

    def forward(self, batch: Tensor) -> Tensor:
        return batch * self.width


def count(batch: Tensor, scale: float = 1.0) -> int:
    return int(batch.sum().item() * scale)


@rpc.functions.async_execution
def later(batch: Tensor) -> Future[str]:
    return rpc.rpc_async("worker2", count, args=(batch,)).then(lambda fut: str(fut.wait()))


rpc.init_rpc("worker0", rank=0, world_size=2)
x = mpigrad.ones(3, requires_grad=True)

# calls have the types of the functions' results
assert_type(rpc.rpc_sync("worker1", count, args=(x,)), int)
assert_type(rpc.rpc_sync("worker1", mpigrad.add, args=(x, 1), timeout=3), Tensor)
assert_type(rpc.rpc_sync("worker1", later, args=(x,)), str)  # the value of the future, which is never sent
assert_type(rpc.rpc_async(1, count, args=(x,), kwargs={"scale": 2.0}), "Future[int]")
assert_type(rpc.rpc_async("worker1", later, args=(x,)), "Future[str]")
rpc.rpc_sync("worker1", 3)  # type: ignore

# futures
fut = rpc.rpc_async(rpc.get_worker_info("worker1"), count, args=(x,))
assert_type(fut.wait(), int)
assert_type(fut.then(lambda done: done.value() * 0.5), "Future[float]")
assert_type(collect_all([fut, fut]), "Future[list[Future[int]]]")
assert_type(wait_all([fut, fut]), "list[int]")


async def awaited() -> int:
    return await fut


# remote references
rref = rpc.remote("worker1", Stage, args=(4,))
assert_type(rref, "rpc.RRef[Stage]")
assert_type(rref.to_here(), Stage)
assert_type(rref.local_value().width, int)
assert_type(rref.rpc_sync().forward(x), Tensor)
assert_type(rpc.RRef(x), "rpc.RRef[Tensor]")
assert_type(rref.owner(), rpc.WorkerInfo)

# distributed autograd
with dist_autograd.context() as context_id:
    assert_type(context_id, int)
    dist_autograd.backward(context_id, [x.sum()])
    assert_type(dist_autograd.get_gradients(context_id)[x], Tensor)
rpc.shutdown()
