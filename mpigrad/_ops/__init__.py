"""Operators, one folder per family: an operator's forward on arrays stands beside its derivative.

Functions of tensors that record nodes. Packages with PyTorch's names (`mpigrad.linalg`, `mpigrad.nn.functional`, ...) put
operators together, check arguments and give them their public names. `_kernels` has what computes on arrays.
"""
