"""Fusion of elementwise operators."""

from __future__ import annotations

from ._graph import Graph


def fuse(graph: Graph) -> None:
    pass
