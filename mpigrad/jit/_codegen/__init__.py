"""Code generation: passes over graphs, fusion, and the Python (or CUDA) source that runs them.

Imports `_ir`.
"""
