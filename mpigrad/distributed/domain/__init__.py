"""Domain decomposition: a global array cut into one block per rank, with differentiable exchanges between the blocks.

`ProcessGrid` arranges ranks in a Cartesian grid, `halo_exchange` surrounds a block with its neighbours' elements, `repartition`
moves an array from one layout to another, and `sum`, `vdot`, `norm` reduce over all blocks. The objective of a backward pass is
the sum over ranks of the tensors on which the ranks call `backward`: docs/guides/domain.md.
"""

from ._grid import Layout, ProcessGrid
from ._halo import HaloExchange, halo_exchange
from ._lbfgs import LBFGS
from ._reduce import norm, sum, vdot
from ._repartition import repartition

__all__ = ["LBFGS", "HaloExchange", "Layout", "ProcessGrid", "halo_exchange", "norm", "repartition", "sum", "vdot"]
