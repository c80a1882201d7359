"""Lowering: from the syntax tree of a Python function to a graph, with name resolution and type inference.

Imports `_ir`. The front end passes in the function that scripts callees.
"""
