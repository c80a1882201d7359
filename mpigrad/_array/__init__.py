"""Arrays below tensors: devices, element types, layouts, memory pools and sparse arrays.

Depends on NumPy (and, in `device.py` alone, on CuPy). Everything else may import from the files here.
"""
