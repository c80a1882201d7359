"""Operands of other libraries. PyTorch's tensor class has the same name as ours, so errors name the library and how
to convert.
"""

from __future__ import annotations

import sys
from typing import Any

from mpigrad._array.dtype import bfloat16

ADVICE = "convert with mpigrad.from_dlpack(x), or the other way with torch.from_dlpack(x)"


def of_torch(value: Any) -> bool:
    """Whether a value is a tensor of PyTorch."""
    kind = type(value)
    return kind.__name__ in ("Tensor", "Parameter") and kind.__module__.partition(".")[0] == "torch"


def is_torch_module(value: Any) -> bool:
    """Whether a value is a module of PyTorch; torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def torch_array(value: Any) -> Any:
    """The NumPy array that shares the memory of a tensor of PyTorch on the CPU; NumPy itself has no bfloat16."""
    if str(value.dtype) != "torch.bfloat16":
        return value.numpy()
    return value.view(sys.modules["torch"].int16).numpy().view(bfloat16.numpy)


def full_name(value: Any) -> str:
    """The name of a value's type."""
    return f"torch.{type(value).__name__}: {ADVICE}" if of_torch(value) else type(value).__name__


def instead_of_tensor(value: Any) -> str:
    """The expected and the given type as PyTorch's errors spell them: `Tensor, not list`."""
    return f"{'mpigrad.' * of_torch(value)}Tensor, not {full_name(value)}"


def leave_to(other: Any) -> Any:
    """The result of an operator's method for an unknown operand: NotImplemented, so that Python tries the other operand."""
    if of_torch(other):  # torch does not know our tensors either, and Python's error would say "'Tensor' and 'Tensor'"
        raise TypeError(f"unsupported operand types: mpigrad.Tensor and torch.{type(other).__name__}; {ADVICE}")
    return NotImplemented
