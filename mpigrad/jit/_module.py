"""Scripted modules."""

from __future__ import annotations

from typing import Any


class ScriptModule:
    pass


def script_module(module: Any) -> Any:
    raise NotImplementedError
