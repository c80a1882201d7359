"""Arrays of GPUs on their way: send and receive, staged through pinned memory or by a CUDA-aware MPI.

Used by the transports, and by `_wire` to describe device arrays. Imports `_protocol` and `distributed/_gpu`.
"""
