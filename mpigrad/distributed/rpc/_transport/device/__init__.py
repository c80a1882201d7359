"""Transfers of GPU arrays: staged through pinned host memory, or by a CUDA-aware MPI.

Used by the transports, by `_core/rpc/payload.py` to describe device arrays, and by the agent of workers with GPUs. Imports
`distributed/_gpu` and `_transport/receive_pool.py`.
"""
