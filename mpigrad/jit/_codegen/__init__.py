"""Optimization passes over graphs, fusion, and code generation: the Python (or CUDA) source that runs a graph.

Imports `_ir`, and the operators that generated code calls.
"""
