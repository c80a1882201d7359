"""Members of modules, while their methods are lowered."""

from __future__ import annotations


class ModuleMember:
    """Something that a module's method calls: filled in by `_module`."""
