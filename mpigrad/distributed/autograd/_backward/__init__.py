"""The backward pass across workers: the engine, branches, joined parts, the reach phase and the initiator.

Imports `_graph` and `_context`. Only the public functions in `_api.py` import from here.
"""
