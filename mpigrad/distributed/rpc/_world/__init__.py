"""Worlds: how agents start, meet, learn of each other, and shut down; static, dynamic or inside one process.

Built on `_agent`. The public API imports it when `init_rpc` is called.
"""
