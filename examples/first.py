from mpi4py.MPI import COMM_WORLD as world

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
if world.rank == 0:
    x = mpigrad.ones(3, 3, requires_grad=True)
    with dist_autograd.context() as context_id:
        y = rpc.rpc_sync("worker1", mpigrad.matmul, args=(x, x))
        loss = rpc.rpc_sync("worker2", mpigrad.tanh, args=(x * y,)).sum()
        dist_autograd.backward(context_id, [loss])
        print(dist_autograd.get_gradients(context_id)[x])
rpc.shutdown()
