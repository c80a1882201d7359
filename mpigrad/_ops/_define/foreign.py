"""Operands of other libraries. PyTorch's tensors have the name of ours, so errors say whose they are and how to convert them."""

from __future__ import annotations

from typing import Any

ADVICE = "convert with mpigrad.from_dlpack(x), or the other way with torch.from_dlpack(x)"


def _of_torch(value: Any) -> bool:
    kind = type(value)
    return kind.__name__ in ("Tensor", "Parameter") and kind.__module__.partition(".")[0] == "torch"


def full_name(value: Any) -> str:
    """The name of a value's type."""
    return f"torch.{type(value).__name__}: {ADVICE}" if _of_torch(value) else type(value).__name__


def instead_of_tensor(value: Any) -> str:
    """The expected and the given type as PyTorch's errors spell them: `Tensor, not list`."""
    return f"{'mpigrad.' * _of_torch(value)}Tensor, not {full_name(value)}"


def leave_to(other: Any) -> Any:
    """The result of an operator's method for an unknown operand: NotImplemented, so that Python asks the other operand."""
    if _of_torch(other):  # torch does not know our tensors either, and Python's error would say "'Tensor' and 'Tensor'"
        raise TypeError(f"unsupported operand types: mpigrad.Tensor and torch.{type(other).__name__}; {ADVICE}")
    return NotImplemented
