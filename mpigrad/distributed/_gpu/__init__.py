"""GPU support that RPC and process groups share: streams, pinned memory, and the choice of the GPU of a rank.

Imports `_array` and `distributed/_mpi`.
"""
