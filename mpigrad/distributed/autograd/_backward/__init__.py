"""The backward pass across workers: the engine, branches, joined parts, the reach phase and the initiator.

Imports `_graph`, `_context`, and of RPC calls, messages and arrays. The package's public functions import from here.
"""
