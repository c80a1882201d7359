"""Worlds: how agents start, find each other and shut down; static, dynamic or inside one process.

Built on `_agent` and `_transport`. The public API and the backends import it. Terms (static world, incarnation,
coordinator, ...) are explained in docs/glossary.md.
"""
