"""Arrays of GPUs on their way: send and receive, staged through pinned memory or by a CUDA-aware MPI.

Used by the transports, by `_wire` to describe device arrays, and by the agent of workers with GPUs. Imports `distributed/_gpu`
and `_core/rpc/receive_pool.py`.
"""
