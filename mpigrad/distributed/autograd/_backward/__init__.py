"""The backward pass across workers: the engine, the initiator, branches, joined parts, and messages between workers.

Imports `_graph` and `_context`. Only the public functions in `_api.py` import from here.
"""
