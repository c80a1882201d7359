"""The real CuPy on the CPU: a CUDA runtime of our own below it, for tests without a GPU."""
