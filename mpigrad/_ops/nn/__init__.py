"""Operators of neural networks: activations, losses, convolution, pooling, normalisation, softmax, embedding.

Imports `_define`, `elementwise`, `shape` and `linalg`. `mpigrad.nn.functional` is built from them.
"""
