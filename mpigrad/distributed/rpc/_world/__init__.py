"""Worlds: how agents start, meet, learn of each other, and shut down; static, dynamic or inside one process.

Built on `_agent` and `_transport`. The public API and the backends import it.
"""
