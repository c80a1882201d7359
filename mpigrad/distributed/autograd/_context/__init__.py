"""Contexts: what they hold, where they are found, how calls are recorded in them, and how they are released.

Imports `_graph`, and of RPC the agent and its extension points. `_backward` builds on it.
"""
