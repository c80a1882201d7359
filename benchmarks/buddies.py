"""What `checkpoint.Buddies` costs: the time of one `save`, for states of several sizes on each worker.

    mpigrad run -n 4 -m benchmarks.buddies
"""

from __future__ import annotations

from functools import partial

from mpi4py.MPI import COMM_WORLD as world

import mpigrad.distributed.checkpoint as checkpoint
import mpigrad.distributed.rpc as rpc
from benchmarks.timing import repeat
from mpigrad import nn

SIZES = (64, 512, 2048, 4096)  # width of a square layer of float32
SECONDS = 2.0


def main() -> None:
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
    if world.rank == 0:
        for width in SIZES:
            parts = {
                name: rpc.remote(name, nn.Linear, args=(width, width))
                for name in (f"worker{rank}" for rank in range(1, world.size))
            }
            buddies = checkpoint.Buddies(f"width {width}", keepers=list(parts))
            saved = repeat(partial(buddies.save, parts), SECONDS)
            restored = repeat(partial(buddies.load, parts), SECONDS)
            size = (width * width + width) * 4 / 1e6
            print(
                f"{world.size - 1} workers of {size:7.3f} MB: save {saved.value * 1e3:7.2f} ms (best {saved.best * 1e3:.2f}), "
                f"load {restored.value * 1e3:7.2f} ms (best {restored.best * 1e3:.2f})",
                flush=True,
            )
    rpc.shutdown()


if __name__ == "__main__":
    main()
