"""GPU support that RPC and process groups share: streams, pinned memory, and the choice of the GPU of a rank.

Imports `_array` and `distributed/_mpi`. Pinned memory is host memory that the system never moves, as fast copies need it.
"""
