"""Contexts: what they hold, where gradients end in them, where they are found, how calls are recorded, and how they are released.

Imports `_graph` and RPC's extension points. `_backward` builds on it.
"""
