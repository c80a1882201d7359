"""One worker's part of a distributed graph: its partition by send functions, and single paths.

Imports `_nodes` and the local engine only. `_context` and `_backward` build on it.
"""
