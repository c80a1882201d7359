"""Runs the real CuPy on the CPU, on a CUDA runtime of our own, for tests without a GPU."""
