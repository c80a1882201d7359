"""Kernels: array programs that are more than a chain of array calls, each with its NumPy counterpart."""
