"""The local graph: grad modes, saved tensors, watchers of operations and deferred accumulation.

Nodes and the engine are in `_core`. Imports `_array`, `_kernels` and `_tensor.py`; operators, `mpigrad.autograd` and the
distributed engine are built on it.
"""
