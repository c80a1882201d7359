"""Global switches of PyTorch. All values are stored; each docstring says what the switch does here."""

from __future__ import annotations

from typing import Any

from ._array.dtype import set_default_dtype

_MODES = {"default": 0, "warn": 1, "error": 2}


class _Chosen:
    """The values that the program has set."""

    deterministic = False
    warn_only = False
    fill = True
    precision = "highest"
    warn_always = False
    interop_threads = 1


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Request results that have the same bits in every run (`mode=True`), or end that.

    Local operators are deterministic anyway. Reductions of process groups then add in the order of ranks, and
    distributed passes add gradients in an order that does not depend on when messages arrive. `warn_only` is
    only stored.

    >>> import mpigrad
    >>> mpigrad.use_deterministic_algorithms(True)
    >>> mpigrad.are_deterministic_algorithms_enabled()
    True
    >>> mpigrad.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}"
        )
    _Chosen.deterministic, _Chosen.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were requested (`use_deterministic_algorithms`)."""
    return _Chosen.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` requested warnings only."""
    return _Chosen.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by number or name: 0 or "default" (off), 1 or "warn", 2 or "error" (on)."""
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """The mode set by `set_deterministic_debug_mode` or `use_deterministic_algorithms`: 0, 1 or 2."""
    return (1 if _Chosen.warn_only else 2) if _Chosen.deterministic else 0


def set_float32_matmul_precision(precision: str) -> None:
    """Store the precision of float32 matrix products, "highest", "high" or "medium". No effect: they always have full
    precision.
    """
    if precision in ("highest", "high", "medium"):
        _Chosen.precision = precision


def get_float32_matmul_precision() -> str:
    """The value that `set_float32_matmul_precision` has stored."""
    return _Chosen.precision


def set_flush_denormal(mode: bool) -> bool:
    """Request that denormal numbers are flushed to zero; returns whether the mode is supported: only False is."""
    return not mode


def set_warn_always(b: bool, /) -> None:
    """Request that one-time warnings are always shown. No effect: Python's warning filters decide that here."""
    _Chosen.warn_always = b


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always(True)` was called."""
    return _Chosen.warn_always


def set_num_interop_threads(n: int, /) -> None:
    """Store a number of threads that run operators in parallel. No effect: there are no such threads here."""
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _Chosen.interop_threads = n


def get_num_interop_threads() -> int:
    """The value that `set_num_interop_threads` has stored."""
    return _Chosen.interop_threads


def set_default_tensor_type(t: Any, /) -> None:
    """Legacy form of `set_default_dtype`: takes a type such as `mpigrad.DoubleTensor` or its name.

    >>> import mpigrad
    >>> mpigrad.set_default_tensor_type("mpigrad.DoubleTensor")
    >>> mpigrad.get_default_dtype()
    mpigrad.float64
    >>> mpigrad.set_default_tensor_type(mpigrad.FloatTensor)
    """
    from ._ops.create.legacy import BY_TITLE

    if isinstance(t, str):
        name = t.removeprefix("mpigrad.")
        if name not in BY_TITLE:
            raise TypeError(f"invalid type object: {t!r} is not one of {', '.join(BY_TITLE)}")
        t = BY_TITLE[name]
    if not hasattr(t, "kind"):
        raise TypeError("invalid type object")
    set_default_dtype(t.kind)


__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "get_num_interop_threads", "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled",
    "set_default_tensor_type", "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
    "set_num_interop_threads", "set_warn_always", "use_deterministic_algorithms",
]  # fmt: skip
