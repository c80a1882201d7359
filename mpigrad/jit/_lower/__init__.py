"""Lowering: from the syntax tree of a Python function to a graph, with name resolution and type inference.

Imports `_ir`, and `mpigrad.nn` for the members of modules. The front end passes in the function that scripts callees.
Arguments called `node` or `at` are nodes of the syntax tree; errors show their position in the source.
"""
