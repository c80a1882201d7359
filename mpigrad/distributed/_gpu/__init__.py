"""What RPC and process groups share about GPUs: streams, pinned memory, and which GPU a rank uses.

Imports `_array` and `distributed/_mpi`.
"""
