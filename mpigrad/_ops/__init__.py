"""Operators, one folder per family. The forward function of an operator, on arrays, and its derivative are defined in one place.

Functions of tensors that record nodes. Packages with PyTorch's names (`mpigrad.linalg`, `mpigrad.nn.functional`, ...) put
operators together, check arguments and give them their public names. `_kernels` has what computes on arrays.
"""
