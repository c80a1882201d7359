"""Arrays below tensors: devices, element types, layouts, memory pools and sparse arrays.

Imports NumPy, `_kernels` for sparse arrays and, in `device.py` alone, CuPy. Everything else may import from the files here.
"""
