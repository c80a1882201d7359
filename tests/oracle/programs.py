"""Running a program twice, with PyTorch and with mpigrad, and comparing what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import mpigrad

Program = Callable[[Any], Any]


def leaf(t: Any, *values: float) -> Any:
    return t.tensor(values, dtype=t.float64, requires_grad=True)


def attempt(fn: Callable[[], Any]) -> Any:
    try:
        return fn()
    except Exception as error:
        return type(error).__name__, str(error)


def plain(t: Any, value: Any) -> Any:
    """A result without objects of either library."""
    if isinstance(value, t.Tensor):
        return (
            "tensor",
            str(value.dtype).split(".")[-1],
            tuple(value.shape),
            value.requires_grad,
            value.detach().tolist(),
        )
    if isinstance(value, (list, tuple)):
        return [plain(t, each) for each in value]
    if isinstance(value, dict):
        return {key: plain(t, each) for key, each in value.items()}
    if isinstance(value, str):
        return re.sub(r"0x[0-9a-f]+", "0x", value).replace("torch", "mpigrad")
    return value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return bool(np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))
    return bool(a == b)


def function(t: Any, forward: Any, backward: Any) -> Any:
    """A function of the user, of `autograd.Function`."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (t.autograd.Function,), body)


def compare(fn: Program, torch: Any) -> None:
    """Fail unless the program does the same with both."""
    expected, found = plain(torch, fn(torch)), plain(mpigrad, fn(mpigrad))
    assert same(expected, found), f"\nPyTorch: {expected}\nmpigrad: {found}"
