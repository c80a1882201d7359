"""The local graph: recording nodes, the engine that runs them backwards, grad modes, views and leaves.

Imports `_array`, `_kernels` and `_tensor.py`. Operators, `mpigrad.autograd` and the distributed engine build on it.
"""
