"""Draw the picture of the README from a real run: mpiexec -n 3 python tools/picture.py docs/pictures/graph.svg"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mpi4py.MPI import COMM_WORLD as world

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc


def main(path: str) -> None:
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
    if world.rank == 0:
        x = mpigrad.ones(3, 3, requires_grad=True)
        with dist_autograd.context() as context_id:
            y = rpc.rpc_sync("worker1", mpigrad.matmul, args=(x, x))
            loss = rpc.rpc_sync("worker2", mpigrad.tanh, args=(x * y,)).sum()
            dist_autograd.backward(context_id, [loss])
            dist_autograd.draw(context_id, path)
        svg = Path(path)
        svg.write_text(re.sub(r"<!--.*?-->\n?", "", svg.read_text(), flags=re.DOTALL))  # the version of Graphviz
    rpc.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
