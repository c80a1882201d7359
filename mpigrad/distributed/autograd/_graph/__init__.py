"""One worker's part of a distributed graph: its partition by send functions, and graphs that are a single path.

Imports `_nodes` and the local engine. `_context` and `_backward` build on it.
"""
