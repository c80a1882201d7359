"""`compile`: accepted for programs that use PyTorch's compiler; returns its argument unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    **others: Any,
) -> Any:
    """Return the function or module `model` unchanged; used as a decorator, too. All other arguments are ignored.

    It exists for programs that use PyTorch's compiler, of which there is none here. `mpigrad.jit.script` compiles
    functions.

    >>> import mpigrad
    >>> @mpigrad.compile(mode="reduce-overhead")
    ... def double(x): return x * 2
    >>> double(mpigrad.ones(2))
    tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return lambda model: compile(model)
    if not callable(model):
        raise TypeError(f"compile expects a function or a module, not {type(model).__name__}")
    from mpigrad._process.logs import get_logger  # imported late: `import mpigrad` does not import logging

    name = getattr(model, "__name__", type(model).__name__)
    get_logger("compile").info("compile leaves %s as it is; mpigrad.jit.script compiles functions", name)
    return model


__all__ = ["compile"]
